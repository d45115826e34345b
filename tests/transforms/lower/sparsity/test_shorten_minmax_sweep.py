"""Reverse sweeps of a running minimum begin at the last selected iteration and end when the adjoint
is zero."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.analysis.cost_model import loop_cost
from s2s.transforms.lower.analysis.liveness import names_in
from s2s.transforms.lower.analysis.parameters import Parameters
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.sparsity.skip_zero_updates import skip_zero_updates
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import routine_text
from tests.transforms.lower.memory.test_layout import again

F = "float64"
C, N = L.Name("c"), L.Name("n")
G, T, U = (L.Name(name, F) for name in "gtu")
DOWN = L.Lit(-1, "int64")


def at(buffer, index=C):
    return L.Load(buffer, (index,), F)


def times(*factors):
    out = factors[0]
    for factor in factors[1:]:
        out = L.Bin("*", out, factor, F)
    return out


def holds(op, x=None, y=None):
    return L.Cast(L.Bin(op, x or at("a"), y or at("b"), "bool"), F)


TAKEN = L.Let("t", times(G, holds(">")))
ADDED = L.Store("x", (C,), times(T, at("y")), add=True)
PASSED = L.Let("g", times(G, holds("<")))


def program(*body, start: L.Expr | None = None, stop: L.Expr = DOWN, step: L.Expr = DOWN):
    start = L.sub(N, L.ONE) if start is None else start
    return [L.Let("g", L.Lit(1.0, F)), L.Loop("c", start, stop, step, list(body))]


def shortened(body, may_alias=lambda a, b: a == b):
    new = [*copy.deepcopy(body), L.Return(())]
    sizes: dict[str, tuple[L.Expr, ...]] = {n: (L.Size(n, 0),) for n in "xyab"}
    arrays = Parameters(dict.fromkeys("xyab", F), sizes, frozenset(), set())
    skip_zero_updates(new, [*"xyabn"], arrays, may_alias, Emitter({*"xyabgtucni"}))
    return routine_text(new)


def test_where_it_begins_and_ends():
    assert (
        shortened(program(TAKEN, ADDED, PASSED))
        == """\
    g = np.float64(1.0)
    num_large = np.int64(0)
    for i_1 in range(y.shape[0]):
        num_large = num_large + (0 if y[i_1] <= 1e+50 and y[i_1] >= -1e+50 else 1)
    all_moderate = num_large == 0
    first = np.int64(-1)
    for c_1 in range(n):
        first = first if a[c_1] < b[c_1] else c_1
    if not (all_moderate and (g <= 1e+50 and g >= -1e+50)):
        first = n - 1
    for c in range(first, -1, -1):
        t = g * np.float64(a[c] > b[c])
        x[c] += t * y[c]
        g = g * np.float64(a[c] < b[c])
        if g == 0.0 and all_moderate:
            break"""
    )


def test_a_loop_that_counts_up():
    new = shortened(program(TAKEN, ADDED, PASSED, start=L.ZERO, stop=N, step=L.ONE))
    assert "first = n\n    for c_1 in range(n - 1, -1, -1):" in new
    assert "for c in range(first, n):" in new


def test_ties_are_shared():
    half = L.Let("u", times(L.Lit(0.5, F), holds("==")))
    taken = L.Let("t", times(G, L.Bin("+", holds(">"), U, F)))
    passed = L.Let("g", times(G, L.Bin("+", holds("<"), U, F)))
    assert "first if a[c_1] < b[c_1] else c_1" in shortened(program(half, taken, ADDED, passed))


@pytest.mark.parametrize(
    "body",
    [
        program(TAKEN, ADDED, L.Let("g", times(G, at("b")))),
        program(L.Let("t", times(G, holds("<="))), ADDED, PASSED),
        program(L.Let("t", times(G, holds(">", at("y")))), ADDED, PASSED),
        program(TAKEN, L.Store("x", (C,), times(T, at("y"))), PASSED),
        program(TAKEN, L.Store("x", (C,), L.Bin("+", T, at("y"), F), add=True), PASSED),
        program(TAKEN, L.Store("x", (C,), L.Bin("/", T, at("y"), F), add=True), PASSED),
        program(TAKEN, L.Store("b", (C,), T, add=True), PASSED),
        program(TAKEN, ADDED, L.Store("a", (C,), L.Lit(0.0, F)), PASSED),
        program(TAKEN, ADDED, PASSED, L.Let("g", times(G, holds("<")))),
        [*program(TAKEN, ADDED, PASSED), L.Store("x", (L.ZERO,), T, add=True)],
        [L.Let("u", G), *program(TAKEN, ADDED, PASSED, L.Let("u", L.Bin("+", U, T, F)))],
        program(TAKEN, L.If(L.Bin(">", at("y"), G, "bool"), [L.Fail("E", "")]), ADDED, PASSED),
        program(TAKEN, ADDED, PASSED, step=L.Lit(-2, "int64")),
        program(TAKEN, ADDED, PASSED, start=L.Lit(2, "int64")),
        program(TAKEN, ADDED, L.If(L.Bin(">", at("y"), G, "bool"), [PASSED])),
    ],
    ids=[
        "no choice", "added where it passes", "of another choice", "no sum", "more than it passes",
        "a quotient", "changes what is compared", "writes", "passed on twice", "read later",
        "a number of the round before", "may fail", "counts by two", "few rounds", "at times",
    ],
)  # fmt: skip
def test_left_alone(body):
    new = shortened(body)
    assert "first" not in new and "break" not in new


def test_what_is_compared_may_share_memory():
    body = program(TAKEN, ADDED, PASSED)
    assert "first" not in shortened(body, may_alias=lambda a, b: {a, b} == {"x", "b"} or a == b)


def test_a_loop_that_ends_soon_is_not_much_work():
    body = program(TAKEN, ADDED, PASSED)
    outer = L.Loop("k", L.ZERO, N, L.ONE, body)
    before = loop_cost(outer, N)
    loop = body[1]
    assert isinstance(loop, L.Loop) and "n" in names_in([before.right])  # type: ignore[union-attr]
    loop.exits_early = True
    assert not names_in([loop_cost(outer, N).right])  # type: ignore[union-attr]


# ---------------------------------------------------------------- programs


def nearest(x, y):
    best = 4.0
    for i in range(len(x)):
        best = min(best, (x[i] - y[i]) * x[i])
    return best * best


def nearest_of_rows(x, y):
    total = 0.0
    for row in range(2):
        best = -np.inf
        for i in range(len(x)):
            best = np.maximum(x[i] * y[row], best)
        total += best
    return total


ODD = [0.0, -0.0, 1e200, -1e200, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("program", [nearest, nearest_of_rows])
def test_results_are_the_same(program, dtype):
    rng = np.random.default_rng(3)
    now = s2s.value_and_grad(program, wrt=(0, 1), backend="loops")
    with switched_off("skip_zero_updates"):
        was = s2s.value_and_grad(again(program), wrt=(0, 1), backend="loops")
        was(np.ones(5, dtype), np.ones(5, dtype))
    cases = [(rng.integers(-2, 3, n), rng.integers(-2, 3, max(n, 2))) for n in range(8)]
    for x, y in [(x.astype(dtype), y.astype(dtype)) for x, y in cases]:
        y = y[: len(x)] if program is nearest else y
        for array in (x, y):
            for odd in ODD if len(array) else [0.0]:
                kept = array.copy()
                with np.errstate(all="ignore"):
                    array[-1:] = odd
                    (value, slopes), (right, wanted) = now(x, y), was(x, y)
                    for a, b in zip((value, *slopes), (right, *wanted)):
                        np.testing.assert_array_equal(a, b)
                array[...] = kept
    assert "break" in now.lowered and "break" not in was.lowered


@pytest.mark.parametrize("seed", [0.0, 1e300, np.inf, np.nan])
def test_seeds(seed):
    def largest(x):
        best = x[0]
        for i in range(1, len(x)):
            best = max(best, x[i])
        return best

    x = np.array([1.0, 3.0, 2.0, 3.0, 0.0, -1.0])
    with np.errstate(all="ignore"):
        right = seed * np.array([0, 0.5, 0, 0.5, 0, 0])
        found = s2s.function(lambda x, g: s2s.grad(lambda x: g * largest(x))(x), backend="loops")
        np.testing.assert_array_equal(found(x, seed), right)


def test_second_derivatives():
    def hessian_times(x, y, v):
        return s2s.jvp(s2s.grad(nearest))(x, v, y)

    x, y = np.array([1.0, -2.0, 0.5, 3.0, 1.0]), np.array([2.0, 1.0, 0.0, 5.0, 1.5])
    v = np.arange(1.0, 6.0)
    slope, bent = s2s.function(hessian_times, backend="loops")(x, y, v)
    # The minimum is (3 - 5) * 3 = -6, with slope 2 * 3 - 5 = 1 and curvature 2.
    np.testing.assert_allclose(slope, [0, 0, 0, -12.0, 0])
    np.testing.assert_allclose(bent, [0, 0, 0, 4 * (2 * 1 + 2 * -6 * 2), 0])
