"""Outer loops are unrolled and jammed where the iterations are independent."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.unroll_and_jam import unroll_and_jam
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, routine_text, run_body
from tests.transforms.lower.memory.test_layout import again

F = "float64"
I, J, K, N, M = (L.Name(name) for name in "ijknm")  # noqa: E741
S, T = L.Name("s", F), L.Name("t", F)
PARAMS = ["x", "y", "z", "s", "n", "m"]


def times(a, b):
    return L.Bin("*", a, b, F)


def plus(a, b):
    return L.Bin("+", a, b, F)


def loop(var, stop, *body, start: L.Expr = L.ZERO, step=1):
    return L.Loop(var, start, stop, L.lit(step), list(body))


def back(var, stop, *body):
    return L.Loop(var, L.sub(stop, L.ONE), L.lit(-1), L.lit(-1), list(body))


# x[k, j] += z[i, k] * y[i, j]
ADDED = L.Store("x", (K, J), times(at("z", I, K), at("y", I, J)), add=True)
# t = y[i, :] @ x[k, :]; z[i, k] = t
SUMMED = (
    L.Let("t", L.Lit(0.0, F)),
    loop("j", M, L.Let("t", plus(T, times(at("y", I, J), at("x", K, J))))),
    L.Store("z", (I, K), T),
)


def abreast(*body, may_alias=lambda a, b: a == b, escaping=(), dtype=F, result: L.Expr = S):
    new = copy.deepcopy(list(body))
    taken = Emitter({*PARAMS, "i", "j", "k", "t", "u"})
    whole = [*new, L.Return((result,))]
    unroll_and_jam(whole, {"x": dtype, "y": F, "z": F}, {*escaping}, may_alias, taken.new_name)
    return whole[:-1]


def run(body, n, m):
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(14, 14)) for name in "xyz"}
    found = run_body(body, **arrays, s=1.5, n=n, m=m)
    return [found[name] for name in "xyzs"]


def test_four_iterations_at_once():
    assert (
        routine_text(abreast(loop("i", L.Size("y", 0), loop("k", N, loop("j", M, ADDED))))) == """\
    rest = y.shape[0] - y.shape[0] % 4
    for i in range(0, rest, 4):
        for k in range(n):
            for j in range(m):
                x[k, j] = x[k, j] + z[i, k] * y[i, j] + z[i + 1, k] * y[i + 1, j]"""
        """ + z[i + 2, k] * y[i + 2, j] + z[i + 3, k] * y[i + 3, j]
    for i in range(rest, y.shape[0]):
        for k in range(n):
            for j in range(m):
                x[k, j] += z[i, k] * y[i, j]"""
    )


def test_each_iteration_has_its_own_numbers():
    new = routine_text(abreast(loop("i", N, loop("k", N, *SUMMED))))
    assert new.split("    for i in range(rest")[0].endswith(
        """\
            for j in range(m):
                t = t + y[i, j] * x[k, j]
                t_1 = t_1 + y[i + 1, j] * x[k, j]
                t_2 = t_2 + y[i + 2, j] * x[k, j]
                t_3 = t_3 + y[i + 3, j] * x[k, j]
            z[i, k] = t
            z[i + 1, k] = t_1
            z[i + 2, k] = t_2
            z[i + 3, k] = t_3
"""
    )


def test_triangles_run_together_as_far_as_all_iterations_go():
    lower = routine_text(abreast(back("i", N, loop("k", M, loop("j", L.add(I, L.ONE), ADDED)))))
    assert [line.strip() for line in lower.splitlines() if "for j" in line] == [
        "for j in range(i - 2):",
        "for j in range(i - 2, i + 1):",
        "for j in range(i - 2, i):",
        "for j in range(i - 2, i - 1):",
        "for j in range(i + 1):",
    ]
    upper = routine_text(abreast(loop("i", N, loop("k", M, loop("j", N, ADDED, start=I)))))
    assert [line.strip() for line in upper.splitlines() if "for j" in line] == [
        "for j in range(i, i + 3):",
        "for j in range(i + 1, i + 3):",
        "for j in range(i + 2, i + 3):",
        "for j in range(i + 3, n):",
        "for j in range(i, n):",
    ]


def test_what_stands_around_is_written_once():
    """The loops before and after the profitable one are not copied."""
    body = loop(
        "i",
        N,
        L.Let("u", L.add(I, L.ONE)),
        loop("j", L.Name("u"), L.Store("y", (I, J), times(at("y", I, J), at("y", I, J)))),
        loop("k", M, loop("j", L.Name("u"), ADDED)),
        loop("j", L.Name("u"), L.Let("s", plus(S, at("y", I, J)))),
    )
    lines = [
        line[8:] for line in routine_text(abreast(body)).splitlines() if line.startswith("        ")
    ]
    assert lines[:4] == [
        "for i_1 in range(i, i + 4):",
        "    u_1 = i_1 + 1",
        "    for j in range(u_1):",
        "        y[i_1, j] = y[i_1, j] * y[i_1, j]",
    ]
    assert lines.count("for i_2 in range(i, i + 4):") == 1


NESTS = {
    "whole": loop("i", N, loop("k", M, loop("j", M, ADDED))),
    "backwards": back("i", N, back("k", M, loop("j", M, ADDED))),
    "below": loop("i", N, loop("k", M, loop("j", L.add(I, L.ONE), ADDED))),
    "below, backwards": back("i", N, loop("k", M, loop("j", L.add(I, L.ONE), ADDED))),
    "far below": loop("i", N, loop("k", M, loop("j", L.sub(I, L.lit(3)), ADDED))),
    "from a place on": loop(
        "i", N, loop("k", M, loop("j", L.add(I, L.ONE), ADDED, start=L.lit(5)))
    ),
    "above": loop("i", N, loop("k", M, loop("j", N, ADDED, start=L.add(I, L.ONE)))),
    "above, backwards": back("i", N, loop("k", M, loop("j", M, ADDED, start=I))),
    "far above": loop("i", N, loop("k", M, loop("j", M, ADDED, start=L.add(I, L.lit(4))))),
    "of another triangle": loop("i", N, loop("k", M, loop("j", K, ADDED))),
    "from the middle": loop("i", N, loop("k", M, loop("j", M, ADDED)), start=L.lit(3)),
    "of another kind": loop("i", N, loop("k", I, loop("j", M, ADDED))),
    "numbers": loop("i", N, loop("k", M, *SUMMED)),
    "more": loop(
        "i",
        N,
        L.Let("u", L.add(I, L.ONE)),
        loop("j", L.Name("u"), L.Store("y", (I, J), times(L.Lit(0.5, F), at("y", I, J)))),
        loop("k", M, loop("j", L.Name("u"), ADDED)),
        loop("j", L.Name("u"), L.Let("s", plus(S, at("y", I, J)))),
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_whatever_the_range(name):
    body = NESTS[name]
    new = abreast(body)
    assert "rest" in routine_text(new)
    for n in (-2, 0, 1, 2, 3, 4, 5, 7, 8, 9, 11):
        for m in (0, 1, 3, 9):
            for now, was in zip(run(new, n, m), run([body], n, m), strict=True):
                np.testing.assert_allclose(now, was, rtol=1e-13)


FAILS = L.If(L.compare(">", K, M), [L.Fail("IndexError", "far out")])
CHECKED = L.If(L.compare(">", J, I), [ADDED])


@pytest.mark.parametrize(
    "body",
    [
        loop("i", N, loop("k", N, loop("j", M, L.Store("x", (K, J), at("y", I, J))))),
        loop("i", N, loop("k", N, FAILS, loop("j", M, ADDED))),
        loop("i", N, loop("k", N, loop("j", M, CHECKED))),
        loop("i", N, loop("k", N, loop("j", M, ADDED)), step=2),
        loop("i", L.lit(3), loop("k", N, loop("j", M, ADDED))),
        loop("i", N, loop("k", N, loop("j", M, L.Store("x", (K, J), at("x", K, I), add=True)))),
        loop("i", N, loop("k", L.mul(I, L.lit(2)), loop("j", M, ADDED))),
        loop("i", N, loop("k", N, *SUMMED), L.Let("s", T)),
        loop("i", N, loop("k", N, loop("j", M, ADDED)), L.Store("y", (I, I), L.Cast(J, F))),
        loop("i", N, loop("j", M, L.Store("x", (I, J), times(S, at("y", I, J))))),
        loop("i", L.Load("z", (L.ZERO,), "int64"), loop("k", N, loop("j", M, ADDED))),
        loop("i", N, loop("j", M, L.Store("x", (I, J), at("y", L.ZERO, J), add=True))),
    ],
    ids=[
        "the last one stays", "an error in between", "a choice", "another step",
        "few", "of what is added to", "other rounds", "a number that stays", "a counter read later",
        "nothing in common", "bounds from memory", "rows that the optimiser would ask about",
    ],
)  # fmt: skip
def test_left_alone(body):
    assert routine_text(abreast(body, result=T)) == routine_text([body])


def test_memory_and_rounding_stay_as_they_are():
    body = loop("i", N, loop("k", N, loop("j", M, ADDED)))
    assert routine_text(abreast(body, may_alias=lambda a, b: True)) == routine_text([body])
    parallel = copy.deepcopy(body)
    parallel.parallel = True
    # The loop inside has nothing to gain.
    assert routine_text(abreast(parallel)) == routine_text([parallel])
    # Sums that are rounded each time are rounded each time.
    assert "x[k, j] += z[i + 3, k] * y[i + 3, j]" in routine_text(abreast(body, dtype="float32"))


# ---------------------------------------------------------------- programs


def rank_k(a, c):
    c = c.copy()
    for row in range(a.shape[0]):
        c[row, : row + 1] *= 0.5
        for k in range(a.shape[1]):
            c[row, : row + 1] += a[row, k] * a[: row + 1, k]
    return np.sum(c**2)


def by_elements(a, c):
    c = c.copy()
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * a[j, k]
    return np.sum(c**2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("program", [rank_k, by_elements])
@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 9])
def test_gradients_are_the_same(program, rows, dtype):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(rows, 5)).astype(dtype)
    c = rng.normal(size=(max(rows, 1), max(rows, 5))).astype(dtype)
    now = s2s.value_and_grad(again(program), wrt=("a", "c"), backend="loops")
    value, bars = now(a, c)
    with switched_off("unroll_and_jam"):
        was = s2s.value_and_grad(again(program), wrt=("a", "c"), backend="loops")
        right, right_bars = was(a, c)
    assert now.lowered != was.lowered
    close = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(value, right, rtol=close)
    for bar, right_bar in zip(bars, right_bars, strict=True):
        np.testing.assert_allclose(bar, right_bar, rtol=close, atol=close)


def test_compiled():
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(11, 5)), rng.normal(size=(11, 11))
    for program in (rank_k, by_elements):
        now = s2s.value_and_grad(program, wrt=("a", "c"))(a, c)
        was = s2s.value_and_grad(again(program), wrt=("a", "c"), backend="python")(a, c)
        np.testing.assert_allclose(now[0], was[0])
        for bar, right_bar in zip(now[1], was[1], strict=True):
            np.testing.assert_allclose(bar, right_bar)
