"""Sequences of the run as counts and elements."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.operations.streams import Streams
from s2s.transforms.specialise.values import (
    Cell,
    EnumerateVal,
    ListVal,
    Obj,
    ProductVal,
    RangeVal,
    Ref,
    TupleVal,
    ZipVal,
    constant,
)  # fmt: skip
from tests.transforms.specialise.bench import Bench


def upto(stop) -> RangeVal:
    return RangeVal(constant(0), stop, constant(1))


def test_counts_of_ranges() -> None:
    here = Bench()
    streams = here[Streams]
    assert streams.range_count(RangeVal(constant(7), constant(0), constant(-2))).known == (4,)
    assert streams.range_count(upto(here.number("n", "int64"))).known is None
    assert here.ops[-1] == "maximum"


def test_elements_of_arrays_and_ranges() -> None:
    here = Bench()
    a, k = here.array("a", 2), here.number("k", "int64")
    stream = here[Streams].stream(a, here.node)
    row = stream.element(k)
    assert isinstance(row, Ref) and row.cell is a.cell
    integers = here[Streams].stream(upto(here.number("n", "int64")), here.node)
    assert integers.element(k) is k


def test_sequences_of_sequences() -> None:
    here = Bench()
    k = here.number("k", "int64")
    both = here[Streams].stream(ZipVal((here.array("a"), here.array("b"))), here.node)
    assert isinstance(both.element(k), TupleVal) and "minimum" in here.ops
    counted = here[Streams].stream(EnumerateVal(here.array("c"), constant(0)), here.node)
    assert counted.element(k).values[0] is k
    grid = here[Streams].stream(ProductVal((upto(constant(2)), upto(constant(3)))), here.node)
    assert grid.count.known == (6,) and len(grid.element(k).values) == 2


def test_what_is_not_iterable() -> None:
    here = Bench()
    with pytest.raises(S2SError, match="not iterable"):
        here[Streams].stream(Obj(len), here.node)


def test_the_lists_that_loops_run_over() -> None:
    here = Bench()
    streams, cells = here[Streams], [Cell(), Cell()]
    zipped = ZipVal((ListVal(cells[0]), EnumerateVal(ListVal(cells[1]), constant(0))))
    assert streams.lists_in(zipped) == cells
    with streams.running_over([cells[0]]):
        with pytest.raises(ValueError), streams.running_over([cells[1]]):
            assert streams.run_over == cells
            raise ValueError
        assert streams.run_over == [cells[0]]
    assert streams.run_over == []


def test_a_loop_holds_on_to_what_it_runs_over() -> None:
    here = Bench()
    value = here.array()
    with here[Streams].holding(value, here.node), here[Streams].holding(constant(1), here.node):
        assert value in here.env.values() and len(here.env) == 2
    assert not here.env
