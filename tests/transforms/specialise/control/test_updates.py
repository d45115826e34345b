"""Writes into arrays."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import If, Raise
from s2s.transforms.specialise.control.joins import Joins
from s2s.transforms.specialise.control.updates import Updates
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.values import Cell, Num, Ref, constant
from tests.transforms.specialise.bench import Bench

FIRST = (("index", (("int", 0),)),)


def test_a_write_is_a_new_version() -> None:
    here = Bench()
    a = here.array()
    before = here.session.state.heap[a.cell]
    here[Updates].write(a, FIRST, constant(1.0).operand, here.node)
    assert here.session.state.heap[a.cell] != before and here.ops[-1] == "update"
    here[Updates].write(a, FIRST, constant(1.0).operand, here.node, add=True)
    assert here.ops[-1] == "update_add"


def test_what_may_not_be_written() -> None:
    here = Bench()
    a = here.array()
    a.cell.readonly = True
    here[Updates].write(a, FIRST, constant(1.0).operand, here.node)
    assert isinstance(here.block[-1], Raise) and "update" not in here.ops
    b = here.array("b")
    with pytest.raises(S2SError, match="complex value cannot be stored"):
        here[Updates].write(b, FIRST, constant(1j).operand, here.node)


def test_a_write_goes_to_the_one_of_two_arrays() -> None:
    here = Bench()
    a, b = here.array("a"), here.array("b")
    cond = Num(here.session.b.emit("less", here.number().operand, 0.0).operand)
    either = here[Joins].choose(cond, lambda: a, lambda: b, here.node)
    assert isinstance(either, Ref) and isinstance(either.cell, Cell)
    before = {r: here.session.state.heap[r.cell] for r in (a, b)}
    here[Updates].write(either, FIRST, constant(1.0).operand, here.node)
    assert all(here.session.state.heap[r.cell] != before[r] for r in (a, b))
    assert sum(isinstance(s, If) for s in here.block) >= 2
    assert here[Arrays].read(either) is not None
