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


def read(path: str, source: str) -> Text:
    if path.endswith(".md"):
        return Text(path, [(1, source)], [])
    tree = ast.parse(source)
    names = [(line, name) for name, line in bound_names(tree).items() if name not in FOREIGN]
    return Text(path, [*docstrings(tree), *comments(source)], names)


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


def places(word: Word, texts: list[Text]) -> list[str]:
    """Where a word occurs, as `path:line: text`."""
    found: list[str] = []
    if word.kind == "names":
        part = re.compile(word.pattern)
        for text in texts:
            for line, name in text.names:
                if any(part.fullmatch(p.lower()) for p in _PART.findall(name)):
                    found.append(f"{text.path}:{line}: {name}")
        return found
    spaced = word.pattern.replace(" ", r"\s+")
    whole = re.compile(rf"\b(?:{spaced})\b", re.IGNORECASE)
    for text in texts:
        for line, prose in text.prose:
            prose = _CODE.sub(lambda m: "\n" * m[0].count("\n"), prose)
            for m in whole.finditer(prose):
                found.append(f"{text.path}:{line + prose.count(chr(10), 0, m.start())}: {m[0]}")
    return found


def update() -> None:
    """Write the present counts as ceilings; comments and order stay."""
    known = iter(words())
    lines = LIST.read_text(encoding="utf-8").splitlines()
    for i, line in enumerate(lines):
        if line and not line.startswith("#"):
            word = next(known)
            counts = " ".join(f"{len(places(word, texts(f))):3}" for f in FOLDERS)
            lines[i] = f"{word.pattern:26}; {word.kind:5}; {word.instead:42}; {counts}"
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "--update" in sys.argv:
        update()
    else:
        for word in words():
            for folder in FOLDERS:
                print(*places(word, texts(folder)), sep="\n", end="\n")
