"""Updates by a matrix product become an accumulating gemm exactly where that is equivalent."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.gemm_accumulate import fuse_gemm_accumulate
from tests.transforms.lower.loop_ir_text import run_body

I, J = L.Name("i"), L.Name("j")  # noqa: E741
N, M = L.Name("n"), L.Name("m")
RATE = L.Name("rate", "float64")
SIZES = {"w": (N, M)}


def at(buffer, *index):
    return L.Load(buffer, index or (I, J), "float64")


def times(a, b):
    return L.Bin("*", a, b, "float64")


def minus(a, b):
    return L.Bin("-", a, b, "float64")


def nest(buffer, e):
    return L.Loop(
        "i", L.ZERO, N, L.ONE, [L.Loop("j", L.ZERO, M, L.ONE, [L.Store(buffer, (I, J), e)])]
    )


def update(e, *between, early=()):
    """The statement w = e, where e may read the product g = x.T @ d."""
    one, zero = L.Lit(1, "float64"), L.Lit(0, "float64")
    flags = L.lit(True, "bool"), L.lit(False, "bool")
    return [
        L.Alloc("g", "float64", (N, M)),
        L.Call("rt.gemm", (*flags, one, L.Subview("x"), L.Subview("d"), zero, L.Subview("g"))),
        *early,
        L.Alloc("t", "float64", (N, M)),
        nest("t", e),
        *between,
        nest("w", at("t")),
    ]


def changed(body, sizes=SIZES, may_alias=lambda a, b: a == b):
    new = copy.deepcopy(body)
    fuse_gemm_accumulate(new, sizes, may_alias)
    return new


def run(body):
    rng = np.random.default_rng(0)
    w, x, d = (rng.normal(size=shape) for shape in ((3, 4), (5, 3), (5, 4)))
    return run_body(body, w=w, x=x, d=d, rate=0.25, n=3, m=4)["w"]


@pytest.mark.parametrize(
    "e",
    [
        minus(at("w"), times(RATE, at("g"))),
        minus(at("w"), at("g")),
        L.Bin("+", at("g"), at("w"), "float64"),
        L.Bin("+", at("w"), times(times(RATE, at("g")), RATE), "float64"),
        minus(at("w"), L.Un("-", times(at("g"), RATE), "float64")),
    ],
)
def test_the_same_update(e):
    body = update(e)
    new = changed(body)
    assert [type(s) for s in new] == [L.Call]
    np.testing.assert_allclose(run(new), run(body), rtol=1e-13)


STEP = minus(at("w"), times(RATE, at("g")))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(update(minus(at("g"), at("w"))), id="the product less the weight"),
        pytest.param(update(minus(at("w"), times(at("g"), at("g")))), id="no multiple"),
        pytest.param(update(minus(at("w"), times(at("d"), at("g")))), id="a factor per element"),
        pytest.param([*update(STEP), nest("u", at("g"))], id="the gradient is read again"),
        pytest.param(update(STEP, nest("w", at("d"))), id="the weight changes between"),
        pytest.param(update(STEP, early=[nest("d", at("w"))]), id="an operand changes between"),
        pytest.param(
            update(STEP, early=[L.Let("rate", L.Lit(0.5, "float64"))]),
            id="the rate changes between",
        ),
        pytest.param(update(minus(at("v"), times(RATE, at("g")))), id="another array"),
    ],
)
def test_other_updates_stay(body):
    assert changed(body) == body


def test_a_part_of_an_array_stays():
    body = update(STEP)
    assert changed(body, {"w": (N, L.add(M, L.ONE))}) == body
    assert changed(body, {}) == body


def test_an_operand_that_may_share_the_weights_memory_stays():
    body = update(STEP)
    assert changed(body, may_alias=lambda a, b: a == b or {a, b} == {"w", "x"}) == body
