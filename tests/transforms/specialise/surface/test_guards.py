"""Values as surfaces take them, and their errors."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.builder import Sym
from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.surface.guards import Guards
from s2s.transforms.specialise.values import Obj, TupleVal, constant
from tests.transforms.specialise.bench import Bench


def test_what_surfaces_get() -> None:
    here = Bench()
    given = here[Guards].to_surface(TupleVal((here.array(), Obj("sum"))), here.node)
    assert isinstance(given[0], Sym) and given[1] == "sum"


def test_an_operation_of_numpy() -> None:
    here = Bench()
    made = here[Guards].surface_call("numpy.tanh", (here.array(),), {}, here.node)
    assert here.ops == ["tanh"] and made.ndim == 1


def test_errors_have_the_place_of_the_call() -> None:
    here = Bench()
    with pytest.raises((ValueError, S2SError), match=r"y = x \* 2.0"):
        with here[Guards].guarding(here.node):
            raise ValueError("wrong")
    with pytest.raises((ValueError, S2SError)):
        here[Guards].surface_call("numpy.sum", (here.array(), constant(7)), {}, here.node)
