"""The NaN test of a min/max recurrence is on the new operand."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.ops.scalar_ops import minmax_select
from s2s.transforms.lower.scalars.minmax_recurrence import shorten_minmax_recurrence

M, V = L.Name("m", "float64"), L.Name("v", "float64")


def turned(name, expr):
    body: list[L.Stmt] = [L.Loop("i", L.ZERO, L.Name("n"), L.ONE, [L.Let(name, expr)])]
    shorten_minmax_recurrence(body)
    (loop,) = body
    assert isinstance(loop, L.Loop) and isinstance(loop.body[0], L.Let)
    return loop.body[0].expr


def test_the_new_number_is_asked():
    assert turned("m", minmax_select("<=", M, V)) == minmax_select("<", V, M)
    assert turned("m", minmax_select(">=", M, V)) == minmax_select(">", V, M)


def test_others_stay():
    i, j = L.Name("m"), L.Name("v")
    for name, expr in (
        ("v", minmax_select("<=", M, V)),
        ("m", minmax_select("<=", V, M)),
        ("m", minmax_select("<", M, V)),
        ("m", minmax_select("<=", i, j)),
        ("m", L.Select(L.Bin("<=", M, V, "bool"), M, V, "float64")),
        ("m", minmax_select("<=", M, L.Load("x", (i,), "float64"))),
    ):
        assert turned(name, expr) == expr


def extremes(x):
    low, high = np.inf, -np.inf
    for i in range(len(x)):
        low = np.minimum(low, x[i])
        high = max(high, x[i])
    return low, high


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_results(backend):
    f = s2s.function(extremes, backend=backend)
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 3, 7, 16, 33, 100):
        x = rng.normal(size=size)
        for place in (0, size // 2, size - 1):
            for odd in (0.0, -0.0, np.inf, -np.inf, np.nan):
                y = x.copy()
                y[place : place + 1] = odd
                want = (np.min(y, initial=np.inf), np.max(y, initial=-np.inf))
                np.testing.assert_array_equal(f(y), want)
