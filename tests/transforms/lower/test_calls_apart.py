"""Calls beside a loop get a loop of their own, exactly where nothing can tell the difference."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s.transforms.lower import loop_ir as L
from s2s.transforms.lower.calls_apart import split_calls
from s2s.transforms.lower.write import write

I, J, N = L.Name("i"), L.Name("j"), L.Name("n")  # noqa: E741
ACC, TOTAL = L.Name("acc", "float64"), L.Name("total", "float64")
ZERO = L.lit(0.0, "float64")


def load(buffer: str, *index: L.Expr) -> L.Load:
    return L.Load(buffer, index, "float64")


def plus(a: L.Expr, b: L.Expr) -> L.Expr:
    return L.Bin("+", a, b, "float64")


def exp(e: L.Expr) -> L.Expr:
    return L.Call("np.exp", (e,), "float64")


def loop(*body: L.Stmt, var: str = "i", stop: L.Expr = N) -> L.Loop:
    return L.Loop(var, L.ZERO, stop, L.ONE, list(body))


def backwards(*body: L.Stmt) -> L.Loop:
    return L.Loop("i", L.sub(N, L.ONE), L.lit(-1), L.lit(-1), list(body))


ROW = [
    L.Let("acc", ZERO),
    loop(L.Let("acc", plus(ACC, load("x", I, J))), var="j", stop=L.Size("x", 1)),
]
SUM = L.Let("total", plus(TOTAL, exp(ACC)))
SPREAD = loop(L.Put("x", (I, J), L.Name("e", "float64"), add=True), var="j", stop=L.Size("x", 1))


def split(*body: L.Stmt, shares=lambda a, b: a == b) -> list[L.Stmt]:
    block = copy.deepcopy(list(body))
    made: list[str] = []

    def fresh(name: str) -> str:
        made.append(name)
        return f"{name}_{len(made)}"

    split_calls(block, shares, fresh)
    return block


def run(block, n=4):
    space: dict = {}
    body = [L.Let("total", ZERO), *block, L.Return((L.Whole("x"), L.Whole("y"), TOTAL))]
    exec(write([L.Routine("f", ["x", "y", "n"], body)], ""), space)
    rng = np.random.default_rng(0)
    return space["f"](rng.normal(size=(n, 3)), rng.normal(size=n), n)


def same(*body: L.Stmt) -> list[L.Stmt]:
    """The block that is made of `body`, after a look at what it does."""
    block = split(*body)
    for n in (0, 1, 4):
        for got, want in zip(run(block, n), run(list(body), n)):
            np.testing.assert_array_equal(got, want)
    return block


@pytest.mark.parametrize("make", [loop, backwards])
def test_what_comes_after_the_sums(make):
    alloc, first, second = same(make(*ROW, SUM))
    assert alloc == L.Alloc("acc_rows_1", "float64", (L.at_least_none(N),))
    assert first == make(*ROW, L.Put("acc_rows_1", (I,), ACC))
    assert second == make(L.Let("total", plus(TOTAL, exp(load("acc_rows_1", I)))))


@pytest.mark.parametrize("make", [loop, backwards])
def test_what_comes_before_a_loop(make):
    _, first, second = same(make(L.Let("e", exp(load("y", I))), SPREAD))
    assert [isinstance(s, L.Loop) for s in L.walk([first, second])].count(True) == 3
    assert not any(isinstance(s, L.Loop) for s in L.blocks_of(first)[0])


def test_what_a_round_has_written_for_itself_is_read_where_it_is():
    put, use = L.Put("y", (I,), ACC), L.Let("total", plus(TOTAL, exp(load("y", I))))
    first, second = same(loop(*ROW, put, use))[-2:]
    assert isinstance(first, L.Loop) and isinstance(second, L.Loop)
    rows = loop(*ROW[:1], loop(L.Put("y", (I,), ACC), var="j", stop=L.Size("x", 1)), use)
    assert len(same(rows)) == 2


def test_a_running_sum_is_kept_as_it_was():
    running = L.Let("total", plus(TOTAL, load("x", I, J)))
    rows = loop(loop(running, var="j", stop=L.Size("x", 1)), L.Put("y", (I,), exp(TOTAL)))
    assert len(same(rows)) == 3


@pytest.mark.parametrize(
    "stmts",
    [
        # what the next round's sums read
        [*ROW, L.Put("x", (L.ZERO, L.ZERO), exp(ACC))],
        [L.Let("acc", TOTAL), ROW[1], SUM],
        # elements of other rounds
        [loop(L.Put("y", (J,), ACC), var="j"), L.Let("total", exp(load("y", I)))],
        # what may fail, or runs in one case only
        [*ROW, L.Branch(L.TRUE, [L.Fail("ValueError", "no")]), SUM],
        [*ROW, L.Branch(L.TRUE, [SUM])],
        # nothing that is computed several at a time
        [*ROW, L.Let("total", plus(TOTAL, ACC))],
        # the last index of the loop inside
        [*ROW, L.Put("y", (I,), exp(L.Cast(J, "float64")))],
        # a loop that is unrolled
        [ROW[0], loop(L.Let("acc", plus(ACC, load("x", I, J))), var="j", stop=L.lit(3)), SUM],
    ],
)  # fmt: skip
def test_others_stay(stmts):
    assert split(loop(*stmts)) == [loop(*stmts)]


def test_memory_that_may_be_shared():
    rows = loop(*ROW, L.Put("y", (I,), exp(ACC)))
    assert len(split(rows)) == 3
    assert split(rows, shares=lambda a, b: True) == [rows]


def test_a_bound_that_a_round_changes():
    rows = loop(*ROW, SUM, L.Let("n", L.sub(N, L.ONE)))
    assert split(rows) == [rows]
