"""Checks of every iteration are hoisted before the loop, only where that is not observable."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.checks.hoist import hoist_checks
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import loop, routine, routine_text
from tests.transforms.lower.memory.test_layout import again

F = "float64"
I, J, N, M, S = L.Name("i"), L.Name("j"), L.Name("n"), L.Name("m"), L.Name("s", F)  # noqa: E741
SIZE = L.Size("x", 0)


def fails(cond, message="far out", exception="IndexError"):
    return L.If(cond, [L.Fail(exception, message)])


SUM = L.Let("s", L.Bin("+", S, L.Load("x", (I,), F), F))
BEYOND = fails(L.compare(">=", I, SIZE))


def ahead(*body, escaping=(), may_alias=lambda a, b: a == b):
    return hoist_checks(copy.deepcopy(list(body)), {*escaping}, may_alias)


def test_before_the_loop():
    assert (
        routine_text(ahead(loop(BEYOND, SUM)))
        == """\
    if n > x.shape[0]:
        raise IndexError("far out")
    for i in range(n):
        s = s + x[i]"""
    )


def test_of_inner_loops_and_by_numbers_of_a_iteration():
    inner = loop(fails(L.compare(">=", J, L.Size("y", 0))), L.Store("t", (J,), S), var="j", stop=M)
    let = L.Let("k", L.add(I, L.lit(2)))
    body = loop(let, fails(L.compare(">=", L.Name("k"), SIZE)), inner)
    assert (
        routine_text(ahead(body))
        == """\
    if n > 0 and n > x.shape[0] - 2:
        raise IndexError("far out")
    if n > 0 and m > y.shape[0]:
        raise IndexError("far out")
    for i in range(n):
        k = i + 2
        for j in range(m):
            t[j] = s"""
    )


def test_conditions_that_hold_later_the_sooner():
    both = L.Bin("and", L.compare(">", M, L.ZERO), L.compare(">=", I, SIZE), "bool")
    above = L.Bin("and", L.compare(">", L.add(I, L.ONE), M), L.compare(">", I, SIZE), "bool")
    for step, ends in ((1, (L.ZERO, N)), (-1, (L.sub(N, L.ONE), L.lit(-1)))):
        new = routine_text(
            ahead(loop(fails(both), fails(above), SUM, start=ends[0], stop=ends[1], step=step))
        )
        assert (
            new.split("    for i")[0]
            == """\
    if n > 0 and (m > 0 and n > x.shape[0]):
        raise IndexError("far out")
    if n > 0 and (n > m and n - 1 > x.shape[0]):
        raise IndexError("far out")
"""
        )


@pytest.mark.parametrize(
    "body",
    [
        loop(fails(L.Bin("and", L.compare("<", I, M), L.compare(">=", I, SIZE), "bool")), SUM),
        loop(fails(L.Bin("or", L.compare(">", I, M), L.compare(">=", I, SIZE), "bool")), SUM),
        loop(fails(L.compare(">=", L.Load("y", (I,), "int64"), SIZE)), SUM),
        loop(fails(L.compare(">=", SIZE, I)), SUM),
        loop(BEYOND, fails(L.compare("<", N, L.ZERO), exception="ValueError"), SUM),
        loop(BEYOND, L.If(L.compare("<", I, M), [BEYOND]), SUM),
        loop(BEYOND, SUM, L.If(L.compare("<", I, M), [L.Break()])),
        loop(BEYOND, SUM, L.Print("x", (S,))),
        loop(BEYOND, SUM, step=2),
        loop(fails(L.compare(">=", I, L.Name("k"))), L.Let("k", L.add(I, L.ONE)), SUM),
        loop(fails(L.compare(">=", I, L.Load("y", (M,), "int64"))), L.Store("y", (I,), S)),
    ],
    ids=["rounds before one", "one or the other", "an index that is read", "the first rounds",
         "of another kind", "in a branch", "ends early", "prints", "another step",
         "a bound that grows", "one that is overwritten"],
)  # fmt: skip
def test_left_alone(body):
    assert routine_text(ahead(body)) == routine_text([body])


def test_what_the_caller_sees_is_written_until_then():
    body = loop(BEYOND, L.Store("y", (I,), S))
    assert routine_text(ahead(body, escaping=("y",))) == routine_text([body])
    assert routine_text(ahead(body)) != routine_text([body])


@pytest.mark.parametrize("start", [0, 2, -3])
@pytest.mark.parametrize("shift", [-1, 0, 2])
@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("both", [False, True])
def test_fails_if_and_only_if_a_iteration_would(start, shift, step, both):
    cond = L.compare(">=", L.add(I, L.lit(shift)), SIZE)
    if both:
        cond = L.Bin("and", L.compare(">", L.add(I, L.ONE), M), cond, "bool")
    keep = L.Let("s", L.Bin("+", S, L.Lit(1.0, F), F))
    if step > 0:
        body = loop(fails(cond), keep, start=L.lit(start))
    else:
        body = loop(fails(cond), keep, start=N, stop=L.lit(start), step=-1)
    new = ahead(body)
    assert len(new) == 2
    was, now = (_runnable(b) for b in ([body], new))
    for size in range(4):
        for n in range(-4, 8):
            for m in (0, 3):
                assert was(np.zeros(size), n, m) == now(np.zeros(size), n, m), (size, n, m)


def _runnable(body):
    space: dict = {}
    exec(
        print_module([routine([*body, L.Return((S,))], "x", "y", "s", "n", "m")], ""),
        space,
    )

    def run(x, n, m):
        try:
            return space["f"](x, None, 0.0, n, m)
        except IndexError as error:
            return str(error)

    return run


# ---------------------------------------------------------------- programs


def distances(x, y, c):
    total = 0.0
    for i in range(len(x)):
        dx, dy = x[i] - c[0], y[i] - c[1]
        total += np.exp(-np.sqrt(dx * dx + dy * dy + 1.0)) * c[2]
    return total


def test_results_and_errors_stay():
    rng = np.random.default_rng(0)
    x, y, c = rng.normal(size=9), rng.normal(size=9), rng.normal(size=3)
    now = s2s.value_and_grad(distances, wrt=("x", "c"), backend="loops")
    value, bars = now(x, y, c)
    with switched_off(
        "hoist_checks", "version_checked_loops", "reversible_loops", "promote_accumulators"
    ):
        was = s2s.value_and_grad(again(distances), wrt=("x", "c"), backend="loops")
        right, right_bars = was(x, y, c)
    assert now.lowered.count("for i_1") == 1 and was.lowered.count("for i_") == 2
    np.testing.assert_allclose(value, right, rtol=1e-14)
    for bar, right_bar in zip(bars, right_bars):
        np.testing.assert_allclose(bar, right_bar, rtol=1e-13)
    for few in ((x, y[:5], c), (x, y, c[:1]), (x, y[:0], c[:0])):
        with pytest.raises(IndexError, match="out of bounds"):
            now(*few)
    value, (x_bar, c_bar) = now(x[:0], y[:0], c[:0])
    assert value == 0.0 and x_bar.shape == c_bar.shape == (0,)
