"""Loop-invariant fills are hoisted if no other store overlaps them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.hoist_fills import hoist_fills
from tests.transforms.lower.loop_ir_text import drawn, loop, run_body

F = "float64"
I, J, K, N = (L.Name(name) for name in "ijkn")  # noqa: E741
STEPS = L.Name("steps")
ZERO = L.Lit(0.0, F)
MADE = L.Alloc("t", F, (L.add(N, L.lit(2)),))


def put(expr, index, buffer="t", add=False):
    return L.Store(buffer, (index,), expr, add)


def rounds(*body, **options):
    return loop(*body, var="k", stop=STEPS, **options)


FILL = loop(put(L.Load("x", (I,), F), L.add(I, L.ONE)))
LOW = loop(put(ZERO, I), stop=L.ONE)
HIGH = put(ZERO, L.add(N, L.ONE))
SUM = loop(
    L.Store("x", (I,), L.Load("t", (I,), F), True),
    L.Store("x", (I,), L.Load("t", (L.add(I, L.lit(2)),), F), True),
)


def once(*body):
    new = copy.deepcopy(list(body))
    hoist_fills(new)
    return new


def run(body, n, steps):
    return run_body(body, x=np.linspace(1.0, 2.0, n), n=n, steps=steps)["x"]


def guarded(*stmts):
    return L.If(L.compare("<", L.ZERO, STEPS), list(stmts))


def test_both_ends():
    new = once(MADE, rounds(FILL, LOW, HIGH, SUM))
    assert new == [MADE, guarded(LOW, HIGH), rounds(FILL, SUM)]


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_same_numbers(n, steps):
    body = [MADE, rounds(FILL, LOW, HIGH, SUM)]
    np.testing.assert_array_equal(run(once(*body), n, steps), run(body, n, steps))


def test_integers_of_the_iteration_are_spelt_out():
    size = L.sub(L.Size("x", 0), L.lit(2))
    m = L.Name("m")
    fill = loop(put(L.Load("x", (I,), F), I), stop=m)
    let = L.Let("m", size)
    new = once(MADE, rounds(let, fill, put(ZERO, m)))
    assert new == [MADE, guarded(put(ZERO, size)), rounds(let, fill)]


def test_out_of_several_loops():
    inner = loop(FILL, HIGH, SUM, var="j", stop=L.Size("x", 0))
    runs = L.If(L.compare("<", L.ZERO, L.Size("x", 0)), [HIGH])
    assert once(MADE, rounds(inner)) == [
        MADE,
        guarded(runs),
        rounds(loop(FILL, SUM, var="j", stop=L.Size("x", 0))),
    ]


ONE = L.Lit(1.0, F)


@pytest.mark.parametrize(
    "body",
    [
        [MADE, FILL, LOW, HIGH],
        [rounds(MADE, FILL, LOW, HIGH, SUM)],
        [rounds(FILL, LOW, HIGH, SUM)],
        [MADE, rounds(FILL, put(ZERO, N), SUM)],
        [MADE, rounds(FILL, put(ZERO, L.add(K, L.add(N, L.ONE))), put(ONE, L.ZERO), SUM)],
        [MADE, rounds(loop(put(ONE, I, add=True), stop=L.ONE), LOW, SUM)],
        [MADE, loop(put(ONE, I), stop=L.ONE), rounds(FILL, SUM, LOW)],
        [MADE, rounds(FILL, LOW, put(ONE, L.add(N, L.ONE)), SUM)],
        [MADE, rounds(FILL, L.If(L.compare(">", K, N), [LOW]), SUM)],
        [MADE, rounds(FILL, L.If(L.compare(">", K, N), [L.Break()]), LOW, SUM)],
        [MADE, rounds(FILL, L.If(L.compare(">", K, N), [L.Fail("ValueError", "")]), LOW)],
        [MADE, rounds(FILL, LOW, SUM, parallel=True)],
        [MADE, rounds(FILL, LOW, drawn("t"))],
        [MADE, rounds(FILL, loop(put(ZERO, I), stop=K), SUM)],
        [MADE, rounds(L.Let("m", L.Load("y", (K,), "int64")), put(ZERO, L.Name("m")), SUM)],
    ],
    ids=[
        "no rounds",
        "made in each round",
        "of the caller's",
        "at a place that is filled",
        "at another place in each round",
        "added to",
        "read before it is written",
        "different numbers",
        "in some rounds",
        "may end before",
        "may fail before",
        "rounds at once",
        "seen as a whole",
        "as many as the round says",
        "where data says",
    ],
)
def test_others_stay(body):
    assert once(*body) == body
