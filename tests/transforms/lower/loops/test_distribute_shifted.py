"""Accumulations into neighbouring elements get loops of their own if the iterations are
independent."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.distribute_shifted import distribute_shifted
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, routine_text
from tests.transforms.lower.memory.test_layout import again

F = "float64"
J, K, N = L.Name("j"), L.Name("k"), L.Name("n")
T = L.Name("t", F)


def added(*index, value: L.Expr = T):
    return L.Store("g", index, value, add=True)


def loop(*body, start: L.Expr = L.ONE, stop: L.Expr = N, step=1):
    return L.Loop("j", start, stop, L.lit(step), list(body))


LET = L.Let("t", L.Bin("*", at("x", J), at("x", J), F))
LEFT = L.sub(J, L.ONE)


def parted(*body, may_alias=lambda a, b: a == b):
    new_name = Emitter({"g", "x", "k", "n", "j", "t"}).new_name
    return distribute_shifted(copy.deepcopy(list(body)), set(), may_alias, new_name)


def test_a_loop_for_each():
    backwards = loop(LET, added(K, J), added(K, LEFT), start=L.sub(N, L.ONE), stop=L.ZERO, step=-1)
    assert (
        routine_text(parted(backwards))
        == """\
    t_rows = np.empty((n - 1 if n - 1 > 0 else 0,), np.float64)
    for j in range(1, n):
        t = x[j] * x[j]
        t_rows[j - 1] = t
    for j in range(1, n):
        g[k, j] += t_rows[j - 1]
    for j in range(1, n):
        g[k, j - 1] += t_rows[j - 1]"""
    )


@pytest.mark.parametrize(
    "body",
    [
        loop(LET, added(J)),
        loop(LET, added(), added()),
        loop(LET, added(J), added(J, value=at("x", J))),
        loop(LET, added(J), L.Store("g", (LEFT,), T)),
        loop(LET, added(J), added(LEFT), L.Store("y", (J,), at("g", J))),
        loop(LET, added(J), added(L.Load("i", (J,), "int64"))),
        loop(LET, added(J), L.If(L.compare(">", J, K), [added(LEFT)])),
        loop(LET, added(J), added(LEFT), stop=L.lit(5)),
        loop(L.Let("t", L.Bin("*", T, at("x", J), F)), added(J), added(LEFT)),
    ],
    ids=["one", "no axis", "the same element", "one is written", "read", "anywhere",
         "in some rounds", "few", "rounds that go on"],
)  # fmt: skip
def test_left_alone(body):
    assert routine_text(parted(body)) == routine_text([body])


def test_memory_that_may_be_shared():
    body = loop(LET, added(J), added(LEFT))
    assert routine_text(parted(body, may_alias=lambda a, b: True)) == routine_text([body])


# ---------------------------------------------------------------- programs


def smooth(u, f):
    e = 0.0
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            near = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
            e += (near - f[i, j]) ** 2
    return e


@pytest.mark.parametrize("shape", [(5, 7), (3, 3), (2, 9), (1, 1), (0, 4), (12, 3)])
def test_results_stay(shape):
    rng = np.random.default_rng(0)
    u, f = rng.normal(size=shape), rng.normal(size=shape)
    now = s2s.value_and_grad(smooth, wrt="u", backend="loops")
    value, bar = now(u, f)
    with switched_off("distribute_shifted", "hoist_checks"):
        was = s2s.value_and_grad(again(smooth), wrt="u", backend="loops")
        right, right_bar = was(u, f)
    assert now.lowered.count("for j_5") == 5 and was.lowered.count("for j_5") == 1
    assert value == right
    np.testing.assert_allclose(bar, right_bar, rtol=1e-12, atol=1e-13)


def test_a_number_that_is_bound_again_is_kept_again():
    again_ = L.Let("t", at("x", LEFT))
    allocs = [s for s in parted(loop(LET, added(J), again_, added(LEFT))) if isinstance(s, L.Alloc)]
    assert len(allocs) == 2
    loads = loop(added(J, value=at("x", J)), L.Store("y", (J,), T), added(LEFT, value=at("x", J)))
    assert sum(isinstance(s, L.Alloc) for s in parted(loads)) == 2
