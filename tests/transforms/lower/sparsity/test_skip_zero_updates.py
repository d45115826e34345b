"""Loops that add multiples of zero are skipped, unless a factor is infinite or NaN."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.analysis.parameters import Parameters
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.sparsity.skip_zero_updates import skip_zero_updates
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, routine_text
from tests.transforms.lower.memory.test_layout import again

F = "float64"
C, I, N, M = (L.Name(name) for name in ("c", "i", "n", "m"))  # noqa: E741
S, T, U = (L.Name(name, F) for name in "stu")


def times(*factors):
    out = factors[0]
    for factor in factors[1:]:
        out = L.Bin("*", out, factor, F)
    return out


CHOICE = times(S, L.Cast(L.compare(">", at("y", C, L.ZERO), S), F))
ADDED = L.Store("x", (C, I), times(T, at("y", C, I)), add=True)


def program(*inside, choice: L.Expr = CHOICE, before=(), after=()):
    inner = L.Loop("i", L.ZERO, M, L.ONE, list(inside))
    body = [L.Let("t", choice), *before, inner, *after]
    return [L.Loop("n", L.ZERO, M, L.ONE, [L.Loop("c", L.ZERO, N, L.ONE, body)])]


def skipped(body, may_alias=lambda a, b: a == b):
    new = [*copy.deepcopy(body), L.Return(())]
    sizes: dict[str, tuple[L.Expr, ...]] = {n: (L.Size(n, 0), L.Size(n, 1)) for n in "xy"}
    arrays = Parameters(dict.fromkeys("xy", F), sizes, frozenset(), set())
    skip_zero_updates(new, [*"xysm"], arrays, may_alias, Emitter({*"xystumnci"}))
    return routine_text(new)


def test_what_is_looked_at_and_what_is_left_out():
    assert (
        skipped(program(ADDED))
        == """\
    num_large = np.int64(0)
    for i_1 in range(y.shape[0]):
        for j in range(y.shape[1]):
            num_large = num_large + (0 if y[i_1, j] <= 1e+50 and y[i_1, j] >= -1e+50 else 1)
    all_moderate = num_large == 0
    for n in range(m):
        for c in range(n):
            t = s * np.float64(y[c, 0] > s)
            if t != 0.0 or not all_moderate:
                for i in range(m):
                    x[c, i] += t * y[c, i]"""
    )


def test_nothing_to_look_at():
    new = skipped(program(L.Store("x", (C, I), L.Un("-", T, F), add=True)))
    assert "if t != 0.0:\n" in new and "num_large" not in new


@pytest.mark.parametrize(
    "body",
    [
        program(ADDED, choice=L.select(L.compare(">", S, at("y", C, C)), S, L.Lit(0.0, F))),
        program(L.Let("u", times(T, at("y", C, I))), L.Store("x", (C, I), U, add=True)),
        program(L.Store("x", (C, I), times(U, at("y", I, C)), add=True), before=[L.Let("u", T)]),
    ],
    ids=["one of two", "by another name", "named before"],
)
def test_left_out(body):
    assert "or not all_moderate" in skipped(body)


SUM = L.Let("u", L.Bin("+", U, times(T, at("y", C, I)), F))


@pytest.mark.parametrize(
    "body",
    [
        program(ADDED, choice=times(S, S)),
        program(L.Store("x", (C, I), times(T, at("y", C, I)))),
        program(L.Store("x", (C, I), times(S, at("y", C, I)), add=True)),
        program(L.Store("x", (C, I), L.Bin("+", T, S, F), add=True)),
        program(L.Store("x", (C, I), L.Bin("/", T, at("y", C, I), F), add=True)),
        program(L.Store("x", (C, I), times(T, L.Apply("np.exp", (S,), F)), add=True)),
        program(L.Store("x", (C, I), times(T, S), add=True)),
        program(L.Store("x", (C, I), times(T, at("x", I, C)), add=True)),
        program(L.Store("x", (C, I), times(T, times(*[at("y", C, I)] * 5)), add=True)),
        program(L.Store("x", (C, I), times(T, L.Lit(np.inf, F)), add=True)),
        program(ADDED, L.Store("y", (C, I), T, add=True)),
        program(ADDED, SUM, before=[L.Let("u", S)], after=[L.Store("x", (C, I), U)]),
        program(ADDED, L.Let("u", T), after=[L.Store("x", (C, C), U)]),
        program(ADDED, before=[L.Let("t", S)]),
        program(ADDED)[0].body,
    ],
    ids=[
        "no choice", "no sum", "a multiple of another", "a sum with another", "a quotient",
        "a function", "a number from elsewhere", "an array that is written", "many factors",
        "infinity", "an array that is added to", "a sum so far", "a number read later",
        "set twice", "looking costs as much",
    ],
)  # fmt: skip
def test_left_alone(body):
    assert skipped(body) == routine_text([*body, L.Return(())])


def test_numbers_of_an_earlier_iteration():
    first = [L.Let("u", T), L.Let("t", U)]
    body = program(L.Store("x", (C, I), times(U, at("y", C, I)), add=True), before=first)
    body[0].body[0].body[0] = L.Let("v", CHOICE)
    assert skipped(body) == routine_text([*body, L.Return(())])


def test_an_array_with_another_name():
    body = program(ADDED)
    assert skipped(body, may_alias=lambda a, b: True) == routine_text([*body, L.Return(())])


# ---------------------------------------------------------------- programs


def cost(centres, points):
    total = 0.0
    for row in range(len(points)):
        nearest = np.inf
        for c in range(len(centres)):
            nearest = min(nearest, np.sum((points[row] - centres[c]) ** 2))
        total += nearest
    return total


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("odd", [0.0, -0.0, 1e200, np.inf, np.nan])
def test_results_are_the_same(dtype, odd):
    rng = np.random.default_rng(0)
    centres, points = rng.normal(size=(3, 2)).astype(dtype), rng.normal(size=(5, 2)).astype(dtype)
    now = s2s.value_and_grad(cost, backend="loops")
    with switched_off("skip_zero_updates"):
        was = s2s.value_and_grad(again(cost), backend="loops")
        was(centres, points)
    for place in (centres, points):
        place = place[1:2, 1:2]
        kept = place.copy()
        with np.errstate(all="ignore"):
            place[...] = odd
            for found, right in zip(now(centres, points), was(centres, points)):
                np.testing.assert_array_equal(found, right)
        place[...] = kept
    assert "or not all_moderate" in now.lowered
    assert "all_moderate" not in was.lowered


def chained(x, n):
    first, second = x[0], x[1]
    for _ in range(n):
        first, second = second + 1.0, first
        x = x + max(first, second) * x
    return np.sum(x) + first


def test_numbers_that_follow_from_each_other():
    found = s2s.value_and_grad(chained, backend="loops")(np.array([0.25, -0.5, 0.125]), 3)
    right = s2s.value_and_grad(chained, backend="python")(np.array([0.25, -0.5, 0.125]), 3)
    for a, b in zip(found, right):
        np.testing.assert_allclose(a, b, rtol=1e-14)
