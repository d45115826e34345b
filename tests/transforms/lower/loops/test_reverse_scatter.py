"""Loops that store backwards are reversed exactly where that is legal."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.reverse_scatter import reverse_scatter_loops
from tests.transforms.lower.loop_ir_text import loop, run_body

I, J, N, LAST = L.Name("i"), L.Name("j"), L.Name("n"), L.Name("last")  # noqa: E741
MADE = L.Let("last", L.sub(N, L.ONE))


def back(i=I, last=LAST):
    return L.Bin("+", L.Un("-", i, "int64"), last, "int64")


def load(buffer, *index):
    return L.Load(buffer, index, "float64")


def turned(*body, may_alias=lambda a, b: a == b):
    block = copy.deepcopy(list(body))
    reverse_scatter_loops(block, may_alias)
    return block


def run(block, n=5, m=3):
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(n, m)), rng.normal(size=(n, m))
    return run_body(block, x=x, t=t, n=n, m=m)["x"]


def test_a_backward_sum_runs_forwards():
    add = L.Store("x", (back(), L.ZERO), load("t", I, L.ZERO), add=True)
    block = turned(MADE, loop(add))
    assert block[1].body == [L.Store("x", (I, L.ZERO), load("t", back(), L.ZERO), add=True)]
    np.testing.assert_array_equal(run(block), run([MADE, loop(add)]))


def test_reads_that_go_backwards_go_forwards_then():
    put = L.Store("x", (back(), L.ZERO), load("t", back(), L.ZERO))
    (_, again) = turned(MADE, loop(put))
    assert again.body == [L.Store("x", (I, L.ZERO), load("t", I, L.ZERO))]


def test_one_loop_of_a_nest():
    put = L.Store("x", (back(), J), load("t", I, J), add=True)
    nest = loop(loop(put, var="j", stop=L.Name("m")))
    block = turned(MADE, nest)
    assert block[1].body[0].body[0].index == (I, J)
    np.testing.assert_array_equal(run(block), run([MADE, nest]))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([MADE, loop(L.Store("x", (back(), I), load("t", I, I)))], id="at two axes"),
        pytest.param([MADE, loop(L.Store("x", (back(), I), load("x", I, I)))], id="reads itself"),
        pytest.param(
            [L.Let("last", L.sub(N, L.lit(2))), loop(L.Store("x", (back(), J), load("t", I, J)))],
            id="not from the last element",
        ),
        pytest.param(
            [MADE, L.Let("last", L.ZERO), loop(L.Store("x", (back(), J), load("t", I, J)))],
            id="a number that changes",
        ),
        pytest.param(
            [
                MADE,
                L.Let("n", L.ONE),
                L.Let("n", L.ONE),
                loop(L.Store("x", (back(), J), load("t", I))),
            ],
            id="a range that changes",
        ),
    ],
)
def test_left_as_it_is(body):
    assert turned(*body) == body


def test_what_may_share_memory_stays():
    body = [MADE, loop(L.Store("x", (back(), J), load("t", I, J)))]
    assert turned(*body, may_alias=lambda a, b: True) == body
