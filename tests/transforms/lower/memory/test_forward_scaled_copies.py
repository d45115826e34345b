"""Scaled copies are forwarded exactly where the copy and its source are accumulated to one
array."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.forward_scaled_copies import forward_scaled_copies
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import drawn, loop
from tests.transforms.lower.memory.test_layout import again

F = "float64"
I, N = L.Name("i"), L.Name("n")  # noqa: E741


def at(buffer, *index, dtype=F):
    return L.Load(buffer, index or (I,), dtype)


def lit(value):
    return L.Lit(value, F)


def alloc(name, size=N):
    return L.Alloc(name, F, (size,))


def adds(expr, shift=0, into="x"):
    return loop(L.Store(into, (L.add(I, L.lit(shift)),), expr, add=True))


MINUS = L.Un("-", at("t"), F)
FILL = [alloc("t"), loop(L.Store("t", (I,), at("y")))]
MADE = [alloc("u"), loop(L.Store("u", (I,), MINUS))]


def spelt(*body):
    new = copy.deepcopy(list(body))
    forward_scaled_copies(new)
    return new


def test_what_is_added_is_spelt_out():
    assert spelt(*FILL, *MADE, adds(at("u")), adds(at("t"), 1)) == [
        *FILL,
        adds(MINUS),
        adds(at("t"), 1),
    ]


def test_multiples_of_multiples():
    twice = L.Bin("*", at("u"), lit(2.0), F)
    made = [alloc("v"), loop(L.Store("v", (I,), twice))]
    new = spelt(*FILL, *MADE, *made, adds(at("v")), adds(at("u"), 1), adds(at("t"), 2))
    assert new == [*FILL, adds(L.Bin("*", MINUS, lit(2.0), F)), adds(MINUS, 1), adds(at("t"), 2)]


def test_at_other_places():
    """The index of the load replaces the loop variables of the copy's nest."""
    new = spelt(*FILL, *MADE, adds(at("u", L.add(N, L.lit(-1)))), adds(at("t"), 1))
    assert new[2] == adds(L.Un("-", at("t", L.add(N, L.lit(-1))), F))


@pytest.mark.parametrize(
    "body",
    [
        [*FILL, *MADE, adds(at("u"))],
        [*FILL, *MADE, adds(at("u")), adds(at("t"), into="z")],
        [*MADE, adds(at("u")), adds(at("t"), 1)],
        [*FILL, *MADE, loop(L.Store("t", (I,), lit(0.0))), adds(at("u")), adds(at("t"), 1)],
        [
            *FILL,
            *MADE,
            adds(at("u")),
            adds(at("t"), 1),
            loop(L.Store("t", (I,), lit(0.0), add=True)),
        ],
        [*FILL, *MADE, loop(L.Store("u", (I,), lit(0.0))), adds(at("u")), adds(at("t"), 1)],
        [*FILL, MADE[0], adds(at("u")), MADE[1], adds(at("u")), adds(at("t"), 1)],
        [
            *FILL,
            *MADE,
            adds(at("u")),
            adds(at("t"), 1),
            drawn("u"),
        ],
        [
            *FILL,
            *MADE,
            drawn("t"),
            adds(at("u")),
            adds(at("t"), 1),
        ],
        [*FILL, L.Loop("k", L.ZERO, N, L.ONE, [*MADE, adds(at("u")), adds(at("t"), 1)])],
        [*FILL, alloc("u", L.add(N, L.ONE)), MADE[1], adds(at("u")), adds(at("t"), 1)],
    ],
    ids=[
        "added alone",
        "added to another",
        "of the caller's",
        "of one that changes",
        "of one that grows later",
        "changed",
        "read before",
        "seen as a whole",
        "whose source is seen as a whole",
        "in a loop of its own",
        "filled in part",
    ],
)
def test_others_stay(body):
    assert spelt(*body) == body


@pytest.mark.parametrize("expr", [L.Bin("*", at("t"), L.Name("c", F), F), at("t", L.sub(N, I))])
def test_what_is_no_multiple_stays(expr):
    body = [*FILL, alloc("u"), loop(L.Store("u", (I,), expr)), adds(at("u")), adds(at("t"), 1)]
    assert spelt(*body) == body


def waves(x, y, steps):
    x, y, z = x.copy(), y.copy(), x + y
    for _ in range(steps):
        z[:-1] -= 0.7 * (x[1:] - x[:-1] + y[1:] - y[:-1])
        x[1:] -= 0.5 * (z[1:] - z[:-1])
        y[1:] -= 0.25 * (z[1:] - z[:-1])
    return np.sum(z**3)


@pytest.mark.parametrize("n", [2, 3, 4, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_gradient(n, dtype):
    x = np.linspace(0.5, 1.5, n).astype(dtype)
    now = s2s.grad(waves, wrt=("x", "y"), backend="loops")
    found = now(x, x + 1, 3)
    with switched_off("forward_scaled_copies"):
        was = s2s.grad(again(waves), wrt=("x", "y"), backend="loops")
        right = was(x, x + 1, 3)
    assert now.lowered.count("np.empty") < was.lowered.count("np.empty")
    np.testing.assert_allclose(
        np.stack(found), np.stack(right), rtol=1e-5 if dtype == "float32" else 1e-12
    )
