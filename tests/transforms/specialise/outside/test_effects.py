"""What a program sets outside."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.outside.effects import Effects
from s2s.transforms.specialise.outside.objects import Objects
from s2s.transforms.specialise.values import Items, Obj, constant
from tests.transforms.specialise.bench import Bench

PATH = (("global", "thing"),)


class Thing:
    pass


def test_an_attribute_that_is_set_is_a_change() -> None:
    here, thing = Bench(), Thing()
    thing.count = 1.0
    here[Effects].store_on_object(Obj(thing, PATH), "count", constant(2.0), here.node)
    ((path, step, value),) = here[Effects].changes()
    assert (path, step, value.known) == (PATH, (".", "count"), (2.0,))
    assert thing.count == 1.0


def test_what_keeps_its_value_is_no_change() -> None:
    here = Bench()
    made = here[Objects].lift([1.0, 2.0], PATH)
    assert here[Effects].changes() == []
    first, second = here.session.state.heap[made.cell].values
    here.session.state.heap[made.cell] = Items((first, constant(5.0)))
    ((path, step, value),) = here[Effects].changes()
    assert (path, step, value.known) == (PATH, ("[]", 1), (5.0,)) and second is not value


def test_a_list_from_outside_may_not_grow() -> None:
    here = Bench()
    made = here[Objects].lift([1.0, 2.0], PATH)
    with pytest.raises(S2SError):
        here[Effects].refuse_growth(made.cell, here.node)
    own = here[Objects].arrays.new_list(())
    here[Effects].refuse_growth(own.cell, here.node)
