"""Attributes and subscripts of values."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.operations.attributes import Attributes
from s2s.transforms.specialise.values import (
    Bound,
    Ended,
    Num,
    Obj,
    Ref,
    SliceVal,
    TupleVal,
    constant,
)
from s2s.transforms.syntax import core
from tests.transforms.specialise.bench import Bench


def test_attributes_of_arrays_and_scalars() -> None:
    here = Bench()
    attributes, a = here[Attributes], here.array("a", 2)
    assert attributes.attribute(a, "ndim", here.node).known == (2,)
    assert len(attributes.attribute(a, "shape", here.node).values) == 2
    turned = attributes.attribute(a, "T", here.node)
    assert isinstance(turned, Ref) and turned.cell is a.cell
    assert isinstance(attributes.attribute(a, "sum", here.node), Bound)
    assert attributes.attribute(here.number(), "real", here.node) is not None
    with pytest.raises((S2SError, AttributeError)):
        attributes.attribute(TupleVal(()), "colour", here.node)


def test_subscripts_of_sequences_and_dicts() -> None:
    here = Bench()
    attributes = here[Attributes]
    items = TupleVal((constant(1), constant(2), constant(3)))
    assert attributes.subscript(items, constant(-1), here.node).known == (3,)
    part = attributes.subscript(items, SliceVal(constant(1), None, None), here.node)
    assert [v.known for v in part.values] == [(2,), (3,)]
    table = here[Arrays].new_dict(("k",), (constant(5),))
    assert attributes.subscript(table, Obj("k"), here.node).known == (5,)
    with pytest.raises(IndexError, match="tuple index out of range"):
        attributes.subscript(items, constant(7), here.node)
    with pytest.raises(Ended):
        attributes.no_element("list index out of range")
    assert here.block


def test_a_run_time_index_makes_scalars_an_array() -> None:
    here = Bench()
    items = TupleVal((constant(1.0), constant(2.0)))
    made = here[Attributes].subscript(items, here.number("i", "int64"), here.node)
    assert isinstance(made, Num) and made.known is None and "index" in here.ops


def test_the_expression_is_evaluated_above() -> None:
    here = Bench(eval=lambda node: TupleVal((constant(4),)))
    node = core.Item(here.node.at, core.Refused(here.node.at, "", ""), core.Const(here.node.at, 0))
    assert here[Attributes].eval_Item(node).known == (4,)
    assert here.evaluator.seen == [("eval", node.value)]


def test_rows() -> None:
    here = Bench()
    a = here.array("a", 2)
    row = here[Attributes].row(a, constant(1), here.node)
    assert isinstance(row, Ref) and row.cell is a.cell
