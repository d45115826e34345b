"""Traversal of lowered source: all nodes but contexts, kept on each statement."""

from __future__ import annotations

import ast

import pytest

from s2s.codegen.syntax_helpers import named, walk

TEXT = """
def g(x):
    return (x,)

def f(x, n):
    for i in range(n):
        if x[i] > 0.0:
            x[i] += 2.0
    return (x[0], n)
"""


def test_all_nodes_but_contexts() -> None:
    function = named(ast.parse(TEXT), "f")
    inner = (ast.expr_context, ast.arguments, ast.arg)
    expected = {id(n) for n in ast.walk(function) if not isinstance(n, inner)}
    found = walk(function)
    assert {id(n) for n in found} == expected and len(found) == len(expected)
    assert found[0] is function


def test_statements_keep_their_nodes() -> None:
    function = named(ast.parse(TEXT), "f")
    loop = function.body[0]
    assert walk(loop) is walk(loop)
    assert walk(loop)[0] is loop and all(n in walk(function) for n in walk(loop))
    test = loop.body[0].test  # type: ignore[attr-defined]
    assert walk(test) is not walk(test) and [*map(type, walk(test))] == [*map(type, walk(test))]


def test_functions_by_name() -> None:
    module = ast.parse(TEXT)
    assert named(module, "g") is module.body[0]
    with pytest.raises(StopIteration):
        named(module, "h")
