"""Generated source as a module."""

from __future__ import annotations

import ast
import linecache

from s2s.backends.run_text import run_text


def test_lines_are_known_to_debuggers() -> None:
    first = run_text("a = 1\n", "<s2s some text>", {})
    second = run_text("a = 2\n", "<s2s some text>", {"b": 3})
    assert (first["a"], second["a"], second["b"]) == (1, 2, 3)
    assert linecache.getline(second["__name__"], 1) == "a = 2\n"
    assert first["__name__"] != second["__name__"]


def test_a_tree_runs_in_place_of_the_text() -> None:
    assert run_text("a = 1\n", "<s2s other text>", {}, ast.parse("a = 5"))["a"] == 5
