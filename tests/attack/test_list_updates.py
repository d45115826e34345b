"""Updates of lists, objects and comparisons of sequences, beside CPython."""

from __future__ import annotations

import numpy as np
import pytest

from tests.attack.beside import judge_gradient, judge_source, load

X = np.array([1.0, -2.0, 3.0])
SLICES = ("1:", ":", "::2", "1:1", "5:", "-2:", "::-1", "2:0:-1", ":100")
STATEMENTS = [
    *(f"w[{part}] = {values}" for part in SLICES for values in ("[x[0], 7.0]", "()", "w")),
    *(f"del w[{part}]" for part in SLICES),
    "w[1:] = zip(w, w)",
    "w[1:] = x",
    "w[1:] = 3.0",
    "w[::0] = [1.0]",
    "w.sort()",
    "w.sort(reverse=True)",
    "w.sort(key=lambda v: -v)",
    "k.sort()",
    "k.remove(2.0)",
    "k.remove(9.0)",
    "w.remove(w[0])",
    "k[0] = k.index(2.0) + k.count(2.0)",
    "w = 'a,b'.split(',') + k",
    "k += 'a,b'.split(',')",
    "delattr(c, 'v')",
    "del c.v",
    "del c.v, c.v",
    "del c.v; c.v = 5.0",
    "setattr(c, 'u', x[1])",
    "setattr(c, 'u' + 'v', x[1]); w[0] = c.uv",
    "for v in w: w[1:] = []",
    "for v in w: del w[1:]",
    "print(*k, 'a', *w)",
]  # fmt: skip
BODY = """
class C:
    pass


def f(x):
    w, k, c = [x[0], x[1] * 2.0, x[2], 5.0], [3.0, 2.0, 1.0, 2.0], C()
    c.v = x[0]
    u = w
    {}
    return w, u, k, len(w), hasattr(c, 'v')
"""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement: str) -> None:
    found = judge_source(BODY.format(statement), (X,))
    assert found.allowed, found


def test_orders_of_sequences() -> None:
    pairs = [
        ("(1, 2)", "(1, 3)"), ("(1, 2)", "(1, 2)"), ("(1,)", "(1, 2)"), ("()", "()"),
        ("(x[0], 2)", "(x[0], 3)"), ("(x[0], x[1])", "(1.0, x[2])"), ("[x[0], 1]", "[x[1]]"),
        ("(x[0], (1, x[2]))", "(x[0], (1, x[1]))"), ("('a', x[0])", "('b', x[1])"),
        ("(x[0], x[1])", "(y[0], y[1], 5.0)"),
    ]  # fmt: skip
    for left, right in pairs:
        for op in ("<", "<=", ">", ">="):
            found = judge_source(f"def f(x, y):\n    return {left} {op} {right}\n", (X, X * 1.0))
            assert found.kind == "right", (left, op, right, found)


def test_a_gradient_through_updates() -> None:
    source = """
def f(x):
    w = [x[0], x[1] * 2.0, x[2], 5.0]
    w[1:3] = [x[2] * x[0], x[1], x[0]]
    del w[::2]
    w.sort()
    return w[0] * w[1] * (3.0 if (x[0], x[1]) < (x[0], x[2]) else 1.0)
"""
    found = judge_gradient(load(source)["f"], (X,))
    assert found.kind == "right", found.text
