"""Functions that are called for each element of arrays."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.calls.vectorized import Vectorized
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.surface.surface_calls import SurfaceCalls
from s2s.transforms.specialise.values import Num, Obj, Ref, constant
from tests.transforms.specialise.bench import Bench


def bench() -> Bench:
    """A fake evaluator whose function multiplies, and whose loops run once."""

    def call(function, args):
        return here[SurfaceCalls].operate("multiply", *args, node=here.node)

    def for_each(target, over, body, until, node) -> bool:
        here.env[target.id] = here.number("k", "int64")
        return body()

    here = Bench(call=call, for_each=for_each)
    return here


def test_scalars_are_passed_on() -> None:
    here = bench()
    made = here[Vectorized].call_vectorized(Obj(len), (here.number(), constant(2.0)), {}, here.node)
    assert isinstance(made, (Num, Ref)) and here.ops[0] == "multiply"
    assert [name for name, *_ in here.evaluator.seen] == ["call"]


def test_arrays_are_broadcast() -> None:
    here = bench()
    matrix, row = here.array("a", 2), here.array("b")
    made = here[Vectorized].call_vectorized(Obj(len), (matrix, row), {}, here.node)
    assert isinstance(made, Ref)
    assert here[Arrays].ref_type(made).ndim == 2 and here[Arrays].ref_type(made).dtype == "float64"
    names = [name for name, *_ in here.evaluator.seen]
    # one call for the dtype of the result, which leaves no statements, and one in the loop
    assert names == ["call", "for_each", "call"]
    assert "broadcast_like" in here.ops and here.ops[-1] == "reshape"


def test_what_is_no_number_or_array() -> None:
    here = bench()
    with pytest.raises(S2SError, match="numbers and arrays"):
        here[Vectorized].call_vectorized(Obj(len), (Obj("a"),), {}, here.node)
    with pytest.raises(S2SError, match="numbers and arrays"):
        here[Vectorized].call_vectorized(Obj(len), (here.array(),), {"k": constant(1)}, here.node)
