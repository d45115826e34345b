"""Tape planning: which slots are recomputed, stay in scope, or are stored, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Module,
    Save,
    Type,
    Var,
    operands_of,
    targets_of,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.simplify import simplify
from tests.transforms.cases import CASES, Case, recurrence
from tests.transforms.programs import F8, Program, int_scalar, program, run, vector
from tests.transforms.slot_runner import run_planned


def planned(module: Module, *wrt: str) -> Module:
    return plan_tape(simplify(reverse(module, wrt, 0, Facts())), Facts())


def kinds(module: Module) -> list[str]:
    return sorted(p.kind for p in module.main.notes["slots"].values())


def build(params: dict[str, Type], f: Any, *wrt: str) -> Module:
    return planned(program(params, f), *wrt)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_stored_as_planned(case: Case) -> None:
    """Dense storage gives the same results as stacks."""
    vjp = reverse(case.module, case.wrt, 0, Facts())
    stored = plan_tape(simplify(vjp))
    again = simplify(stored)
    for args in case.args:
        want = run(vjp, *args, 1.0)
        for module in (stored, again):
            got = run_planned(module.main, *args, 1.0)
            for x, y in zip(want, got, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_second_order_stored_as_planned(case: Case) -> None:
    vjp = simplify(reverse(case.module, case.wrt, 0, Facts()))
    again = reverse(vjp, case.wrt, len(case.module.main.results), Facts())
    stored = simplify(plan_tape(simplify(again)))
    for args in case.args:
        w = np.full(np.shape(args[0]), 0.3)[()]
        want = run(again, *args, 1.0, w)
        for x, y in zip(want, run_planned(stored.main, *args, 1.0, w), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_slots_that_remain_have_plans() -> None:
    for case in CASES:
        main = planned(case.module, *case.wrt).main
        assert [s.slot.name for s in walk(main.body) if isinstance(s, Save)] == list(
            main.notes["slots"]
        )


# ---------------------------------------------------------------- recompute


def test_example_of_the_style_guide_saves_nothing() -> None:
    def loss(p: Program, W: Any, b: Any, x: Any, y: Any) -> Any:
        h = np.tanh(p.emit("matmul", x, W) + b)

        def body(i: Any, s: Any) -> Any:
            return p.branch(
                p.get(y, i) > 0,
                lambda: [s + p.get(h, i, 0) * p.get(y, i)],
                lambda: [s - np.log(1.0 + p.get(h, i, 0) ** 2)],
            )

        (s,) = p.loop(h.shape[0], [0.0], body)
        return s / h.shape[0]

    d = {k: Dim.of(k) for k in ("n", "m", "k")}
    params: dict[str, Type] = {
        "W": Array("float64", (d["m"], d["k"])),
        "b": Array("float64", (d["k"],)),
        "x": Array("float64", (d["n"], d["m"])),
        "y": Array("float64", (d["n"],)),
    }
    assert kinds(build(params, loss, "W", "b")) == []


def test_linear_stencil_saves_nothing() -> None:
    def stencil(p: Program, x: Any, n: Any) -> Any:
        (a,) = p.loop(n, [x], lambda k, a: [a * 0.5 + p.sum(a) * 0.1])
        return p.sum(a)

    assert kinds(build({"x": vector("x"), "n": int_scalar("n")}, stencil, "x")) == []


def test_indices_are_the_mirrored_loops_own() -> None:
    def f(p: Program, x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            return [s + p.get(x, i) * p.emit("cast", i * i + 1, dtype="float64")]

        return p.loop(x.shape[0], [0.0], body)[0]

    assert kinds(build({"x": vector("x")}, f, "x")) == []


def test_counters_of_a_while_loop_are_known() -> None:
    case = next(c for c in CASES if c.name == "two_pointers")
    main = planned(case.module, *case.wrt).main
    assert all(p.kind == "stack" for p in main.notes["slots"].values())
    saved = [s.value.type.dtype for s in walk(main.body) if isinstance(s, Save)]
    assert "int64" not in saved


def test_element_of_an_overwritten_array_is_saved() -> None:
    """The element is saved, not the array: reading the element again would require a copy of the
    array per iteration."""
    module = planned(program({"x": vector("x")}, recurrence), "x")
    plans = module.main.notes["slots"].values()
    assert plans and all(p.shape == () for p in plans)


def test_transcendentals_are_stored_and_cheap_things_made_of_them() -> None:
    def f(p: Program, x: Any, y: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            e = np.exp(p.get(x, i) * y)
            return [s + e * (e + 1.0)]

        return p.loop(x.shape[0], [0.0], body)[0]

    assert kinds(build({"x": vector("x"), "y": F8}, f, "x", "y")) == ["dense"]


# ---------------------------------------------------------------- scope


def test_branch_outside_of_loops_needs_no_slot() -> None:
    def f(p: Program, x: Any) -> Any:
        def then() -> Any:
            e = np.exp(x)
            return p.branch(e > 2.0, lambda: [np.sin(e) * e], lambda: [e])

        return p.branch(x > 0.0, then, lambda: [x])[0]

    module = build({"x": F8}, f, "x")
    assert kinds(module) == []
    assert any(isinstance(s, Assign) and s.op.name == "undef" for s in walk(module.main.body))
    assert not any(isinstance(s, Save) for s in walk(module.main.body))


# ---------------------------------------------------------------- the user's text


def test_temporaries_are_spelled_out_again() -> None:
    """The sweep recomputes x > y and x[0] instead of reading temporaries of the primal."""

    def f(p: Program, x: Any, y: Any) -> Any:
        first = p.get(x, 0)
        return p.branch(first > y, lambda: [first * y], lambda: [y * y], "z")[0]

    main = build({"x": vector("x"), "y": F8}, f, "x", "y").main
    cut = next(i for i, s in enumerate(main.body) if s.origin and s.origin.sweep)
    before = {v.name for s in walk(main.body[:cut]) for v in targets_of(s)}
    read = {x.name for s in walk(main.body[cut:]) for x in operands_of(s) if isinstance(x, Var)}
    assert not before & read


def test_a_name_given_away_is_not_spelled() -> None:
    """`x` is rebound before the sweep."""

    def f(p: Program, x: Any) -> Any:
        y = p.emit("multiply", x, 2.0)
        p.line()
        z = p.emit("add", y, 1.0, hint="x", user="x")
        p.line()
        return z * y

    main = build({"x": F8}, f, "x").main
    cut = next(i for i, s in enumerate(main.body) if s.origin and s.origin.sweep)
    assert not any(x == main.params[0] for s in main.body[cut:] for x in operands_of(s))


# ---------------------------------------------------------------- dense and stack


def test_nested_loops_are_dense() -> None:
    def f(p: Program, x: Any, m: Any) -> Any:
        def outer(i: Any, s: Any) -> Any:
            width = x.shape[0]  # read inside, but known before the loop
            return p.loop(width, [s], lambda j, t: [np.sin(t) + p.get(x, j)], start=1, step=2)

        return p.loop(m, [0.3], outer)[0]

    module = build({"x": vector("x"), "m": int_scalar("m")}, f, "x")
    assert set(kinds(module)) == {"dense"}
    (plan,) = {p.loops for p in module.main.notes["slots"].values()}
    assert len(plan) == 2


def test_while_loops_are_stacks() -> None:
    for name in ("while_count", "while_in_loop", "until_reversed"):
        case = next(c for c in CASES if c.name == name)
        assert "stack" in kinds(planned(case.module, *case.wrt)), name


def test_triangular_loops_are_boxes() -> None:
    case = next(c for c in CASES if c.name == "triangular")
    plans = planned(case.module, *case.wrt).main.notes["slots"].values()
    assert {(p.kind, len(p.sizes)) for p in plans} == {("dense", 2)}


def test_arrays_are_dense_if_their_shape_lasts() -> None:
    case = next(c for c in CASES if c.name == "array_chain")
    plans = planned(case.module, *case.wrt).main.notes["slots"].values()
    assert {(p.kind, len(p.sizes), len(p.shape)) for p in plans} == {("dense", 1, 1)}
    case = next(c for c in CASES if c.name == "grows")
    assert set(kinds(planned(case.module, *case.wrt))) == {"stack"}


def growing(y: Any, n: int) -> Any:
    for k in range(1, n):
        y[:k] += np.sin(y[k]) * np.flip(y[:k]) * y[:k]
    return np.sum(y * y)


def shrinking(y: Any, n: int) -> Any:
    for k in range(n, 0, -1):
        y[k:] = np.cos(y[k:]) * y[k - 1]
    return np.sum(y * y)


def windows(y: Any, n: int) -> Any:
    for i in range(n):
        for j in range(i):
            y[j:i] = np.sin(y[j:i]) * y[i]
    return np.sum(y * y)


@pytest.mark.parametrize("program", [growing, shrinking, windows])
def test_slices_as_long_as_a_counter_tells_are_rows(program: Any) -> None:
    gradient = s2s.grad(program, wrt="y", backend="loops")
    for n in (4, 1, 0, 3, 5):
        y = np.linspace(0.3, 1.1, 6)
        found = gradient(y.copy(), n)
        for i, unit in enumerate(1e-6 * np.eye(6)):
            slope = (program(y + unit, n) - program(y - unit, n)) / 2e-6
            np.testing.assert_allclose(found[i], slope, rtol=1e-7, atol=1e-9)
    assert "append" not in gradient.source and "pop" not in gradient.source


def _product_backwards(x: Any) -> Any:
    total = 1.0
    for i in range(x.shape[0] - 1, -1, -1):
        total = np.sin(total * x[i])
    return total


def test_a_loop_downwards_counts_its_iterations_without_a_division() -> None:
    g = s2s.value_and_grad(_product_backwards)
    x = np.array([0.3, 1.2, 0.7])
    _, found = g(x)
    steps = np.eye(3) * 1e-6
    wanted = [(_product_backwards(x + h) - _product_backwards(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    assert "//" not in g.source and "floor_divide" not in g.lowered


def power_steps(w: Any, n: int) -> Any:
    """`x[i]` is invariant in the innermost loop and changes after it."""
    x = np.ones(n) / n
    for _ in range(3):
        y = np.zeros(n)
        for i in range(n):
            for j in range(n):
                y[j] += w[i, j] * x[i]
        for i in range(n):
            x[i] = np.sin(y[i])
    return np.sum(x * x)


def rounds_that_ask(w: Any, n: int) -> Any:
    """As `power_steps`, but only some of the iterations need the value."""
    x = np.ones(n) / n
    for _ in range(3):
        for i in range(n):
            for j in range(n):
                if w[i, j] > 0.5:
                    x[j] = np.sin(x[j] + w[i, j] * w[i, 0])
    return np.sum(x * x)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("program", [power_steps, rounds_that_ask])
def test_what_an_inner_loop_does_not_change_has_one_place(program: Any, n: int) -> None:
    gradient = s2s.grad(program, wrt="w", backend="loops")
    w = np.random.default_rng(n).uniform(size=(n, n))
    found = gradient(w, n)
    for at in np.ndindex(n, n):
        h = np.zeros((n, n))
        h[at] = 1e-6
        slope = (program(w + h, n) - program(w - h, n)) / 2e-6
        np.testing.assert_allclose(found[at], slope, rtol=1e-7, atol=1e-9)
    if program is power_steps:
        assert "[_, i]" in gradient.source and "[_, i, j]" not in gradient.source


def alignment(score: Any, gap: Any) -> Any:
    """Each sum is computed from elements that are not overwritten."""
    n, m = score.shape
    H = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            H[i, j] = max(
                H[i - 1, j - 1] + score[i - 1, j - 1], H[i - 1, j] - gap, H[i, j - 1] - gap
            )
    return H[n, m]


def overwritten_alignment(score: Any, gap: Any) -> Any:
    """The elements are overwritten later, so the sums are saved."""
    n, m = score.shape
    H = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            H[i, j] = max(
                H[i - 1, j - 1] + score[i - 1, j - 1], H[i - 1, j] - gap, H[i, j - 1] - gap
            )
            H[i - 1, j - 1] = 0.0
    return H[n, m]


@pytest.mark.parametrize(("program", "stored"), [(alignment, 0), (overwritten_alignment, 3)])
def test_sums_of_what_stays_are_computed_again(program: Any, stored: int) -> None:
    gradient = s2s.grad(program, wrt=("score", "gap"), backend="loops")
    for shape in ((3, 4), (1, 1), (0, 2)):
        score = np.random.default_rng(1).normal(size=shape)
        of_score, of_gap = gradient(score, 0.3)
        slope = (program(score, 0.3 + 1e-6) - program(score, 0.3 - 1e-6)) / 2e-6
        np.testing.assert_allclose(of_gap, slope, rtol=1e-7, atol=1e-9)
        for at in np.ndindex(*shape):
            h = np.zeros(shape)
            h[at] = 1e-6
            slope = (program(score + h, 0.3) - program(score - h, 0.3)) / 2e-6
            np.testing.assert_allclose(of_score[at], slope, rtol=1e-7, atol=1e-9)
    assert gradient.source.count("np.empty(") == stored


def pairs_from_a_stack(x: Any) -> Any:
    """Pops two values and pushes one."""
    h = []
    for i in range(x.shape[0]):
        h.append(x[i] * x[i])
    s = 0.0
    while len(h) > 1:
        a = h.pop()
        b = h.pop()
        h.append(np.sqrt(a * b + 1.0))
        s += a - b
    return s + h[0]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_list_of_numbers_that_shrinks_is_not_kept_whole(n: int) -> None:
    gradient = s2s.grad(pairs_from_a_stack, backend="loops")
    x = np.linspace(0.4, 1.3, n)
    steps = np.eye(n) * 1e-6
    slopes = [(pairs_from_a_stack(x + h) - pairs_from_a_stack(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient(x), slopes, rtol=1e-7, atol=1e-9)
    assert "list(h)" not in gradient.source
