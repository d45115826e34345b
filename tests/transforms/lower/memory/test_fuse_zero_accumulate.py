"""A zero fill and a later accumulation are fused exactly where the zeros are not observable."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.fuse_zero_accumulate import fuse_zero_accumulate
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, routine_text, run_body
from tests.transforms.lower.memory.test_layout import again

F = "float64"
I, J, N, M = (L.Name(name) for name in ("i", "j", "n", "m"))  # noqa: E741
ZERO = L.Lit(0.0, F)


def loop(put, stop=N, var="i"):
    return L.Loop(var, L.ZERO, stop, L.ONE, [put])


def zeros(shift=1, stop=N):
    return loop(L.Store("x", (L.add(I, L.lit(shift)),), ZERO), stop)


def sums(shift=0, stop=M, expr=None):
    place = (L.add(J, L.lit(shift)),)
    return loop(L.Store("x", place, expr or at("y", J), add=True), stop, "j")


def written(*body, escaping=(), may_alias=lambda a, b: a == b):
    new = copy.deepcopy(list(body))
    fuse_zero_accumulate(
        new, {*escaping}, may_alias, Emitter({"x", "y", "n", "m", "i", "j"}).new_name
    )
    return new


def test_the_same_elements():
    put, more = L.Store("x", (M, I), ZERO), L.Store("x", (M, J), at("y", J), add=True)
    between = L.Store("y", (L.ZERO,), at("y", L.ONE))
    assert (
        routine_text(written(loop(put), between, loop(more, var="j")))
        == """\
    y[0] = y[1]
    for j in range(n):
        x[m, j] = 0.0 + y[j]"""
    )


def test_a_place_that_is_read_from_memory_may_be_another_later():
    place = L.Load("k", (L.ZERO,), "int64")
    put, more = L.Store("x", (place, I), ZERO), L.Store("x", (place, J), at("y", J), add=True)
    body = loop(put), L.Store("k", (L.ZERO,), M), loop(more, var="j")
    assert written(*body) == [*body]


def test_some_of_the_elements():
    end = L.select(L.compare(">", N, L.ZERO), L.add(N, L.lit(2)), L.ZERO)
    assert (
        routine_text(written(zeros(), sums(stop=end)))
        == """\
    n_1 = n + 2 if n > 0 else 0
    n_2 = 1 if 1 < n_1 else n_1
    n_3 = n_1 if n_1 < n + 1 else n + 1
    n_4 = n_2 if n_2 > n_3 else n_3
    for j in range(n_2):
        x[j] += y[j]
    for j in range(n_2, n_4):
        x[j] = 0.0 + y[j]
    for j in range(n_4, n_1):
        x[j] += y[j]"""
    )


@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("stop", [M, L.sub(M, L.lit(3)), L.add(N, L.lit(2))])
def test_whatever_the_sizes(shift, stop):
    body = [zeros(shift), sums(stop=stop)]
    new = written(*body)
    assert routine_text(new) != routine_text([*body])
    for n in range(-1, 6):
        for m in range(-1, 9):
            assert list(run(new, n, m)) == list(run(body, n, m))


def run(body, n, m):
    x, y = np.arange(12.0) + 1.0, np.arange(12.0) ** 2
    return run_body(body, x=x, y=y, n=n, m=m)["x"]


@pytest.mark.parametrize(
    "body",
    [
        [zeros(), L.Store("y", (L.ZERO,), at("x", L.ONE)), sums()],
        [zeros(), sums(expr=at("x", J))],
        [zeros(), L.Let("n", M), sums()],
        [zeros(), L.If(L.compare("<", N, M), [L.Break()]), sums()],
        [zeros(), L.If(L.compare("<", N, M), [sums()])],
        [zeros(), L.Call("rt.gemm", (L.Subview("y"), L.Subview("x"))), sums()],
        [zeros(), loop(L.Store("x", (L.mul(J, J),), at("y", J), add=True), var="j")],
        [zeros(0), sums(1)],
        [zeros(), sums(expr=L.Lit(1, "int64"))],
        [loop(L.Store("x", (I,), L.Lit(1.0, F))), sums()],
        [
            loop(L.Store("x", (M, I), ZERO)),
            loop(L.Store("x", (N, J), at("y", J), add=True), var="j"),
        ],
        [loop(L.Store("x", (L.ZERO,), ZERO)), sums()],
    ],
    ids=[
        "read", "read by the sum", "another count", "a way out", "perhaps", "a call", "twice",
        "ahead", "another dtype", "no zeros", "another row", "one place",
    ],
)  # fmt: skip
def test_left_alone(body):
    assert routine_text(written(*body)) == routine_text(body)


def test_what_others_may_see():
    body = [zeros(), sums(stop=L.add(N, L.ONE))]
    assert routine_text(written(*body)) != routine_text(body)
    assert routine_text(written(*body, escaping=("x",))) == routine_text(body)
    assert routine_text(written(*body, may_alias=lambda a, b: True)) == routine_text(body)


# ---------------------------------------------------------------- programs


def averaged(x, z, steps):
    x, z = x.copy(), z.copy()
    for _ in range(steps):
        z[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3.0
        x[1:-1] = (z[:-2] + z[1:-1] + z[2:]) / 3.0
    return np.sum(x**2) + np.sum(z)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8])
def test_results_are_the_same_to_the_last_bit(size):
    x, z = np.random.default_rng(0).normal(size=(2, size))
    now = s2s.value_and_grad(averaged, wrt=("x", "z"), backend="loops")
    value, bars = now(x, z, 3)
    with switched_off("fuse_zero_accumulate"):
        was = s2s.value_and_grad(again(averaged), wrt=("x", "z"), backend="loops")
        right, right_bars = was(x, z, 3)
    assert now.lowered != was.lowered
    assert value == right
    for bar, right_bar in zip(bars, right_bars):
        np.testing.assert_array_equal(bar, right_bar)


def test_elements_to_which_nothing_is_added_stay():
    three = L.lit(3)
    body = (zeros(3, three), sums(0, three))
    assert routine_text(written(*body)) == routine_text(body)


def test_zeros_that_remain_are_not_candidates_again():
    """Some elements are accumulated to, the others stay zero: the pass rewrites once and
    terminates."""
    body = written(zeros(2, L.lit(4)), sums(0, L.lit(3)))
    assert (
        routine_text(body)
        == """\
    for i in range(1, 4):
        x[i + 2] = 0.0
    for j in range(2):
        x[j] += y[j]
    for j in range(2, 3):
        x[j] = 0.0 + y[j]"""
    )
