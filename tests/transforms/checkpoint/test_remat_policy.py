"""The costs of the values of a loop's body, and the slots that the cheapest choice needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.min_cut import store_cost
from s2s.transforms.checkpoint.plan_tape import TapePlanner, plan_tape
from s2s.transforms.checkpoint.remat_policy import RematPolicy
from s2s.transforms.checkpoint.rematerialize import INFINITE_COST
from s2s.transforms.ir.nodes import Assign, For, Function, Save, walk
from s2s.transforms.ir.record import replace
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify import simplify
from tests.transforms.programs import F8, Program, int_scalar, program, vector


def policy(params: dict[str, Any], build: Any) -> tuple[RematPolicy, Function]:
    main = simplify(reverse(program(params, build), ["x"], 0, Facts())).main
    saver = TapePlanner(main, Facts())
    return RematPolicy(saver), main


def several(p: Program, x: Any, n: Any) -> Any:
    """Three values that are made of one: storing the one is cheaper."""

    def body(i: Any, s: Any, total: Any) -> Any:
        e = np.exp(s)
        return e * 0.3, total + (e + 1.0) * (e - 2.0) * (e * 3.0)

    return p.loop(n, [x, 0.0], body, names=["s", "total"])[1]


PARAMS = {"x": F8, "n": int_scalar("n")}


def test_costs_of_values():
    chooser, main = policy(PARAMS, several)
    group = [pair for pair in chooser.saver.pairs if pair.loops()]
    values = chooser.values(group)
    assert {pair.value.name for pair in group} <= values.keys()
    made = {s.target.name: s.op.name for s in walk(main.body) if isinstance(s, Assign)}
    for name, value in values.items():
        assert value.store == store_cost(F8)  # all of the block of the saves
        if made.get(name) == "exp":
            assert value.compute == 16.0 and len(value.operands) == 1
        elif made.get(name) in ("add", "subtract", "multiply"):
            assert value.compute == 1.0
        else:
            assert value.compute == INFINITE_COST  # a carried value


def linear(p: Program, x: Any, n: Any) -> Any:
    """The sweep needs three sums, but not the carried value that they are made of."""

    def body(i: Any, s: Any) -> Any:
        return [np.sin(s + 1.0) + np.sin(s * 2.0) + np.sin(s - 3.0)]

    return p.loop(n, [x], body, names=["s"])


def test_what_others_are_made_of_is_stored():
    chooser, main = policy(PARAMS, linear)
    ((choice, group),) = chooser.choices()
    needed = {pair.value.name for pair in group}
    (loop,) = (s for s in main.body if isinstance(s, For) and not s.reverse)
    assert choice.stored == {loop.carried[0].phi.name} and not choice.stored & needed
    assert choice.computed >= needed and len(needed) == 3
    # Its slot is saved at the start of the body, and restored first.
    assert chooser.add_slots(choice, group)
    saved, restored = loop.body[0], chooser.saver.block_of(group[0].restore_scope)[0]
    assert isinstance(saved, Save) and saved.value == loop.carried[0].phi
    assert isinstance(restored, Assign) and restored.op.attrs["slot"] is saved.slot


def test_a_choice_without_new_slots():
    chooser, _ = policy(PARAMS, linear)
    ((choice, group),) = chooser.choices()
    name = group[0].value.name
    assert not chooser.add_slots(replace(choice, stored=frozenset({name})), group)


def test_storing_what_is_needed_may_be_best():
    def build(p: Program, x: Any, n: Any) -> Any:
        return p.loop(n, [x], lambda i, s: [np.sin(s)], names=["s"])

    assert policy(PARAMS, build)[0].choices() == []


def test_outside_of_loops_there_is_no_choice():
    def build(p: Program, x: Any, n: Any) -> Any:
        return p.branch(x > 0.0, lambda: [p.sum(linear(p, x, 3)[0])], lambda: [np.exp(x)])[0]

    ((_, group),) = policy(PARAMS, build)[0].choices()
    assert all(pair.loops() for pair in group)


def test_values_that_are_available_cost_nothing():
    """Parameters, constants of the loop, and its index."""

    def build(p: Program, x: Any, n: Any) -> Any:
        c = np.exp(x)

        def body(i: Any, s: Any) -> Any:
            return [np.sin(s) * (c + p.emit("cast", i, dtype="float64"))]

        return p.loop(n, [x], body, names=["s"])

    chooser, main = policy(PARAMS, build)
    group = [pair for pair in chooser.saver.pairs if pair.loops()]
    values = chooser.values(group)
    before = {s.target.name for s in main.body if isinstance(s, Assign)}
    assert not before & values.keys() and not {"x", "n", "i"} & values.keys()


def test_a_view_is_not_stored_itself():
    """The array that it is taken from is, in its own layout."""

    def build(p: Program, x: Any, n: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            t = p.emit("transpose", np.exp(s), axes=(1, 0), hint="t")
            return [np.sin(t) * t]

        return p.sum(p.loop(n, [x], body, names=["s"])[0])

    chooser, main = policy({"x": vector("x", 2), "n": int_scalar("n")}, build)
    made = {s.target.name: s.op.name for s in walk(main.body) if isinstance(s, Assign)}
    values = chooser.values([p for p in chooser.saver.pairs if p.loops()])
    assert [v.store for name, v in values.items() if made.get(name) == "transpose"] == [
        INFINITE_COST
    ]


def loss(x: Any, n: int) -> Any:
    s = x
    for _ in range(n):
        s = np.sin(s + 1.0) + np.sin(s * 2.0) + np.sin(s - 3.0)
    return s


@pytest.mark.parametrize("n", [0, 1, 3])
def test_values(n):
    """Oracle: finite differences."""
    g = s2s.grad(loss, backend="loops")
    slope = (loss(0.4 + 1e-6, n) - loss(0.4 - 1e-6, n)) / 2e-6
    assert g(0.4, n) == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert g.source.count("np.empty(") == 1  # one value per iteration


def test_the_plan_follows_the_choice():
    module = plan_tape(simplify(reverse(program(PARAMS, linear), ["x"], 0, Facts())), Facts())
    saves = [s for s in walk(module.main.body) if isinstance(s, Save)]
    assert len(saves) == 1
