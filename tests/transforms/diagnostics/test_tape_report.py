"""Reports on the tape: sizes as formulas and numbers, stored, kept, copied, recomputed values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.callee_vjps import CalleeVjp
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.diagnostics import tape_report
from s2s.transforms.diagnostics.tape_report import Size, Sizes, kept, recomputed, saved, snapshots
from s2s.transforms.ir.nodes import (
    Array,
    Budget,
    Const,
    For,
    Function,
    ListOf,
    Module,
    Rng,
    Scalar,
    Type,
    Var,
    While,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Dim, Facts, floordiv, max0, remainder, slice_length
from s2s.transforms.simplify import simplify
from tests.transforms.programs import F8, Program, int_scalar, program, vector

X, N = Dim.of("x.0"), Dim.of("n")
VX: dict[str, Type] = {"x": vector("x")}


def sizes_of(function: Function | None = None, **numbers: int) -> Sizes:
    given = {key.replace("_", "."): value for key, value in numbers.items()}
    names = {"x": "data", "n": "steps"}
    return Sizes(function or Function("f", [], [], []), Facts(), names, given)


# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (X, "data.shape[0]"),
        (N, "steps"),
        (X * 2 - 1, "2 * data.shape[0] - 1"),
        (Dim.of(3) - X, "-data.shape[0] + 3"),
        (X * N + 2, "steps * data.shape[0] + 2"),
        (Dim(), "0"),
        (max0(X - 1), "max(data.shape[0] - 1, 0)"),
        (floordiv(N, Dim.of(2)), "(steps) // (2)"),
        (remainder(N, X), "(steps) % (data.shape[0])"),
        (Dim.of("h_2.1"), "h_2.shape[1]"),
        (slice_length(X, N, None, facts=Facts()), "len(range(data.shape[0])[steps:])"),
    ],
)
def test_dims_in_the_users_terms(dim: Dim, text: str) -> None:
    assert sizes_of().text(dim) == text


def test_products_gather_constants_and_are_numbers_where_all_is_known() -> None:
    sizes = sizes_of(x_0=5)
    assert sizes.product([Dim.of(8), X, Dim.of(2)]) == Size("16 * data.shape[0]", 80)
    assert sizes.product([X]) == Size("data.shape[0]", 5)
    assert sizes.product([Dim.of(1)]) == Size("1", 1) == sizes.product([])
    assert sizes.product([N, X]) == Size("steps * data.shape[0]", None)
    assert sizes.product([X + 1, N * 2 - 1]).formula == "(data.shape[0] + 1) * (2 * steps - 1)"


@pytest.mark.parametrize(
    ("type_", "number"),
    [
        (F8, 8),
        (Scalar("float32"), 4),
        (Array("complex128", (X, Dim.of(3))), 240),
        (Array("bool", (X,)), 5),
    ],
)
def test_bytes(type_: Type, number: int) -> None:
    sizes = sizes_of(x_0=5)
    dims = sizes.bytes(type_)
    assert dims is not None and sizes.product(dims).number == number


def test_lists_and_generators_have_no_size() -> None:
    assert sizes_of().bytes(ListOf(F8)) is None and sizes_of().bytes(Rng()) is None


# ---------------------------------------------------------------- trip counts


def constant(value: int) -> Const:
    return Const(value, Scalar("int64", value=Dim.of(value)))


def loop(start: int, step: int, index: str = "i", stop: Any = None) -> For:
    stop = Var("n", int_scalar("n")) if stop is None else stop
    return For(Var(index, int_scalar(index)), constant(start), stop, constant(step), [])


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("n", [3, 7, 8])
def test_trip_counts_are_those_of_range(start: int, step: int, n: int) -> None:
    sizes = sizes_of(n=n)
    trips = sizes.trips(loop(start, step))
    assert trips is not None and trips.number == len(range(start, n, step))
    down = sizes.trips(replace(loop(n, -step), stop=constant(start)))
    assert down is not None and down.number == len(range(n, start, -step))
    assert sizes.iterations([loop(start, step)], {}) == len(range(start, n, step))


def test_nests_whose_bounds_depend_on_outer_indices_are_counted() -> None:
    inner = loop(0, 1, "j", Var("i", int_scalar("i")))
    sizes = sizes_of(n=5)
    assert sizes.iterations([loop(0, 1), inner], {}) == sum(range(5))
    assert sizes.iterations([loop(0, 1), loop(0, 1, "j")], {}) == 25
    assert sizes.iterations([], {}) == 1
    assert sizes_of().iterations([loop(0, 1)], {}) is None


def test_large_triangles_are_not_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape_report, "MAX_ENUMERATED_ITERATIONS", 4)
    inner = loop(0, 1, "j", Var("i", int_scalar("i")))
    assert sizes_of(n=4).iterations([loop(0, 1), inner], {}) == 6
    assert sizes_of(n=5).iterations([loop(0, 1), inner], {}) is None
    assert sizes_of(n=5).iterations([loop(0, 1), loop(0, 1, "j")], {}) == 25


def test_loops_that_may_end_early_have_no_trip_count() -> None:
    sizes = sizes_of(n=5)
    early = replace(loop(0, 1), until=Var("u", Scalar("bool")))
    endless = While([], Var("u", Scalar("bool")), [])
    unknown = replace(loop(0, 1), step=Var("k", int_scalar("k")))
    assert sizes.trips(early) is sizes.trips(endless) is sizes.trips(unknown) is None
    assert sizes.iterations([endless], {}) is None
    counted = sizes.trips(replace(loop(0, 1), count=constant(4)))
    assert counted == Size("4", 4)


# ---------------------------------------------------------------- values


def planned(params: dict[str, Type], build: Callable[..., Any]) -> tuple[Module, Module]:
    before = program(params, build)
    after = plan_tape(simplify(reverse(before, ("x",), 0, Facts())))
    return before, after


def test_a_value_saved_in_each_iteration() -> None:
    def build(p: Program, x: Any, n: Any) -> Any:
        (s,) = p.loop(n, [x], lambda i, s: [np.sin(s) * s], names=["s"])
        return p.sum(s)

    _, after = planned({**VX, "n": int_scalar("n")}, build)
    found = saved(after.main, sizes_of(after.main, x_0=3, n=10))
    assert found and {s.kind for s in found} == {"array"}

    for one in found:
        assert one.per_iteration == Size("8 * data.shape[0]", 24)
        assert one.iterations == Size("steps", 10)
        assert one.total == Size("8 * data.shape[0] * steps", 240)
        assert [loop.trips for loop in one.loops] == [Size("steps", 10)]

    slots = after.main.notes["slots"]
    assert len(found) == len(slots)


def test_a_while_loop_has_a_stack_of_unknown_length() -> None:
    def build(p: Program, x: Any) -> Any:
        return p.repeat([x], lambda s: [s < 9.0], lambda s: [np.exp(s) * s], names=["s"])[0]

    _, after = planned({"x": F8}, build)
    found = saved(after.main, sizes_of(after.main))
    assert found
    for one in found:
        assert one.total is None and one.loops[0].trips is None


def test_arrays_kept_because_the_sweep_reads_them() -> None:
    """exp needs its result, sum needs nothing; a view is no memory of its own."""

    def build(p: Program, x: Any) -> Any:
        h = p.emit("exp", x, hint="h", user="h")
        items = (("slice", None, None, None),)
        row = p.emit("index", h, items=items, hint="row", user="row")
        return p.sum(row * row)

    _, after = planned(VX, build)
    found = kept(after.main, sizes_of(after.main, x_0=4))
    assert [(k.name, k.kind, k.total) for k in found] == [
        ("h", "kept", Size("8 * data.shape[0]", 32))
    ]


def test_budgets_are_upper_bounds_of_snapshots() -> None:
    def build(p: Program, x: Any, n: Any) -> Any:
        return p.loop(n, [x, 0.0], lambda i, s, t: [np.sin(s), t + 1.0], names=["s", "t"])[0]

    main = program({**VX, "n": int_scalar("n")}, build).main
    (looped,) = (s for s in walk(main.body) if isinstance(s, For))
    sizes = sizes_of(main, x_0=3, n=100)
    assert snapshots(main, sizes) == []
    looped.budget = Budget(constant(5))
    assert [(s.name, s.total) for s in snapshots(main, sizes)] == [
        ("s", Size("40 * data.shape[0]", 120)), ("t", Size("40", 40)),
    ]  # fmt: skip
    looped.budget = Budget(constant(4096), in_bytes=True)
    assert [(s.name, s.total) for s in snapshots(main, sizes)] == [
        ("snapshots", Size("4096", 4096))
    ]


def test_checkpointed_loops_are_recomputed() -> None:
    module = program(
        {**VX, "n": int_scalar("n")},
        lambda p, x, n: p.loop(n, [x], lambda i, s: [np.sin(s)]),
    )
    assert recomputed(module, module) == []
    (looped,) = (s for s in walk(module.main.body) if isinstance(s, For))
    looped.budget = Budget(constant(5))
    (found,) = recomputed(module, module)
    assert found.why == "checkpoint" and found.place is not None and found.place.line == 2


def test_products_of_callees_are_recomputed() -> None:
    module = program(VX, lambda p, x: np.sin(x))
    module.main.notes["product"] = CalleeVjp("f", "g", (0,), (0,))
    assert [(r.name, r.why) for r in recomputed(module, module)] == [("g", "call")]


def test_the_longest_product_is_parenthesised_by_part() -> None:
    assert tape_report._times(["a", "b + 1", "f(c - 1)", "(d) // (2)"]) == (
        "a * (b + 1) * f(c - 1) * ((d) // (2))"
    )
    assert tape_report._times(["a + 1"]) == "a + 1"
