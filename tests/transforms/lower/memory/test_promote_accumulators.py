"""Loop-invariant elements that iterations accumulate to are promoted to scalars."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.analysis.in_bounds import AccumulationFacts
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.promote_accumulators import promote_accumulators
from tests.transforms.lower.loop_ir_text import at, loop, routine_text

F = "float64"
I, K, N = L.Name("i"), L.Name("k"), L.Name("n")  # noqa: E741


ADDED = L.Store("c", (K,), at("x", I), add=True)


def summed(*body, escaping=(), may_alias=lambda a, b: a == b):
    new_name = Emitter({"c", "x", "k", "n", "i"}).new_name
    new = copy.deepcopy(list(body))
    places = AccumulationFacts(new, ["c", "x", "k", "n"], {"c": (N,), "x": (N,)})
    return promote_accumulators(new, {"c": F, "x": F}, {*escaping}, may_alias, new_name, places)


def test_a_variable_for_each_element():
    two = L.Store("c", (L.ZERO,), at("x", I), add=True)
    assert (
        routine_text(summed(loop(ADDED, two)))
        == """\
    acc = np.float64(0.0)
    acc_1 = np.float64(0.0)
    for i in range(n):
        acc = acc + x[i]
        acc_1 = acc_1 + x[i]
    if n > 0:
        c[k] += acc
        c[0] += acc_1"""
    )
    assert "if" not in routine_text(summed(loop(ADDED, stop=L.lit(3))))


def test_other_elements_may_be_added_to():
    moving = L.Store("c", (I,), at("x", I), add=True)
    assert routine_text(summed(loop(ADDED, moving))).count("acc") == 4


@pytest.mark.parametrize(
    "body",
    [
        loop(L.Store("c", (I,), at("x", I), add=True)),
        loop(L.Store("c", (K,), at("x", I))),
        loop(ADDED, L.Store("y", (I,), at("c", L.ZERO))),
        loop(ADDED, L.Store("c", (I,), at("x", I))),
        loop(L.If(L.compare("<", I, K), [ADDED])),
        loop(L.Let("k", L.add(I, L.ONE)), ADDED),
        loop(L.Store("c", (L.Load("x", (K,), "int64"),), at("x", I), add=True)),
        loop(ADDED, L.If(L.compare("<", I, K), [L.Break()])),
        loop(L.Store("c", (K,), L.Load("x", (I,), "float32"), add=True)),
        loop(ADDED, L.Let("n", L.sub(N, L.ONE))),
    ],
    ids=["another element each time", "written", "read", "written elsewhere", "in some rounds",
         "an index that changes", "an index that is read", "ends early", "of another type",
         "a bound that changes"],
)  # fmt: skip
def test_left_alone(body):
    assert routine_text(summed(body)) == routine_text([body])


INT = "int64"
J = L.Name("j")
HAS = L.compare("!=", L.Bin("&", J, L.Bin("<<", L.ONE, I, INT), INT), L.ZERO)
SMALLER = L.Bin("^", J, L.Bin("<<", L.ONE, I, INT), INT)


def table(*chosen, start: L.Expr = L.ZERO, stop: L.Expr = N):
    """For each j, accumulations in the iterations i whose bit is set in j."""
    return L.Loop("j", start, stop, L.ONE, [loop(L.If(HAS, list(chosen)))])


def test_in_some_iterations_if_the_element_is_there():
    added = L.Store("c", (J,), at("c", SMALLER), add=True)
    assert (
        routine_text(summed(table(added)))
        == """\
    for j in range(n):
        acc = np.float64(0.0)
        for i in range(n):
            if j & np.int64(1) << i != 0:
                acc = acc + c[j ^ np.int64(1) << i]
        if n > 0:
            c[j] += acc"""
    )


@pytest.mark.parametrize(
    "body",
    [
        table(L.Store("c", (J,), at("c", SMALLER), add=True), stop=K),
        table(L.Store("c", (J,), at("c", SMALLER), add=True), start=K),
        table(L.Store("c", (J,), at("c", L.add(J, I)), add=True)),
        table(L.Store("c", (J,), at("c", SMALLER), add=True), L.Store("x", (I,), at("c", I))),
        table(L.Store("c", (J,), at("c", SMALLER), add=True), L.Store("c", (I,), at("x", I))),
    ],
    ids=["beyond", "maybe negative", "maybe the same", "also read", "also written"],
)
def test_in_some_iterations_left_alone(body):
    assert routine_text(summed(body)) == routine_text([body])


def test_memory_and_errors():
    assert routine_text(summed(loop(ADDED), may_alias=lambda a, b: True)) == routine_text(
        [loop(ADDED)]
    )
    may_fail = loop(L.If(L.compare(">", I, K), [L.Fail("ValueError", "no")]), ADDED)
    assert routine_text(summed(may_fail, escaping=("c",))) == routine_text([may_fail])
    assert "acc" in routine_text(summed(may_fail))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_program(n, dtype):
    def f(c, x):
        total = x.dtype.type(0)
        for i in range(len(x)):
            total += np.sin(c[0] * x[i]) + c[1] * x[i] * c[0]
        return total

    c, x = np.array([0.3, 0.7], dtype), np.linspace(0, 1, n).astype(dtype)
    g = s2s.grad(f, backend="loops")
    want = [np.sum(np.cos(c[0] * x) * x + c[1] * x), np.sum(x) * c[0]]
    tol = 1e-6 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(g(c, x), want, rtol=tol, atol=tol)
    assert g(c, x).dtype == dtype
    if not n:  # no access to an element that does not exist
        assert g(c[:0], x).shape == (0,)
