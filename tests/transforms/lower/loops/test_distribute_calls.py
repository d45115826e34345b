"""Expensive calls beside inner loops get loops of their own if the iterations are independent."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.loops.distribute_calls import distribute_calls
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, loop, routine, routine_text
from tests.transforms.lower.memory.test_layout import again

F = "float64"
I, J, N = L.Name("i"), L.Name("j"), L.Name("n")  # noqa: E741
Z, T, S = (L.Name(name, F) for name in "zts")


def plus(a, b):
    return L.Bin("+", a, b, F)


def exp(e):
    return L.Apply("np.exp", (e,), F)


BEGIN = L.Let("z", L.Lit(0, F))
DOT = loop(L.Let("z", plus(Z, at("x", I, J))), var="j", stop=L.Size("x", 1))
SLOW = L.Let("t", exp(Z))
TOTAL = L.Let("s", plus(S, T))
ROW = loop(L.Store("c", (J,), L.Bin("*", T, at("x", I, J), F), add=True), var="j",
           stop=L.Size("x", 1))  # fmt: skip


def apart(*body):
    new_name = Emitter({"c", "x", "y", "z", "t", "s", "n", "i", "j"}).new_name
    return distribute_calls(copy.deepcopy(list(body)), set(), lambda a, b: a == b, new_name)


def test_three_loops():
    assert (
        routine_text(apart(loop(BEGIN, DOT, SLOW, TOTAL, ROW)))
        == """\
    z_rows = np.empty((n if n > 0 else 0,), np.float64)
    t_rows = np.empty((n if n > 0 else 0,), np.float64)
    for i in range(n):
        z = np.float64(0.0)
        for j in range(x.shape[1]):
            z = z + x[i, j]
        z_rows[i] = z
    for i in range(n):
        z = z_rows[i]
        t = np.exp(z)
        s = s + t
        t_rows[i] = t
    for i in range(n):
        t = t_rows[i]
        for j in range(x.shape[1]):
            c[j] += t * x[i, j]"""
    )


def test_a_number_that_an_inner_loop_may_not_set():
    """The inner loop may have no iterations; then the value from before it is live."""
    maybe = loop(L.Let("t", at("x", I, J)), var="j", stop=L.Size("x", 1))
    body = loop(BEGIN, DOT, SLOW, maybe, L.Store("c", (I,), exp(T)))
    was, now = (_runnable(b) for b in ([body], apart(body)))
    for width in (0, 1, 3):
        np.testing.assert_array_equal(was(width), now(width))


def _runnable(body):
    space: dict = {}
    exec(print_module([routine([*body, L.Return((S,))], *"cxsn")], ""), space)

    def run(width):
        c, x = np.zeros(4), np.random.default_rng(0).normal(size=(4, width))
        space["f"](c, x, 0.0, 4)
        return c

    return run


@pytest.mark.parametrize(
    "body",
    [
        loop(BEGIN, DOT, TOTAL),
        loop(SLOW, TOTAL),
        loop(BEGIN, loop(L.Let("z", plus(Z, at("x", I, J))), var="j", stop=L.lit(3)), SLOW, TOTAL),
        loop(L.Let("z", plus(Z, T)), DOT, SLOW, TOTAL),
        loop(BEGIN, DOT, SLOW, L.If(L.compare(">", I, L.ONE), [TOTAL])),
        loop(BEGIN, DOT, SLOW, TOTAL, step=2),
        loop(BEGIN, DOT, L.Store("x", (L.add(I, L.ONE), L.ZERO), exp(Z))),
    ],
    ids=["nothing takes long", "no other loop", "a short one", "goes on", "a branch",
         "another step", "what the next round reads"],
)  # fmt: skip
def test_left_alone(body):
    assert routine_text(apart(body)) == routine_text([body])


# ---------------------------------------------------------------- programs


def logistic(w, x, y):
    total = 0.0
    for i in range(len(y)):
        z = x[i] @ w
        total += np.log1p(np.exp(-y[i] * z))
    return total


@pytest.mark.parametrize("rows", [0, 1, 6])
@pytest.mark.parametrize("columns", [0, 1, 5])
def test_results_stay(rows, columns):
    rng = np.random.default_rng(0)
    given = rng.normal(size=columns), rng.normal(size=(rows, columns)), rng.normal(size=rows)
    now = s2s.value_and_grad(logistic, wrt=("w", "x"), backend="loops")
    value, bars = now(*given)
    with switched_off("distribute_calls"):
        was = s2s.value_and_grad(again(logistic), wrt=("w", "x"), backend="loops")
        right, right_bars = was(*given)
    assert "_rows[" in now.lowered and "_rows[" not in was.lowered
    np.testing.assert_allclose(value, right, rtol=1e-14)
    for bar, right_bar in zip(bars, right_bars):
        np.testing.assert_allclose(bar, right_bar, rtol=1e-13)


def test_of_two_errors_that_of_the_earlier_iteration_comes_first():
    def f(x, y):
        n, m = x.shape
        s = np.sum(x * y)
        for i in range(n):
            d = 0.0
            for j in range(m):
                if x[i, j] > 100.0:
                    raise ValueError("x")
                d += x[i, j]
            e = np.exp(d)
            for j in range(m):
                if y[i, j] > 100.0:
                    raise ValueError("y")
                s += y[i, j] * e
        return s

    x, y = np.ones((8, 12)), np.ones((8, 12))
    x[5, 0] = y[2, 0] = 1000.0
    with pytest.raises(ValueError, match="y"):
        s2s.function(f, backend="loops")(x, y)
