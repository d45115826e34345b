"""Run-time lists."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import ListOf, Scalar
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.heap.lists import Lists
from s2s.transforms.specialise.values import Growing, Items, Num, Obj, Ref, constant
from tests.transforms.specialise.bench import Bench


def test_a_list_of_scalars_grows() -> None:
    here = Bench()
    grown = here[Lists].grow(Items((here.number(), constant(1))), Scalar("float64"), here.node)
    assert grown.operand.type == ListOf(Scalar("float64"))
    assert here.ops.count("list_append") == 2 and "cast" in here.ops


def test_arrays_in_a_list_are_its_elements() -> None:
    here = Bench()
    a = here.array()
    type_ = here[Arrays].ref_type(a)
    grown = here[Lists].grow(Items((a,)), type_, here.node)
    assert a.cell in here[Arrays].appended
    element = here[Lists].list_element(grown, 0)
    assert isinstance(element, Ref) and element.cell in here[Arrays].appended


def test_other_elements_are_refused() -> None:
    here = Bench()
    with pytest.raises(S2SError, match="may hold numbers or arrays only"):
        here[Lists].grow(Items((Obj("text"),)), Scalar("float64"), here.node)


def test_a_wider_element_widens_the_list() -> None:
    here = Bench()
    lists = here[Lists]
    grown = lists.grow(Items((here.number("i", "int64"),)), Scalar("int64"), here.node)
    wide = lists.widened(grown, Scalar("float64"), here.node)
    assert isinstance(wide, Growing) and wide.operand.type.elem.dtype == "float64"
    assert lists.widened(wide, Scalar("float64"), here.node) is wide


def test_a_copy_is_another_list() -> None:
    here = Bench()
    made = here[Lists].copy_list(Items((constant(1),)))
    content = here.session.state.heap[made.cell]
    assert [v.known for v in content.values if isinstance(v, Num)] == [(1,)]
