"""Counts of words that this project does not use as terms of its own.

`words.txt` lists them.  A line is a word, where it counts, the term to use instead, and one ceiling
per folder.  The word is a regular expression.  In *prose* (docstrings, comments and pages, without
code) it is matched as a whole word; in *names* it is matched as a whole part of a name that a file
binds, such as `rounds` in `max_rounds`.  `python -m tests.design.words` prints where each word
occurs, with `--update` it writes the present counts as ceilings.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("words.txt")
# The folders that are counted; a file belongs to the first that contains it.
FOLDERS = (
    "transforms/specialise", "transforms/frontend", "transforms/emit", "transforms", "s2s", "tests",
    "docs",
)  # fmt: skip
# Names of other libraries and of Python.
FOREIGN = {"round", "around", "__round__", "call_round"}
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CODE = re.compile(r"^ *(```|~~~).*?^ *\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)


class Word(NamedTuple):
    """A line of `words.txt`.  `kind` is "prose" or "names"."""

    pattern: str
    kind: str
    instead: str
    ceilings: tuple[int, ...]


class Text(NamedTuple):
    """What is counted of one file: pieces of prose and bound names, each with its line."""

    path: str
    prose: list[tuple[int, str]]
    names: list[tuple[int, str]]


def words() -> list[Word]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    cells = [line.split(";") for line in lines if line and not line.startswith("#")]
    return [
        Word(pattern.strip(), kind.strip(), instead.strip(), tuple(map(int, counts.split())))
        for pattern, kind, instead, counts in cells
    ]


def bound_names(tree: ast.AST) -> dict[str, int]:
    """The names that a file binds, with the line of the first binding."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.setdefault(name, node.lineno)
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                found.setdefault(name, node.lineno)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.setdefault(name, node.lineno)
    return found


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield node.body[0].lineno, text


def comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def without_code(prose: str) -> str:
    return _CODE.sub(lambda m: "\n" * m[0].count("\n"), prose) if "`" in prose else prose


def read(path: str, source: str) -> Text:
    if path.endswith(".md"):
        return Text(path, [(1, without_code(source))], [])
    tree = ast.parse(source)
    names = [(line, name) for name, line in bound_names(tree).items() if name not in FOREIGN]
    prose = [*docstrings(tree), *comments(source)]
    return Text(path, [(line, without_code(text)) for line, text in prose], names)


def files(folder: str) -> Iterator[Path]:
    root = ROOT / folder
    found = [*root.rglob("*.py"), *root.rglob("*.md")]
    if folder == "docs":
        found += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    inner = [ROOT / f for f in FOLDERS if f.startswith(f"{folder}/")]
    skipped = [*inner, ROOT / "s2s/transforms", ROOT / "tests/golden", Path(__file__).parent]
    for path in sorted(found):
        if not any(path.is_relative_to(s) for s in skipped):
            yield path


@cache
def texts(folder: str) -> list[Text]:
    return [
        read(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in files(folder)
    ]


def parts_of(name: str) -> list[str]:
    return [part.lower() for part in _PART.findall(name)]


def occurrences(words: list[Word], texts: list[Text]) -> list[list[str]]:
    """Where each word occurs, as `path:line: text`."""
    found: list[list[str]] = [[] for _ in words]
    spaced = [w.pattern.replace(" ", r"\s+") for w in words]
    one = [re.compile(s, re.IGNORECASE) for s in spaced]
    # One search for all words; each match is then looked up.
    prose = [i for i, w in enumerate(words) if w.kind == "prose"]
    names = [i for i, w in enumerate(words) if w.kind == "names"]
    any_prose = re.compile(rf"\b(?:{'|'.join(spaced[i] for i in prose)})\b", re.IGNORECASE)
    any_name = re.compile("|".join(spaced[i] for i in names))
    for text in texts:
        for line, name in text.names:
            hits = [part for part in parts_of(name) if names and any_name.fullmatch(part)]
            for i in names if hits else ():
                if any(one[i].fullmatch(part) for part in hits):
                    found[i].append(f"{text.path}:{line}: {name}")
        for line, piece in text.prose if prose else ():
            for m in any_prose.finditer(piece):
                at = line + piece.count("\n", 0, m.start())
                for i in prose:
                    if one[i].fullmatch(m[0]):
                        found[i].append(f"{text.path}:{at}: {m[0]}")
    return found


def update() -> None:
    """Write the present counts as ceilings; comments and order stay."""
    known = iter(words())
    columns = [occurrences(words(), texts(f)) for f in FOLDERS]
    rows = iter(zip(*columns))
    lines = LIST.read_text(encoding="utf-8").splitlines()
    for i, line in enumerate(lines):
        if line and not line.startswith("#"):
            word = next(known)
            counts = " ".join(f"{len(found):3}" for found in next(rows))
            lines[i] = f"{word.pattern:26}; {word.kind:5}; {word.instead:42}; {counts}"
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "--update" in sys.argv:
        update()
    else:
        for folder in FOLDERS:
            for found in occurrences(words(), texts(folder)):
                print(*found, sep="\n", end="\n" if found else "")
