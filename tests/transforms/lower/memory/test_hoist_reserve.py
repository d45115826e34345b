"""Capacity for a loop that appends in each iteration is reserved before it."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s import kernels
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.memory.hoist_reserve import hoist_reserve
from tests.transforms.lower.loop_ir_text import routine

F = "float64"
I, N, USED = (L.Name(name) for name in ("i", "n", "used"))  # noqa: E741
ROOM = L.CallBuffers(("s",), "rt.reserve", (L.Subview("s"), USED, L.ONE))
PUT = L.Store("s", (USED,), L.Cast(I, F))
COUNT = L.Let("used", L.add(USED, L.ONE))
APPENDED = [ROOM, PUT, COUNT]


def loop(*body, var="i", start=L.ZERO, stop=N, step=L.ONE, **options):
    return L.Loop(var, start, stop, step, list(body), **options)


def made(*body):
    new = copy.deepcopy(list(body))
    hoist_reserve(new)
    return new


def run(body, n):
    """The final stack, and the number of reservations."""
    asked = []

    class Counted:
        def __getattr__(self, name):
            asked.append(name)
            return getattr(kernels, name)

    grown = routine([*body, L.Return((L.Subview("s"), USED))], "s", "used", "n")
    space = {"np": np, "rt": Counted()}
    exec(print_module([grown], "").split("kernels as rt")[-1], space)
    s, used = space["f"](np.empty(0), 0, n)
    return s[:used], asked.count("reserve")


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize(
    "around",
    [
        loop(*APPENDED),
        loop(*APPENDED, start=L.sub(N, L.ONE), stop=L.lit(-1), step=L.lit(-1)),
        loop(*APPENDED, start=L.lit(3), step=L.lit(2)),
    ],
    ids=["upwards", "downwards", "by two"],
)
def test_room_is_made_once(around, n):
    new = made(around)
    assert isinstance(new[0], L.CallBuffers) and ROOM not in new[1].body
    (was, _), (now, asked) = run([around], n), run(new, n)
    np.testing.assert_array_equal(was, now)
    assert asked == 1


def test_inner_loops_of_changing_length():
    nest = loop(loop(*APPENDED, var="j", stop=I))
    new = made(nest)
    assert [type(s) for s in new[0].body] == [L.CallBuffers, L.Loop]
    (was, many), (now, few) = run([nest], 6), run(new, 6)
    np.testing.assert_array_equal(was, now)
    assert (many, few) == (15, 6)


@pytest.mark.parametrize(
    "around",
    [
        loop(L.If(L.compare(">", I, L.lit(2)), APPENDED)),
        loop(*APPENDED, L.If(L.compare(">", I, L.lit(2)), [L.Break()])),
        loop(*APPENDED, exits_early=True),
        loop(*APPENDED, L.Let("used", L.sub(USED, L.ONE))),
        loop(*APPENDED, *APPENDED),
        loop(*APPENDED, L.Let("n", L.add(N, L.ONE))),
        loop(*APPENDED, L.Rebind("s", "other")),
        loop(*APPENDED, parallel=True),
        L.While([*APPENDED]),
    ],
    ids=["some rounds", "ends early", "ends soon", "takes off", "twice", "its own bound",
         "another stack", "threads", "no end"],
)  # fmt: skip
def test_left_alone(around):
    assert made(around) == [around]


def pairs(table, w):
    """An interval dynamic program: the trip count of the innermost loop depends on both outer
    loops."""
    table = table.copy()
    n = table.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j] * w, table[i, k] + table[k + 1, j])
    return table[0, n - 1]


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_gradient_through_stacks(n):
    table = np.random.default_rng(n).normal(size=(n, n))
    gradient = s2s.grad(pairs, wrt=("table", "w"))
    of_table, of_w = gradient(table, 0.9)
    step = 1e-6
    slope = (pairs(table, 0.9 + step) - pairs(table, 0.9 - step)) / (2 * step)
    np.testing.assert_allclose(of_w, slope, rtol=1e-7, atol=1e-9)
    for at in np.ndindex(n, n):
        h = np.zeros((n, n))
        h[at] = step
        slope = (pairs(table + h, 0.9) - pairs(table - h, 0.9)) / (2 * step)
        np.testing.assert_allclose(of_table[at], slope, rtol=1e-7, atol=1e-9)
    assert "reserve" in gradient.lowered
