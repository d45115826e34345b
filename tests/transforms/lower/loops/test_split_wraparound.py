"""Loops whose indices wrap around an axis are split at the wraparound, for all sizes."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.loops.split_wraparound import split_wraparound
from tests.transforms.lower.loop_ir_text import routine, run_body

J, N, M = L.Name("j"), L.Name("n"), L.Name("m")


def wrapped(shift: int, size: L.Expr = N) -> L.Expr:
    return L.Apply("rt.remainder", (L.add(J, L.lit(shift)), size), "int64")


def load(*index):
    return L.Load("x", index, "float64")


def loop(*body: L.Stmt, start: L.Expr = L.ZERO, stop: L.Expr = N, step: L.Expr = L.ONE) -> L.Loop:
    return L.Loop("j", start, stop, step, list(body))


def backwards(*body):
    return loop(*body, start=L.sub(N, L.ONE), stop=L.lit(-1), step=L.lit(-1))


def cut(*body):
    block = copy.deepcopy(list(body))
    split_wraparound(block)
    return block


def run(block, n, m=2):
    return run_body(block, x=np.arange(10.0), y=np.zeros(10), n=n, m=m)["y"]


def same(*body: L.Stmt, sizes: Iterable[int] = range(7)) -> list[L.Stmt]:
    block = cut(*body)
    for n in sizes:
        np.testing.assert_array_equal(run(block, n), run(list(body), n))
    return block


@pytest.mark.parametrize("make", [loop, backwards])
@pytest.mark.parametrize("shifts", [(1,), (-1,), (1, -1), (2, -3), (0,), (5, 1)])
def test_every_iteration_runs_once_and_in_order(make, shifts):
    total = load(wrapped(shifts[0]))
    for shift in shifts[1:]:
        total = L.Bin("+", total, load(wrapped(shift)), "float64")
    # The loaded values reveal the order of the iterations.
    body = L.Store(
        "y", (wrapped(shifts[0]),), L.Bin("+", total, L.Load("y", (J,), "float64"), "float64")
    )
    block = same(make(body))
    (middle,) = [s for s in block if "remainder" not in print_module([routine([s])], "")]
    assert all(isinstance(s, L.Loop) for s in block) and isinstance(middle, L.Loop)


def test_only_ends_that_wrap_have_iterations_of_their_own():
    put = L.Store("y", (J,), load(wrapped(-1)))
    first, rest = same(loop(put))
    assert rest == loop(L.Store("y", (J,), load(L.sub(J, L.ONE))), start=L.ONE)
    assert "remainder" in str(first)


def test_a_part_of_the_axis():
    same(loop(L.Store("y", (J,), load(wrapped(2, L.lit(5)))), start=L.ONE, stop=M), sizes=[3])
    same(loop(L.Store("y", (J,), load(wrapped(2, M))), start=L.ONE))


@pytest.mark.parametrize(
    "stmt",
    [
        L.Store("y", (J,), load(L.Apply("rt.remainder", (L.mul(J, L.lit(2)), N), "int64"))),
        L.Store("y", (J,), load(wrapped(1000))),
        loop(L.Store("y", (J,), load(L.Apply("rt.remainder", (L.Name("i"), N), "int64")))),
    ],
)
def test_others_stay(stmt):
    assert cut(loop(stmt)) == [loop(stmt)]


def test_bounds_that_a_iteration_changes():
    again = loop(L.Store("y", (J,), load(wrapped(1, M))), L.Let("n", L.sub(N, L.ONE)))
    assert cut(again) == [again]
    size = loop(L.Store("y", (J,), load(wrapped(1, M))), L.Let("m", L.add(M, L.ONE)))
    assert cut(size) == [size]


def test_a_loop_that_is_left_early_stays():
    early = loop(L.Store("y", (J,), load(wrapped(1))), L.If(L.TRUE, [L.Break()]))
    assert cut(early) == [early]
