"""Arguments and objects from outside."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.nodes import Var
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.outside.objects import Objects, path_of_class, view_items
from s2s.transforms.specialise.shared import Lifted
from s2s.transforms.specialise.values import (
    EnumerateVal,
    Fields,
    ListVal,
    Num,
    Obj,
    RangeVal,
    Ref,
    TupleVal,
    ZipVal,
    constant,
)
from tests.transforms.specialise.bench import Bench

PATH = (("global", "thing"),)


def test_an_array_from_outside_is_a_parameter_and_is_lifted_once() -> None:
    here = Bench()
    objects = here[Objects]
    made = objects.lift(np.ones(3), PATH)
    assert isinstance(made, Ref) and [p.path for p in here.session.params] == [PATH]
    assert objects.lift(np.ones(3), PATH) is made
    assert list(objects.reached) == [Lifted(PATH, None)]


def test_a_list_from_outside_is_one_by_whatever_path() -> None:
    here = Bench()
    given = [1, 2.0]
    first = here[Objects].lift(given, PATH)
    second = here[Objects].lift(given, (("global", "other"),))
    assert first is second and isinstance(first, ListVal)
    assert [g.kind for g in here.session.shared.object_guards].count("is") == 2
    assert first.cell in here[Arrays].first_contents


def test_static_items() -> None:
    here = Bench()
    objects = here[Objects]
    indices = RangeVal(constant(0), constant(3), constant(1))
    items = objects.static_items(ZipVal((indices, TupleVal((Obj("a"), Obj("b"))))))
    assert items is not None and [v.values[1].value for v in items] == ["a", "b"]
    counted = objects.static_items(EnumerateVal(indices, constant(5)))
    assert [v.values[0].known for v in counted] == [(5,), (6,), (7,)]
    unknown = RangeVal(constant(0), here.number("n", "int64"), constant(1))
    assert objects.static_items(unknown) is None and objects.static_items(here.array()) is None
    assert [v.value for v in objects.static_items(Obj("ab"))] == ["a", "b"]


def test_views_of_dicts() -> None:
    content = Fields(("k",), (constant(2.0),))
    assert view_items(content, "values")[0].known == (2.0,)
    assert view_items(content, "keys")[0].value == "k"
    assert [type(v) for v in view_items(content, "items")[0].values] == [Obj, Num]


def test_what_a_caller_passes_is_taken_in_once() -> None:
    here = Bench()
    var = here.number().operand

    def unpack(variables: list[Var]) -> Num:
        variables.append(var)
        return Num(var)

    made = here[Objects].take_in("key", "holder", unpack)
    assert here[Objects].lifted["key"] is made and here[Objects].reached["holder"] == [var]


def test_a_failed_attempt_forgets_what_was_lifted() -> None:
    here = Bench()
    saved = here.session.checkpoint()
    here[Objects].lift(np.ones(3), PATH)
    here[Objects].note_looked_up({(1, "a"): "x.a"})
    here.session.rollback(saved)
    assert not here[Objects].lifted and not here.session.params and not here[Objects].looked_up


@pytest.mark.parametrize(
    "value, path", [(Obj(1, PATH), (*PATH, (".", "__class__"))), (Obj(int), ())]
)
def test_the_path_of_a_class(value: Obj, path) -> None:
    assert path_of_class(value) == path
