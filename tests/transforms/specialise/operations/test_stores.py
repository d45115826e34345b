"""Stores into elements and attributes."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.operations.stores import Stores
from s2s.transforms.specialise.values import Growing, Obj, TupleVal, constant
from tests.transforms.specialise.bench import Bench


def test_containers() -> None:
    here = Bench()
    stores, arrays = here[Stores], here[Arrays]
    items, table = arrays.new_list((constant(1), constant(2))), arrays.new_dict((), ())
    stores.store_item(items, constant(-1), constant(9), here.node)
    stores.store_item(table, Obj("k"), constant(3), here.node)
    heap = here.session.state.heap
    assert [v.known for v in heap[items.cell].values] == [(1,), (9,)]
    assert heap[table.cell].keys == ("k",)


def test_arrays_get_a_new_version() -> None:
    here = Bench()
    a = here.array()
    before = here.session.state.heap[a.cell]
    here[Stores].store_item(a, constant(0), constant(1.0), here.node)
    assert here.session.state.heap[a.cell] != before


def test_tuples_are_not_written_to() -> None:
    here = Bench()
    with pytest.raises((S2SError, TypeError)):
        here[Stores].store_item(TupleVal((constant(1),)), constant(0), constant(2), here.node)


def test_the_rows_of_a_matrix_are_elements() -> None:
    here = Bench()
    a = here.array("a", 2)
    made = here[Stores].rows_of(a, here.node)
    assert (
        isinstance(here.session.state.heap[made.cell], Growing) and a.cell in here[Arrays].appended
    )
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        here[Stores].rows_of(here.array("z", 0), here.node)


def test_updates_in_place_keep_the_kind() -> None:
    here = Bench()
    here[Stores].require_same_kind("add", "float64", "float64", here.node)
    with pytest.raises(Exception, match="int64"):
        here[Stores].require_same_kind("add", "float64", "int64", here.node)
