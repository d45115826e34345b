"""Functions of NumPy and itertools that need more than the call of one surface."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.calls.numpy_calls import NumpyCalls
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.values import Bound, IterVal, Num, Obj, Ref, TupleVal, constant
from tests.transforms.specialise.bench import Bench


def test_reductions_of_ufuncs() -> None:
    here = Bench()
    calls, a = here[NumpyCalls], here.array("a", 2)
    rows = calls.call_numpy(np.add.reduce, (a,), {}, here.node)
    assert isinstance(rows, Ref) and here[Arrays].ref_type(rows).ndim == 1 and here.ops == ["sum"]
    total = calls.call_numpy(np.maximum.reduce, (a,), {"axis": Obj(None)}, here.node)
    assert isinstance(total, Num) and here.ops[-1] == "max"


def test_outer_products_broadcast() -> None:
    here = Bench()
    table = here[NumpyCalls].call_numpy(
        np.add.outer, (here.array("a"), here.array("b", 2)), {}, here.node
    )
    assert here[Arrays].ref_type(table).ndim == 3 and here.ops[-1] == "add"
    one = here[NumpyCalls].call_numpy(
        np.multiply.outer, (here.number(), here.number("y")), {}, here.node
    )
    assert here[Arrays].sym(one).ndim == 0


def test_index_tuples() -> None:
    here = Bench()
    calls, a = here[NumpyCalls], here.array("a", 2)
    for function, args in (
        (np.ndindex, (constant(2), constant(3))),
        (np.ndenumerate, (a,)),
        (itertools.product, (TupleVal((constant(1),)), a)),
    ):
        made = calls.call_numpy(function, args, {}, here.node)
        assert isinstance(made, IterVal) and made.cls is function
    with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
        calls.call_numpy(np.ndindex, (), {"k": constant(1)}, here.node)
    with pytest.raises(S2SError, match="repeat="):
        calls.call_numpy(itertools.product, (a,), {"repeat": constant(2)}, here.node)


def test_combinations_are_of_known_elements() -> None:
    here = Bench()
    calls = here[NumpyCalls]
    known = TupleVal((Obj("a"), Obj("b"), Obj("c")))
    made = calls.call_numpy(itertools.combinations, (known, constant(2)), {}, here.node)
    assert isinstance(made, IterVal)
    with pytest.raises(S2SError, match="run-time sequence"):
        calls.call_numpy(itertools.combinations, (here.array(), constant(2)), {}, here.node)


def test_static_objects() -> None:
    here = Bench()
    calls = here[NumpyCalls]
    found = calls.call_numpy(np.finfo, (Obj(np.float32),), {}, here.node)
    assert found.value.eps == np.finfo(np.float32).eps
    assert calls.call_numpy(str, (constant(3),), {}, here.node).value == "3"
    assert isinstance(calls.call_numpy(np.vectorize, (Obj(len),), {}, here.node), Bound)
    with pytest.raises(TypeError):
        calls.call_numpy(np.dtype, (Obj("no dtype"),), {}, here.node)


def test_others_are_left_to_the_caller() -> None:
    here = Bench()
    assert here[NumpyCalls].call_numpy(np.linspace, (), {}, here.node) is NotImplemented
    assert here[NumpyCalls].call_numpy(np.sin.reduce, (here.array(),), {}, here.node) is (
        NotImplemented
    )
