"""Python files that the tests of the parser read, and the comparison of trees of core syntax."""

from __future__ import annotations

import ast
import os
import sysconfig
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import libcst as cst
import numpy as np

from s2s.transforms.frontend.cst_to_core import Translator
from s2s.transforms.syntax import core as c
from tests.scale import ALL, sample

ROOT = Path(__file__).parents[3]
PROGRAMS = ("tests/corpus", "examples", "s2s/layers")
LARGEST = 40_000  # bytes of a file in the sample
SAMPLED = {"compiler": 40, "library": 30}  # files


@cache
def own_files() -> list[Path]:
    """The corpus, the examples, the layers, and a sample of the compiler."""
    found = [path for folder in PROGRAMS for path in sorted((ROOT / folder).rglob("*.py"))]
    return found + sample(sorted((ROOT / "transforms").rglob("*.py")), SAMPLED["compiler"])


@cache
def library_files() -> list[Path]:
    """A sample of the modules of the standard library and NumPy that Python can parse."""
    roots = [Path(sysconfig.get_path("stdlib")), Path(np.__file__).parent]
    found: list[Path] = []
    for root in roots:
        for folder, inside, names in os.walk(root):
            inside[:] = sorted(d for d in inside if d not in ("site-packages", "lib2to3"))
            found += [Path(folder, name) for name in sorted(names) if name.endswith(".py")]
    small = [path for path in found if ALL or path.stat().st_size <= LARGEST]
    return [path for path in sample(small, SAMPLED["library"]) if text_of(path) is not None]


@cache
def text_of(path: Path) -> str | None:
    """The text of a file with line ends as Python translates them; None if it is not Python."""
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    return text


@cache
def translator(path: Path) -> Translator:
    """The parsed file, with the positions of its nodes."""
    return Translator(module(path))


@cache
def module(path: Path) -> cst.Module:
    text = text_of(path)
    assert text is not None
    return cst.parse_module(text)


def functions(path: Path) -> list[c.Define]:
    """The functions of a file, those inside of functions and classes too, in order."""
    found = translator(path).recorder.found[cst.FunctionDef]
    plain = [node for node in found if node.asynchronous is None]
    defined: list[Any] = [translator(path).stmt(node) for node in plain]
    return sorted(defined, key=lambda node: node.at)


def difference(found: Any, expected: Any, places: bool = True, path: str = "") -> str | None:
    """Where two trees differ first.  A place of line 0 is one that the oracle does not know; of
    `Refused`, only the place is compared."""
    if isinstance(expected, c.Refused) and _prints_refused(found):
        return None
    if type(found) is not type(expected):
        return f"{path}: {found!r:.200} is not {expected!r:.200}"
    if isinstance(found, c.Node):
        if places and 0 not in (found.line, expected.line) and found.at != expected.at:
            return f"{path}: {type(found).__name__} at {found.at}, not {expected.at}"
        if isinstance(found, c.Refused):
            return None
        # Before Python 3.12, `ast` has wrong places inside f-strings.
        places = places and not isinstance(found, c.Format)
        for name, part in vars(found).items():
            if name != "at":
                inside = f"{path}/{type(found).__name__}.{name}"
                if (wrong := difference(part, getattr(expected, name), places, inside)) is not None:
                    return wrong
        return None
    if isinstance(found, tuple):
        if len(found) != len(expected):
            return f"{path}: {len(found)} parts, not {len(expected)}"
        pairs = zip(found, expected)
        several = (difference(a, b, places, f"{path}[{i}]") for i, (a, b) in enumerate(pairs))
        return next((wrong for wrong in several if wrong is not None), None)
    # `repr` tells -0.0 from 0.0, and finds NaN equal to itself.
    return None if repr(found) == repr(expected) else f"{path}: {found!r} is not {expected!r}"


def _prints_refused(node: Any) -> bool:
    """Whether a node is the call as which the printer shows `Refused`."""
    call = node.value if isinstance(node, (c.Eval, c.Return)) else node
    function = call.function if isinstance(call, c.Call) else None
    return isinstance(function, c.Name) and function.id == "__refused__"
