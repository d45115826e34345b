"""What loops carry."""

from __future__ import annotations

import pytest

from s2s.transforms.specialise.control.loop_joins import LoopJoins
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.places import NeedUnroll
from s2s.transforms.specialise.values import Conflict, Num, Obj, constant
from tests.transforms.specialise.bench import Bench


def test_a_number_that_changes_is_carried() -> None:
    here = Bench()
    here.env.update(s=constant(0.0), k=constant(2))

    def once():
        total = here.session.b.emit("add", here.env["s"].operand, here.number().operand)
        here.env["s"] = Num(total.operand)
        return False, None

    block, carried, until = here[LoopJoins].loop(once, here.node)
    assert len(carried) == 1 and len(block) == 1 and until is None
    assert here.env["s"].known is None and here.env["k"].known == (2,)


def test_names_that_change_their_kind_are_a_conflict() -> None:
    here = Bench()
    here.env["s"] = constant(0.0)

    def once():
        here.env["s"] = Obj("text")
        return False, None

    here[LoopJoins].loop(once, here.node)
    assert isinstance(here.env["s"], Conflict)


def test_a_version_of_an_array_is_carried() -> None:
    here = Bench()
    a = here.env["a"] = here.array()

    def once():
        array = here[Arrays].sym(a)
        here.session.state.heap[a.cell] = (array + array).operand
        return False, None

    _, carried, _ = here[LoopJoins].loop(once, here.node)
    assert [c.phi.type.ndim for c in carried] == [1]


def test_a_loop_that_cannot_be_one_leaves_its_depth() -> None:
    here = Bench()

    def once():
        here[Arrays].places.need_unroll(here.node, "no")

    with pytest.raises(NeedUnroll):
        here[LoopJoins].loop(once, here.node)
    assert here[LoopJoins].loop_depth == 0
