"""Which values are batched, which have no common shape, and which statements need a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from s2s.transforms.batch.vmap_plan import Plan, Region
from s2s.transforms.ir.builder import slot_for
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Draw,
    For,
    Function,
    If,
    ListOf,
    Op,
    Print,
    Save,
    Type,
    Var,
)
from s2s.transforms.ir.symbolic_dims import Dim
from tests.transforms.programs import F8, Program, int_scalar, program, vector

PARAMS: dict[str, Type] = {"x": vector("x"), "y": vector("y"), "s": F8, "k": int_scalar("k")}


def function_of(build: Callable[..., Any], params: dict[str, Type] = PARAMS) -> Function:
    return program(params, build).main


def members(plan: Plan, block: Block) -> list[list[int]]:
    return [sorted(r.members) for r in plan.regions.get(id(block), ())]


def test_values_that_depend_on_a_mapped_parameter_are_batched() -> None:
    found: dict[str, Any] = {}

    def build(p: Program, x: Any, y: Any, s: Any, k: Any) -> Any:
        found["one"] = np.sin(y)
        found["many"] = np.sin(x) * found["one"]
        found["size"] = x.shape[0]
        found["sum"] = np.sum(found["many"])
        return found["sum"]

    plan = Plan(function_of(build), ["x"])
    names = {key: value.operand.name for key, value in found.items()}
    assert {"x", names["many"], names["sum"]} <= plan.batched
    assert not {"y", names["one"], names["size"]} & plan.batched, "all elements have one size"
    assert not plan.uneven and not any(plan.regions.values())
    assert (
        plan.is_batched(Var("x", F8))
        and not plan.is_batched(Var("y", F8))
        and not plan.is_batched(None)
    )


def test_uniform_control_flow_carries_batched_values() -> None:
    def build(p: Program, x: Any, y: Any, s: Any, k: Any) -> Any:
        (a,) = p.branch(s > 0.0, lambda: [np.sin(x)], lambda: [y])
        (b, c) = p.loop(k, [y, s], lambda i, b, c: [b + a, c * 2.0])
        return [b, c]

    function = function_of(build)
    plan = Plan(function, ["x"])
    b, c = function.results
    assert plan.is_batched(b) and not plan.is_batched(c) and not any(plan.regions.values())


def test_control_flow_that_differs_between_elements_is_a_region() -> None:
    def build(p: Program, x: Any, y: Any, s: Any, k: Any) -> Any:
        p.branch(s > 0.0, lambda: [s], lambda: [2.0])
        p.loop(k, [s], lambda i, v: [v * 2.0])
        return p.repeat([s], lambda v: [v < 9.0], lambda v: [v * 2.0])[0]

    function = function_of(build)
    kinds = [type(s) for s in function.body]
    branch, count = kinds.index(If), kinds.index(For)
    assert members(Plan(function, ["x"]), function.body) == []
    assert members(Plan(function, ["k"]), function.body) == [[count]]
    plan = Plan(function, ["s"])
    # The branch and the while loop; adjacent regions are one.  The counted loop is uniform.
    assert members(plan, function.body) == [[branch], [len(kinds) - 1]]
    assert plan.is_batched(function.results[0])


def test_values_without_common_shape_stay_inside_of_a_region() -> None:
    """x[:k] for a mapped k has another length for each element; its sum is a number."""
    found: dict[str, Any] = {}

    def build(p: Program, x: Any, y: Any, s: Any, k: Any) -> Any:
        found["head"] = p.emit("index", x, k, items=(("slice", None, 1, None),))
        found["other"] = np.sin(y)
        found["sum"] = p.sum(found["head"])
        return found["sum"] + p.sum(found["other"])

    function = function_of(build)
    plan = Plan(function, ["k"])
    names = {key: value.operand.name for key, value in found.items()}
    assert names["head"] in plan.uneven and names["sum"] not in plan.uneven
    (region,) = plan.regions[id(function.body)]
    at = [s.target.name for s in function.body if isinstance(s, Assign)]
    assert {at.index(names["head"]), at.index(names["sum"])} == region.members
    assert at.index(names["other"]) not in region.members, "computed once, before the loop"
    assert plan.escapes(names["sum"], id(function.body), region)
    assert not plan.escapes(names["head"], id(function.body), region)
    inside, outside = (function.body[at.index(names[n])] for n in ("head", "other"))
    assert plan.region_of(plan.location[id(inside)]) == (id(function.body), region)
    assert plan.region_of(plan.location[id(outside)]) is None


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_sizes_that_differ_make_uneven_arrays(name: str) -> None:
    function = function_of(lambda p, x, y, s, k: p.sum(p.emit(name, k, dtype="float64")))
    plan = Plan(function, ["k"])
    assert plan.uneven == {function.body[0].target.name}  # type: ignore[union-attr]
    assert not Plan(function, ["s"]).uneven


def test_what_depends_on_a_region_between_its_members_belongs_to_it() -> None:
    def build(p: Program, x: Any, y: Any, s: Any, k: Any) -> Any:
        head = p.emit("index", x, k, items=(("slice", None, 1, None),))  # 0
        total = p.sum(head)  # 1
        np.cos(s)  # 2, independent
        scaled = total * 2.0  # 3
        return scaled + p.sum(head)  # 4, 5

    function = function_of(build)
    plan = Plan(function, ["k"])
    (found,) = members(plan, function.body)
    assert found == [0, 1, 3, 4]
    region = plan.regions[id(function.body)][0]
    assert (region.first, region.last) == (0, 4)
    assert (Region({3, 1}).first, Region({3, 1}).last) == (1, 3)


def test_calls_and_prints_of_batched_operands_run_per_element() -> None:
    x, y, r = (Var(n, F8) for n in "xyr")
    body: Block = [Call([r], "g", (x,)), Call([], "g", (y,)), Print((x,)), Print(("here", y))]
    plan = Plan(Function("f", [x, y], body, [r]), ["x"])
    # The call of `y` lies between, but prints stay in order with the others.
    assert members(plan, body)[0][0] == 0 and 2 in members(plan, body)[-1]
    assert not plan.regions[id(body)][-1].members & {1, 3}
    assert plan.is_batched(r)


def test_draws_are_shared_unless_each_element_draws_its_own() -> None:
    x, a, b, c = (Var(n, F8) for n in "xabc")
    body: Block = [
        Draw([a], None, "standard_normal", ()),
        Assign(c, Program().sym(x).b.emit("sin", x).b.definitions["t"]),
        Draw([b], None, "standard_normal", ()),
    ]
    function = Function("f", [x], body, [a, b, c])
    shared, own = Plan(function, ["x"]), Plan(function, ["x"], draws=True)
    assert not any(shared.regions.values()) and shared.batched == {"x", "c"}
    assert members(own, body) == [[0, 2]] and own.batched == {"x", "a", "b", "c"}


def test_save_and_restore_are_in_one_region_or_in_none() -> None:
    def build(p: Program, x: Any, y: Any, s: Any, k: Any) -> Any:
        value = np.sin(s)
        assert isinstance(value.operand, Var)
        slot, back = slot_for(value.operand, p.block[-1], p.names)

        def keep(i: Any, v: Any) -> Any:
            p.block.append(Save(slot, value.operand))
            return [v]

        p.loop(k, [s], keep)
        restore = Assign(back, Op("restore", (), {"slot": slot}))
        p.loop(3, [s], lambda i, v: [p.block.append(restore) or v])
        return p.sym(s)

    function = function_of(build)
    loops = [i for i, s in enumerate(function.body) if isinstance(s, For)]
    uniform = Plan(function, ["s"])
    assert uniform.slots and not any(uniform.regions.values())
    diverging = Plan(function, ["k"])
    assert members(diverging, function.body) == [loops]


def test_a_list_of_which_each_element_takes_another_item() -> None:
    """The items have one length by their type, or each has its own."""

    def plan_of(items: Array, mapped: str) -> tuple[Plan, list[list[int]]]:
        params: dict[str, Type] = {"items": ListOf(items), "k": int_scalar("k")}
        function = program(params, lambda p, x, k: p.sum(p.emit("list_get", x, k))).main
        plan = Plan(function, [mapped])
        return plan, members(plan, function.body)

    own = Array("float64", (Dim.of("?"),))
    plan, regions = plan_of(own, "k")
    assert len(plan.uneven) == 1 and regions == [[0, 1]]
    assert not plan_of(own, "items")[0].uneven
    assert plan_of(vector("items"), "k")[1] == []
