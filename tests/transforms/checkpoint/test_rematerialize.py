"""Values computed again at another point: costs, limits, and what must be available there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.checkpoint.rematerialize import (
    INFINITE_COST,
    MAX_RECOMPUTE_COST,
    Rematerializer,
    cost,
)
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.builder import NameSupply, const
from s2s.transforms.ir.nodes import Array, Const, Function, Op, Operand, Scalar, Var
from s2s.transforms.ir.symbolic_dims import Dim
from tests.transforms.programs import F8

V = Array("float64", (Dim.of("x.0"),))
X, Y = Var("x", V), Var("y", V)
A, B = Var("a", F8), Var("b", F8)


def op(name: str, *args: Operand, **attrs: Any) -> Op:
    return Op(name, args, attrs)


@pytest.mark.parametrize(
    ("operation", "want"),
    [
        (op("shape", X, axis=0), 0.0),
        (op("restore"), INFINITE_COST),  # which is what is to be replaced
        (op("transpose", X, axes=(0,)), 1.0),
        (op("zeros_like", X, dtype="float64"), 1.0),
        (op("undef", type=F8), INFINITE_COST),
        (op("index", X, const(0), items=(("int", 1),)), 1.0),
        (op("index", X, Y, items=(("array", 1),)), 4.0),
        (op("add", A, B), 1.0),
        (op("divide", A, B), 4.0),
        (op("sqrt", A), 4.0),
        (op("exp", A), 16.0),
        (op("power", A, const(2)), 2.0),
        (op("power", A, const(-3)), 2.0),
        (op("power", A, const(4)), 16.0),
        (op("power", A, B), 16.0),
        (op("sum", X, axis=None, keepdims=False), INFINITE_COST),
        (op("matmul", X, Y), INFINITE_COST),
    ],
    ids=lambda v: v.name if isinstance(v, Op) else str(v),
)
def test_costs(operation, want):
    assert cost(operation) == want


DEFINITIONS = {
    "t": op("multiply", A, A),
    "u": op("add", Var("t", F8), const(1.0)),
    "e": op("exp", Var("u", F8)),
    "n": op("shape", X, axis=0),
    "v": op("multiply", X, Var("t", F8)),
    "p": op("index", X, const(0), items=(("int", 1),)),
}
T, U, E, P = (Var(name, F8) for name in "tuep")
N, SCALED = Var("n", Scalar("int64")), Var("v", V)


def maker(available: str = "ax", lasting: str = "x", **options: Any) -> Rematerializer:
    return Rematerializer(
        DEFINITIONS,
        NameSupply({*"abxytuenvp"}),
        lambda v: v if v.name in available else None,
        lambda v: v.name in lasting,
        **options,
    )


def computed(m: Rematerializer, result: Operand, *args: Any) -> Any:
    return evaluate(Function("f", [A, X], m.block, [result]), *args)[0][0]


def test_a_value_from_its_operands():
    m = maker()
    result = m.rebuild(U)
    assert isinstance(result, Var) and result.name != "u" and result.type == F8
    assert [s.op.name for s in m.block] == ["multiply", "add"]  # type: ignore[union-attr]
    assert m.spent == 2.0
    assert computed(m, result, 3.0, np.ones(2)) == 10.0


def test_what_is_available_is_not_computed():
    m = maker(available="at")
    m.rebuild(U)
    assert len(m.block) == 1 and m.spent == 1.0
    assert maker().rebuild(A) == A and maker().rebuild(c := const(2.0)) is c
    assert isinstance(c, Const)


def test_a_value_is_computed_once():
    m = maker()
    first = m.rebuild(U)
    assert m.rebuild(U) == first and m.done["u"] == first
    m.rebuild(SCALED)  # reads t, too
    assert [s.op.name for s in m.block] == ["multiply", "add", "multiply"]  # type: ignore[union-attr]


def test_a_given_target():
    target = Var("again", F8)
    m = maker(available="au")
    assert m.rebuild(U, target) == target  # even though u is available
    assert m.block[-1].target == target  # type: ignore[union-attr]


def test_values_that_are_too_expensive():
    assert maker().rebuild(E) is None  # exp costs more than the limit
    assert maker(limit=INFINITE_COST).rebuild(E) is not None
    assert maker(limit=1.0).rebuild(U) is None
    assert MAX_RECOMPUTE_COST >= 4.0


def test_the_limit_is_for_all_values_together():
    m = maker(limit=3.0)
    assert m.rebuild(U) is not None
    assert m.rebuild(SCALED) is not None and m.spent == 3.0
    assert m.rebuild(P) is None


@pytest.mark.parametrize("value", [Var("z", F8), B])
def test_values_without_a_definition(value):
    assert maker().rebuild(value) is None


def test_only_what_is_allowed():
    assert maker(allowed=frozenset({"u"})).rebuild(U) is None  # t is not
    assert maker(allowed=frozenset({"u", "t"})).rebuild(U) is not None


def test_speculation_must_not_fail():
    assert maker(safe=True).rebuild(U) is not None
    assert maker(safe=True).rebuild(P) is None  # an index may be out of bounds


def test_arrays_that_are_overwritten():
    assert maker(lasting="").rebuild(SCALED) is None
    assert maker(lasting="x").rebuild(SCALED) is not None


def test_sizes_of_arrays_that_are_gone():
    """Another array has an axis of that size; its elements are not read."""
    m = maker(available="ay", axis_of_size=lambda v, axis: (Y, 0))
    result = m.rebuild(N)
    assert m.block[0].op == op("shape", Y, axis=0) and result is not None  # type: ignore[union-attr]
    assert maker(available="a").rebuild(N) is None
    kept = maker(available="ax", lasting="", axis_of_size=lambda v, axis: (Y, 0))
    kept.rebuild(N)
    assert kept.block[0].op == op("shape", X, axis=0)  # type: ignore[union-attr]


def test_elements_that_are_still_in_the_final_array():
    m = maker(
        available="ay", lasting="y", final=lambda v: op("index", Y, const(0), items=(("int", 1),))
    )
    assert m.rebuild(P) is not None
    assert m.block[0].op.args[0] == Y  # type: ignore[union-attr]
