"""Calls of surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import Scalar
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.heap.lists import Lists
from s2s.transforms.specialise.surface.surface_calls import SurfaceCalls
from s2s.transforms.specialise.values import Items, ListVal, Num, Ref, constant
from tests.transforms.specialise.bench import Bench


def test_a_call_gives_a_value() -> None:
    here = Bench()
    calls, a = here[SurfaceCalls], here.array("a", 2)
    total = calls.call_surface("numpy.sum", (a,), {}, here.node)
    rows = calls.call_surface("numpy.sum", (a,), {"axis": constant(0)}, here.node)
    assert (
        isinstance(total, Num) and isinstance(rows, Ref) and here[Arrays].ref_type(rows).ndim == 1
    )
    turned = calls.call_surface("numpy.transpose", (a,), {}, here.node)
    assert isinstance(turned, Ref) and turned.cell is a.cell


def test_an_operator_on_scalars() -> None:
    here = Bench()
    made = here[SurfaceCalls].operate("add", here.number("x"), constant(1.0), node=here.node)
    assert isinstance(made, Num) and here.ops == ["add"]


def test_a_run_time_list_is_joined_along_its_axis() -> None:
    here = Bench()
    a = here.array()
    grown = here[Lists].grow(Items((a,)), here[Arrays].ref_type(a), here.node)
    made = here[Arrays].new_list(())
    here.session.state.heap[made.cell] = grown
    joined = here[SurfaceCalls].call_surface("numpy.concatenate", (made,), {}, here.node)
    assert isinstance(made, ListVal) and here[Arrays].ref_type(joined).ndim == 1
    assert "list_stack" in here.ops and grown.operand.type.elem != Scalar("float64")


def test_arrays_of_rank_0() -> None:
    here = Bench()
    made = here[SurfaceCalls].of_rank_0(here.number())
    assert isinstance(made, Num) and len(made.arrays) == 1


def test_a_function_without_a_rule() -> None:
    here = Bench()
    with pytest.raises(S2SError):
        here[SurfaceCalls].no_rule(np.busday_count, here.node)
