"""Sums are split where the next loop reads their interior only."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.split_interior import split_interior
from tests.transforms.lower.loop_ir_text import drawn, run_body

F = "float64"
I, J, N, M = (L.Name(name) for name in "ijnm")  # noqa: E741


def wider(n, by):
    return L.select(L.compare(">", n, L.ZERO), L.add(n, L.lit(by)), L.ZERO)


def plus(*shifts):
    return tuple(L.add(var, L.lit(shift)) for var, shift in zip((I, J), shifts))


def nest(put, *stops):
    inner = put
    for var, stop in reversed(list(zip("ij", stops))):
        inner = L.Loop(var, L.ZERO, stop, L.ONE, [inner])
    return inner


def adds(*spans, expr=None):
    at = plus(*(0 for _ in spans))
    term = expr or L.Bin("+", L.Load("t", at, F), L.Load("t", plus(*spans), F), F)
    return nest(L.Store("x", at, term, add=True), *(wider(n, s) for n, s in zip((N, M), spans)))


def reads(*shifts, stops=(N, M)):
    at = plus(*(0 for _ in shifts))
    return nest(L.Store("y", at, L.Load("x", plus(*shifts), F)), *stops[: len(shifts)])


def zeros(*shifts):
    return nest(L.Store("x", plus(*shifts), L.Lit(0.0, F)), *(N, M)[: len(shifts)])


def parted(*body, may_alias=lambda a, b: a == b):
    new = copy.deepcopy(list(body))
    split_interior(new, may_alias)
    return new


def run(body, *sizes):
    shape = tuple(n + 3 if n else 0 for n in sizes)
    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.random(shape),
        "y": rng.random(shape),
        "t": rng.random(tuple(n + 6 for n in sizes)),
    }
    found = run_body(body, **arrays, **dict(zip("nm", (*sizes, 0))))
    return {name: found[name] for name in arrays}


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("span, shift", [(2, 1), (2, 0), (2, 2), (3, 1)])
@pytest.mark.parametrize("first", [True, False])
def test_one_axis(n, span, shift, first):
    body = [adds(span), reads(shift)] if first else [zeros(shift), adds(span)]
    new = parted(*body)
    assert len(new) == len(body) + (span > shift) + (shift > 0)
    was, now = run(body, n), run(new, n)
    for name, values in was.items():
        np.testing.assert_array_equal(now[name], values)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("m", [0, 1, 4])
@pytest.mark.parametrize("shifts", [(1, 1), (0, 2), (2, 0)])
def test_two_axes(n, m, shifts):
    body = [adds(2, 2), reads(*shifts), zeros(*shifts)]
    new = parted(*body)
    assert len(new) > len(body)
    was, now = run(body, n, m), run(new, n, m)
    for name, values in was.items():
        np.testing.assert_array_equal(now[name], values)


def test_the_inside_stands_next_to_what_it_joins():
    inside = nest(
        L.Store(
            "x", plus(1), L.Bin("+", L.Load("t", plus(1), F), L.Load("t", plus(3), F), F), True
        ),
        N,
    )
    assert parted(adds(2), reads(1))[-2] == inside
    assert parted(zeros(1), adds(2))[1] == inside


@pytest.mark.parametrize(
    "body",
    [
        [adds(2)],
        [adds(2), reads(1, stops=(M,))],
        [adds(2), reads(3)],
        [adds(2), nest(L.Store("y", plus(0), L.Load("x", plus(0), F)), wider(N, 2))],
        [adds(2), drawn("x"), reads(1)],
        [adds(2, expr=L.Load("x", plus(1), F)), reads(1)],
        [nest(L.Store("x", plus(0), L.Load("t", plus(0), F), True), L.add(N, L.lit(2))), reads(1)],
        [nest(L.Store("x", plus(0), L.Load("t", plus(0), F)), wider(N, 2)), reads(1)],
        [L.Store("x", (L.ZERO,), L.Lit(0.0, F)), adds(2)],
    ],
    ids=[
        "alone",
        "another range",
        "beyond its end",
        "all of it",
        "something between",
        "a sum that reads itself",
        "rounds without the inside's",
        "no sum",
        "one zero",
    ],
)
def test_others_stay(body):
    assert parted(*body) == body


def test_shared_memory_stays():
    body = [adds(2), reads(1)]
    assert parted(*body, may_alias=lambda a, b: a == b or {a, b} == {"t", "x"}) == body
