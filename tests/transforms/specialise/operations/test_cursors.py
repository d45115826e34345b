"""Sequences are read element by element, as they are by then."""

from __future__ import annotations

from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.operations.cursors import END, Cursors
from s2s.transforms.specialise.values import EnumerateVal, Items, RestVal, TupleVal, constant
from tests.transforms.specialise.bench import Bench

ITEMS = TupleVal((constant(1), constant(2), constant(3)))


def test_a_cursor_reads_element_by_element() -> None:
    here = Bench()
    cursor = here[Cursors].cursor(EnumerateVal(ITEMS, constant(5)))
    assert cursor is not None
    first = cursor.next(here.node)
    assert [v.known for v in first.values] == [(5,), (1,)]
    cursor.moved(2)
    assert cursor.next(here.node) is END
    assert here[Cursors].cursor(here.array()) is None


def test_a_list_is_read_as_it_is_by_then() -> None:
    here = Bench()
    items = here[Arrays].new_list((constant(1),))
    cursor = here[Cursors].cursor(items)
    assert cursor is not None and cursor.next(here.node).known == (1,)
    here.session.state.heap[items.cell] = Items((constant(1), constant(8)))
    assert cursor.next(here.node).known == (8,) and cursor.next(here.node) is END


def test_a_position_of_the_run_has_no_cursor() -> None:
    here = Bench()
    assert here[Cursors].cursor(RestVal(ITEMS, here.number("k", "int64"))) is None
    cursor = here[Cursors].cursor(RestVal(ITEMS, constant(2)))
    assert cursor is not None
    assert [cursor.next(here.node), cursor.next(here.node)] == [constant(3), END]
