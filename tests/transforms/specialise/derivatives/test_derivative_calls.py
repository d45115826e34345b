"""Objects that are derivatives, and calls of them."""

from __future__ import annotations

import pytest

import s2s
from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import If
from s2s.transforms.specialise.derivatives.derivative_calls import DerivativeCalls
from s2s.transforms.specialise.derivatives.tracing import DerivedVal
from s2s.transforms.specialise.values import (
    CheckpointedVal,
    Obj,
    Partial,
    RangeVal,
    TupleVal,
    constant,
)
from tests.transforms.specialise.bench import Bench, program


def upto(n) -> RangeVal:
    return RangeVal(constant(0), n, constant(1))


def test_a_derivative_that_is_made_in_the_program() -> None:
    here = Bench()
    calls = here[DerivativeCalls]
    made = calls.make_derived(Obj(s2s.grad), (Obj(program),), {"wrt": constant(0)}, here.node)
    assert isinstance(made, DerivedVal) and (made.kind, made.wrt) == ("grad", 0)
    decorator = calls.make_derived(Obj(s2s.grad), (), {"wrt": constant(0)}, here.node)
    assert isinstance(decorator, Partial)
    with pytest.raises(S2SError, match="takes the function alone"):
        calls.make_derived(Obj(s2s.grad), (Obj(program), here.number()), {}, here.node)


def test_a_vjp_is_a_value_and_a_pullback() -> None:
    here = Bench(call=lambda callee, args: args[0])
    x = here.number()
    made = here[DerivativeCalls].make_derived(Obj(s2s.vjp), (Obj(program), x), {}, here.node)
    assert isinstance(made, TupleVal) and made.values[0] is x
    assert isinstance(made.values[1], Partial)


def test_the_amount_of_checkpoints() -> None:
    here = Bench()
    calls, n = here[DerivativeCalls], here.number("n", "int64")
    made = calls.checkpointed(upto(n), {"snapshots": constant(3)}, here.node)
    assert isinstance(made, CheckpointedVal) and not here.block
    with pytest.raises(ValueError, match="snapshots must be at least 1"):
        calls.checkpointed(upto(n), {"snapshots": constant(0)}, here.node)
    with pytest.raises(S2SError, match="one of snapshots= and memory="):
        calls.checkpointed(upto(n), {}, here.node)
    calls.checkpointed(upto(n), {"memory": n}, here.node)
    assert isinstance(here.block[-1], If)  # a check at run time
