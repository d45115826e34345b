"""The first accumulation onto zeros becomes a store exactly where that is equivalent."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.store_first_accumulate import store_first_accumulate
from tests.transforms.lower.loop_ir_text import run_body

I, J, N = L.Name("i"), L.Name("j"), L.Name("n")  # noqa: E741
ZERO = L.Lit(0.0, "float64")


def load(buffer, i):
    return L.Load(buffer, (i,), "float64")


def fill(stop=N):
    return L.Loop("i", L.ZERO, stop, L.ONE, [L.Store("t", (I,), ZERO)])


def adds(start, stop, step, shift, *more):
    put = L.Store("t", (L.add(J, L.lit(shift)),), load("y", J), add=True)
    return L.Loop("j", start, stop, L.lit(step), [put, *more])


def program(*loops, made=N):
    after = L.Loop("i", L.ZERO, N, L.ONE, [L.Store("x", (I,), load("t", I))])
    return [L.Alloc("t", "float64", (made,)), *loops, after]


def touched(body):
    block = copy.deepcopy(body)
    store_first_accumulate(block)
    return block


def run(body, n):
    return run_body(body, x=np.full(n, np.nan), y=np.arange(n + 3.0) + 1.0, n=n)["x"]


@pytest.mark.parametrize(
    ("start", "stop", "step", "shift"),
    [
        (L.ZERO, N, 1, 0),
        (L.ONE, N, 1, 0),
        (L.ONE, N, 1, -1),
        (L.ZERO, L.sub(N, L.ONE), 1, 1),
        (L.sub(N, L.ONE), L.ZERO, -1, -1),
        (L.sub(N, L.ONE), L.lit(-1), -1, 0),
        (L.lit(2), L.sub(N, L.lit(3)), 1, 1),
    ],
)
def test_each_element_has_its_value(start, stop, step, shift):
    body = program(fill(), adds(start, stop, step, shift))
    again = touched(body)
    loop = next(s for s in again if isinstance(s, L.Loop) and s.var == "j")
    assert not loop.body[0].add
    for n in range(8):
        np.testing.assert_array_equal(run(again, n), run(body, n), err_msg=f"n={n}")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(program(fill(), adds(L.ZERO, N, 2, 0)), id="in steps of two"),
        pytest.param(
            program(fill(), adds(L.ZERO, N, 1, 0, L.Store("t", (L.ZERO,), ZERO))),
            id="touched twice",
        ),
        pytest.param(
            program(fill(), adds(L.ZERO, N, 1, 0, L.Store("x", (J,), load("t", J)))), id="read"
        ),
        pytest.param(
            program(fill(), adds(L.ZERO, N, 1, 0, L.If(L.TRUE, [L.Break()]))), id="left early"
        ),
        pytest.param(program(fill(L.ONE), adds(L.ZERO, N, 1, 0)), id="zeros for a part of it only"),
        pytest.param(
            program(fill(), L.Store("t", (L.ZERO,), L.Lit(1.0, "float64")), adds(L.ZERO, N, 1, 0)),
            id="no longer zero",
        ),
        pytest.param(
            program(
                fill(),
                L.Loop("j", L.ZERO, N, L.ONE, [L.If(L.TRUE, adds(L.ZERO, N, 1, 0).body)]),
            ),
            id="not in every round",
        ),
        pytest.param(
            program(fill(), L.Loop("k", L.ZERO, L.lit(2), L.ONE, [adds(L.ZERO, N, 1, 0)])),
            id="several times",
        ),
        pytest.param(
            [L.Let("m", N), *program(fill(), adds(L.ZERO, L.Name("m"), 1, 0, L.Let("m", L.ZERO)))],
            id="bounds that change",
        ),
    ],
)
def test_left_as_it_is(body):
    assert touched(body) == body


def test_a_size_that_changes_before_something_is_added():
    less = L.Let("n", L.sub(N, L.ONE))
    body = program(fill(), less, adds(L.ZERO, L.sub(N, L.ONE), 1, 0))
    assert touched(body) == body
