"""Subscripts of arrays."""

from __future__ import annotations

import pytest

from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.surface.indexing import Indexing, plain_items
from s2s.transforms.specialise.values import Num, Obj, Ref, SliceVal, TupleVal, constant
from tests.transforms.specialise.bench import Bench


def test_items_fill_up_with_whole_axes() -> None:
    here = Bench()
    a = here.array("a", 3)
    items = here[Indexing].index_items(a, TupleVal((constant(0), Obj(...))), here.node)
    assert [i[0] for i in items] == ["int", "all", "all"]
    part = SliceVal(constant(1), None, None)
    items = here[Indexing].index_items(a, TupleVal((part, Obj(None))), here.node)
    assert len(items) == 4
    with pytest.raises(IndexError, match="too many indices"):
        here[Indexing].index_items(a, TupleVal((constant(0),) * 4), here.node)


def test_elements_and_views() -> None:
    here = Bench()
    indexing, a = here[Indexing], here.array("a", 2)
    row = indexing.index_value(a, (("int", constant(0).operand), ("all",)), here.node)
    assert isinstance(row, Ref) and row.cell is a.cell
    element = indexing.index_value(a, (("int", 0), ("int", 1)), here.node)
    assert isinstance(element, Num)


def test_a_store_is_a_new_version() -> None:
    here = Bench()
    a = here.array("a", 1)
    before = here.session.state.heap[a.cell]
    here[Indexing].assign_index(a, (("int", 0),), here.number(), here.node)
    assert here.session.state.heap[a.cell] != before and plain_items((("all",),)) == (("all",),)
    assert here[Arrays].read(a) == here.session.state.heap[a.cell]


def test_integers() -> None:
    here = Bench()
    indexing = here[Indexing]
    assert indexing.integer(constant(3), here.node).known == (3,)
    small = here.number("i", "int32")
    assert indexing.integer(small, here.node).operand.type.dtype == "int64"
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        indexing.integer(here.number(), here.node)


def test_what_is_made_an_array_is_a_call() -> None:
    here = Bench(call=lambda callee, args: here.array())
    here[Indexing].as_array(TupleVal((constant(1),)), here.node)
    ((name, callee, args),) = here.evaluator.seen
    assert (name, callee.value.__name__, len(args)) == ("call", "array", 1)
