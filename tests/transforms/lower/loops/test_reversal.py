"""Innermost loops are reversed to run forwards where that is not observable."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.reversal import reverse_loops
from tests.switches import switched_off
from tests.transforms.lower.memory.test_layout import again

F = "float64"
J, N = L.Name("j"), L.Name("n")
S = L.Name("s", F)
ADD = L.Store("x", (J,), L.Load("y", (J,), F), add=True)


def loop(*body):
    return L.Loop("j", L.sub(N, L.ONE), L.lit(-1), L.lit(-1), list(body))


def directions(*body, escaping=()):
    new = copy.deepcopy(list(body))
    reverse_loops([*new, L.Return((S,))], lambda a, b: a == b, {*escaping})
    return [(s.start, s.stop, s.step) for s in L.walk(new) if isinstance(s, L.Loop)]


FORWARDS = (L.ZERO, N, L.ONE)
BACKWARDS = (L.sub(N, L.ONE), L.lit(-1), L.lit(-1))


def test_rows_and_sums():
    assert directions(loop(ADD)) == [FORWARDS]
    assert directions(loop(L.Let("s", L.Bin("+", S, L.Load("y", (J,), F), F)))) == [FORWARDS]
    outer = L.Loop("i", L.sub(N, L.ONE), L.lit(-1), L.lit(-1), [loop(ADD)])
    assert directions(outer) == [BACKWARDS, FORWARDS]


@pytest.mark.parametrize(
    "stmt",
    [
        L.Store("x", (J,), L.Load("x", (L.add(J, L.ONE),), F)),
        L.Store("x", (L.ZERO,), L.Load("y", (J,), F)),
        L.Let("s", L.Bin("*", S, L.Load("y", (J,), F), F)),
        L.Let("s", L.Load("y", (J,), F)),
        L.If(L.compare(">", J, N), [L.Fail("IndexError", "far out")]),
    ],
    ids=["of a neighbour", "the last one stays", "a product", "the last value", "a check"],
)
def test_left_alone(stmt):
    assert directions(loop(stmt)) == [BACKWARDS]


def scaled(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(x.shape[0]):
            s += a[i] * x[j] * x[j]
    return s


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_gradients_are_the_same(n):
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=3), rng.normal(size=n)
    now = s2s.grad(again(scaled), wrt=("a", "x"), backend="loops")
    bars = now(a, x)
    with switched_off("reverse_loops"):
        was = s2s.grad(again(scaled), wrt=("a", "x"), backend="loops")
        right = was(a, x)
    assert "- 1, -1, -1)" in was.lowered
    assert now.lowered.count("- 1, -1, -1)") < was.lowered.count("- 1, -1, -1)")
    for bar, right_bar in zip(bars, right, strict=True):
        np.testing.assert_allclose(bar, right_bar, rtol=1e-13)
