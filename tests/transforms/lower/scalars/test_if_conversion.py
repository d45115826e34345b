"""Branches that select scalars are converted, others are not."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.scalars.if_conversion import if_convert
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import routine
from tests.transforms.lower.memory.test_layout import again

F = "float64"
G, H, C = L.Name("g", F), L.Name("h", F), L.Name("c", "bool")
ZERO = L.Lit(0.0, F)
ADD = L.Store("x", (L.ZERO,), G, add=True)


def let(name, value):
    return L.Let(name, value)


def branch(then, orelse):
    return L.If(C, list(then), list(orelse))


def chosen(*body):
    new = [*copy.deepcopy(list(body)), L.Return((G,))]
    if_convert(new, ["x", "g", "c"], Emitter({"x", "g", "h", "c"}).new_name)
    return text(new)


def text(body):
    return print_module([routine(body, "x", "g", "c")], "").split("def f(x, g, c):\n")[-1]


TAKEN = branch([let("h", ZERO)], [let("h", G), let("g", ZERO)])


def test_what_becomes_of_it():
    assert (
        chosen(TAKEN, ADD, let("g", H))
        == """\
    h = np.float64(0.0) if c else g
    g_1 = g if c else np.float64(0.0)
    x[0] += g_1
    g = h
    return (g,)
"""
    )
    assert "g = g if c else np.float64(0.0)\n    x[0] += g\n" in chosen(TAKEN, ADD)


def test_one_after_the_other():
    new = chosen(branch([let("h", G), let("g", H), let("h", ZERO)], [let("h", ZERO)]))
    assert (
        new
        == """\
    h = np.float64(0.0) if c else np.float64(0.0)
    g = g if c else g
    return (g,)
"""
    )


@pytest.mark.parametrize(
    "body",
    [
        [branch([let("h", G)], [let("h", L.Lit(1.0, F))])],
        [branch([let("h", ZERO)], [])],
        [branch([let("h", ZERO), ADD], [let("h", G)])],
        [branch([let("h", ZERO)], [let("h", L.Load("x", (L.ZERO,), F))])],
        [branch([let("h", ZERO)], [let("h", L.Name("c", "float32"))])],
        [let("h", ZERO), branch([let("h", G), let("g", ZERO)], [let("g", H), let("h", G)])],
        [branch([let("c", L.TRUE), let("h", ZERO)], [let("h", G)])],
    ],
    ids=["no zero", "nothing before", "adds", "reads", "dtypes", "swaps", "changes what it asks"],
)
def test_left_alone(body):
    assert chosen(*body) == text([*body, L.Return((G,))])


def test_no_other_name_if_something_may_leave():
    leave = L.If(C, [L.Break()])
    loop = L.Loop("i", L.ZERO, L.ONE, L.ONE, [TAKEN, leave, ADD, let("g", H)])
    assert "g = g if c else np.float64(0.0)" in chosen(loop)


def smallest(x, y):
    total = 0.0
    for i in range(len(y)):
        best = 9.0
        for k in range(len(x)):
            d = (x[k] - y[i]) * (x[k] - y[i])
            if d < best:
                best = d
        total += best * best
    return total


def last_above(x, y):
    total, best = 0.0, 1.0
    for i in range(len(y)):
        for k in range(len(x)):
            if x[k] >= best:
                best = x[k] * y[i]
            else:
                total += best
    return total + best


@pytest.mark.parametrize("program", [smallest, last_above])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_are_the_same(program, dtype):
    rng = np.random.default_rng(5)
    now = s2s.value_and_grad(again(program), wrt=(0, 1), backend="loops")
    with switched_off("if_convert", "skip_zero_updates"):
        was = s2s.value_and_grad(again(program), wrt=(0, 1), backend="loops")
        was(np.ones(5, dtype), np.ones(4, dtype))
    for n in range(6):
        x, y = rng.integers(-2, 3, n).astype(dtype), rng.integers(-2, 3, 3).astype(dtype)
        for odd in (None, 1e200, np.inf, np.nan):
            with np.errstate(all="ignore"):
                if odd is not None:
                    x[-1:] = odd
                (value, slopes), (right, wanted) = now(x, y), was(x, y)
            for a, b in zip((value, *slopes), (right, *wanted)):
                np.testing.assert_array_equal(a, b)
    if program is smallest:
        assert "break" in now.lowered and "break" not in was.lowered
