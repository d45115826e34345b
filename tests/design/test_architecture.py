"""docs/design/architecture.md names files and functions that exist, and lists every pass."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.design import layer_picture

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")

# `path.py` (`name`): a file and what it defines; a class's method as `Class.method`.
REFERENCE = re.compile(r"`((?:s2s|transforms|tests)/[\w/]+\.py)`(?: \(`([\w.]+)`\))?")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names_in(file: Path) -> set[str]:
    """What a file defines or imports at its top level, and the methods of its classes."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (n for n in node.body if isinstance(n, ast.FunctionDef))
            found |= {f"{node.name}.{n.name}" for n in inner}
        if isinstance(node, ast.Assign):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


@pytest.mark.parametrize("path, name", sorted(set(REFERENCE.findall(PAGE))))
def test_what_the_page_names_exists(path: str, name: str) -> None:
    assert (ROOT / path).is_file(), path
    assert not name or name in names_in(ROOT / path), f"{path} defines no {name}"


def test_there_are_twenty_questions() -> None:
    questions = rows(section("Twenty questions"))
    assert len(questions) >= 20
    for question, answer in questions:
        assert question.endswith("?") and REFERENCE.search(answer), question


def test_every_loop_pass_is_in_the_table() -> None:
    """In the order in which `run_loop_passes` runs them."""
    text = (ROOT / "transforms" / "lower" / "lower.py").read_text(encoding="utf-8")
    (function,) = (
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == "run_loop_passes"
    )
    called = [n.func for n in ast.walk(function) if isinstance(n, ast.Call)]
    order = {n.id: (n.lineno, n.col_offset) for n in called if isinstance(n, ast.Name)}
    table = [REFERENCE.search(file) for _, file, _ in rows(section("Loop passes"))]
    listed = [found[2] for found in table if found is not None]
    assert len(listed) == len(table)
    passes = [n for n in listed if n in order]
    assert passes == sorted(passes, key=order.__getitem__)
    folders = ("loops", "memory", "checks", "scalars", "sparsity")
    imports = [n for n in ast.parse(text).body if isinstance(n, ast.ImportFrom)]
    entries = {
        alias.name
        for node in imports
        if (node.module or "").split(".")[0] in folders
        for alias in node.names
        if alias.name in order and alias.name[0].islower()
    }
    assert entries <= set(listed), entries - set(listed)


def test_the_picture_is_drawn_from_the_contracts() -> None:
    """`python -m tests.design.layer_picture` draws it again."""
    assert layer_picture.FILE.read_text(encoding="utf-8") == layer_picture.svg()
    assert "assets/layers.svg" in PAGE
