"""Functions as blocks of operations."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.derivatives.tracing import DerivedVal, Tracing
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.values import Num, Obj, TupleVal
from tests.transforms.specialise.bench import Bench, program


def test_a_call_is_traced_into_a_block_of_its_own() -> None:
    here = Bench()

    def call(callee, args):
        x = here[Arrays].sym(args[0])
        return Num((x * x).operand)

    here.evaluator.answers["call"] = call
    x = here.number()
    derived = DerivedVal("grad", Obj(program))
    traced = here[Tracing].trace(derived, (x,), {}, here.node)
    assert [v.operand for v in (x,)] == traced.given and len(traced.params) == 1
    assert "multiply" not in here.ops and len(traced.block) == 1
    assert traced.trees(["leaf"]) == [["leaf"]]


def test_structures_are_packed_into_leaves() -> None:
    here = Bench()
    value = TupleVal((here.number(), here.array()))
    pattern, operands = here[Tracing].packed(value, here.node)
    assert len(operands) == 2
    values = {i: Num(x) for i, x in enumerate(operands)}
    assert here[Tracing].filled(pattern, values, "made") == TupleVal((values[0], values[1]))


def test_only_floats_have_derivatives() -> None:
    here = Bench(call=lambda callee, args: args[0])
    derived = DerivedVal("grad", Obj(program))
    with pytest.raises((S2SError, TypeError)):
        here[Tracing].trace(derived, (here.number("i", "int64"),), {}, here.node)
    assert here[Tracing].parameter_names(Obj(program)) == ["x"]
