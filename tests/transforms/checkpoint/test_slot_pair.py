"""A slot's save and restore, and the loops around both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.plan_tape import TapePlanner
from s2s.transforms.checkpoint.slot_pair import Pair
from s2s.transforms.ir.nodes import For, Module, While
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify import simplify
from tests.transforms.cases import CASES
from tests.transforms.programs import F8, Program, int_scalar, program


def pairs(module: Module, *wrt: str) -> list[Pair]:
    return TapePlanner(simplify(reverse(module, wrt, 0, Facts())).main, Facts()).pairs


def nest(p: Program, x: Any, n: Any) -> Any:
    def outer(i: Any, s: Any) -> Any:
        return p.loop(n, [s], lambda j, t: [np.sin(t)], names=["t"])

    return p.loop(n, [x], outer, names=["s"])


def chain(p: Program, x: Any, n: Any) -> Any:
    return p.loop(n, [x], lambda i, s: [np.sin(s)], names=["s"])


@pytest.mark.parametrize(("build", "depth"), [(chain, 1), (nest, 2)])
def test_loops_around_both(build, depth):
    """Each loop of the forward sweep with its mirror, outermost first."""
    module = program({"x": F8, "n": int_scalar("n")}, build)
    found = [p for p in pairs(module, "x") if len(p.loops()) == depth]
    assert found
    for pair in found:
        assert pair.slot == pair.save.slot == pair.restore.op.attrs["slot"]
        assert pair.value == pair.save.value and pair.common.stmt is None
        assert pair.save_scope.inside(pair.common) and pair.restore_scope.inside(pair.common)
        assert not pair.save_scope.inside(pair.restore_scope)
        for ours, theirs in pair.loops():
            assert isinstance(ours, For) and isinstance(theirs, For)
            assert not ours.reverse and theirs.reverse
        if depth == 2:
            (outer, _), (inner, _) = pair.loops()
            assert any(s is inner for s in outer.body)


def test_a_while_loop_has_a_mirror():
    case = next(c for c in CASES if c.name == "while_active")
    found = [p for p in pairs(case.module, *case.wrt) if p.loops()]
    assert found
    for pair in found:
        ((ours, theirs),) = pair.loops()
        assert isinstance(ours, While) and ours is not theirs


def test_a_branch_is_no_loop():
    def build(p: Program, x: Any) -> Any:
        return p.branch(x > 0.0, lambda: [np.sin(x * x) * np.exp(x)], lambda: [x])[0]

    for pair in pairs(program({"x": F8}, build), "x"):
        assert pair.loops() == []


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_saves_and_restores_are_matched_one_to_one(case):
    found = pairs(case.module, *case.wrt)
    assert len({p.slot.name for p in found}) == len(found)
    for pair in found:
        assert pair.save.slot is pair.slot
        assert len(pair.save_scope.loops(pair.common)) == len(pair.restore_scope.loops(pair.common))
