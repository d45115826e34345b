"""Stores are removed exactly where no load reads the stored value."""

from __future__ import annotations

import copy

import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.dead_stores import eliminate_dead_stores

I, N = L.Name("i"), L.Name("n")  # noqa: E741
ZERO = L.Lit(0.0, "float64")
MADE = L.Alloc("t", "float64", (N,))
FILL = L.Loop("j", L.ZERO, N, L.ONE, [L.Store("t", (L.Name("j"),), ZERO)])
TAKES = L.Let("v", L.Load("t", (I,), "float64"))
LEAVES = L.Store("t", (I,), ZERO)


def back(*body, stop=L.ZERO):
    return L.Loop("i", L.sub(N, L.ONE), stop, L.lit(-1), list(body))


def reads(index):
    return L.Let("u", L.Load("t", (index,), "float64"))


def stores(body):
    block = copy.deepcopy(list(body))
    eliminate_dead_stores(block)
    return sum(s == LEAVES for s in L.walk(block))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([MADE, FILL, back(TAKES, LEAVES)], id="never read again"),
        pytest.param([MADE, FILL, back(TAKES, LEAVES), reads(L.ZERO)], id="another is read"),
        pytest.param(
            [MADE, FILL, L.Loop("i", L.ONE, N, L.ONE, [TAKES, LEAVES]), reads(L.ZERO)],
            id="upwards",
        ),
        pytest.param(
            [MADE, FILL, back(TAKES, LEAVES), L.Store("t", (L.ONE,), ZERO)], id="overwritten"
        ),
        pytest.param([L.While([MADE, FILL, back(TAKES, LEAVES)])], id="made in each round"),
    ],
)
def test_dropped(body):
    assert stores(body) == 0


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([MADE, back(TAKES, LEAVES), reads(L.ONE)], id="read after the loop"),
        pytest.param([MADE, back(TAKES, LEAVES, stop=L.lit(-1)), reads(L.ZERO)], id="the first"),
        pytest.param([MADE, back(TAKES, LEAVES), reads(N)], id="read somewhere"),
        pytest.param([MADE, back(LEAVES, TAKES)], id="read in the round"),
        pytest.param([MADE, back(TAKES, LEAVES, reads(L.sub(I, L.ONE)))], id="in the next round"),
        pytest.param([MADE, back(reads(L.add(I, L.ONE)), LEAVES)], id="from the last round"),
        pytest.param(
            [MADE, back(TAKES, LEAVES), L.Store("t", (L.ONE,), ZERO, add=True)], id="added to"
        ),
        pytest.param([MADE, back(TAKES, LEAVES), L.Return((L.Part("t"),))], id="returned"),
        pytest.param([back(TAKES, LEAVES)], id="somebody else's"),
        pytest.param([MADE, L.While([back(TAKES, LEAVES)])], id="made before a loop around"),
        pytest.param([L.While([reads(L.ONE), MADE, back(TAKES, LEAVES)])], id="read before"),
        pytest.param([MADE, back(TAKES, LEAVES), L.Rebind("u", "t")], id="another name"),
    ],
)
def test_kept(body):
    assert stores(body) == 1
