"""Rewrite rules for single operations: each gives an equal value, and none drops inf or nan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import const
from s2s.transforms.ir.nodes import Array, Const, Op, Operand, Scalar, Type, Var
from s2s.transforms.ir.op_registry import RULES
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.simplify.peephole import REWRITE_RULES, Context, rewrite_op
from tests.transforms.programs import BOOL, F8, Program, vector

F4 = Scalar("float32")
X, Y = Var("x", F8), Var("y", F8)
V, W = Var("v", vector("v")), Var("w", vector("w"))
WEAK = Scalar("float64", weak=True)


def context(**definitions: Op) -> Context:
    made = Context(Facts())
    made.definitions.update(definitions)
    return made


def number(value: float, type_: Scalar = WEAK) -> Const:
    return Const(value, type_)


def test_rules_are_of_operations_that_exist() -> None:
    assert REWRITE_RULES.keys() <= RULES.keys()


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        ("add", 0, 0),
        ("subtract", None, 0),
        ("multiply", 1, 1),
        ("divide", None, 1),
        ("power", None, 1),
        ("strong_mul", None, 1),
    ],
)
def test_identity_elements(op: str, left: Any, right: Any) -> None:
    """For each side and each of 0 and 1: exactly where the law holds."""
    for value in (0.0, 1.0):
        on_left = rewrite_op(context(), Op(op, (number(value), X)), F8)
        on_right = rewrite_op(context(), Op(op, (X, number(value))), F8)
        assert (on_left == X) == (left == value), (op, value)
        assert (on_right == X) == (right == value), (op, value)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.0, -2.5])
def test_what_is_simplified_is_equal_also_for_inf_and_nan(value: float) -> None:
    """Zeros of either sign count as equal in adjoint code."""
    given: Any = {"x": value, "y": 3.0}

    def evaluated(x: Operand | Op) -> Any:
        if isinstance(x, Op):
            return RULES[x.name].evaluate(*map(evaluated, x.args), **x.attrs)  # type: ignore[misc]
        return x.value if isinstance(x, Const) else given[x.name]

    negative = Op("negative", (X,))
    given["n"] = -value
    constants = [number(c) for c in (-1.0, 0.0, 1.0, 2.0)]
    with np.errstate(all="ignore"):
        for name in ("add", "subtract", "multiply", "divide", "power", "strong_mul"):
            for a in (X, Y, Var("n", F8), *constants):
                for b in (X, Y, Var("n", F8), *constants):
                    op = Op(name, (a, b))
                    found = rewrite_op(context(n=negative), op, F8)
                    if found is not None:
                        np.testing.assert_equal(evaluated(found) + 0.0, evaluated(op) + 0.0)


def test_what_changes_dtype_shape_or_weakness_stays() -> None:
    single = Var("s", F4)
    assert rewrite_op(context(), Op("add", (single, number(0.0, F8))), F8) is None
    assert rewrite_op(context(), Op("add", (Var("k", WEAK), number(0.0, F8))), F8) is None
    assert rewrite_op(context(), Op("multiply", (X, Var("o", vector("o")))), vector("o")) is None
    assert rewrite_op(context(), Op("cast", (X,), {"dtype": "float32"}), F4) is None
    assert rewrite_op(context(), Op("cast", (X,), {"dtype": "float64"}), F8) == X


def test_a_constant_is_retyped() -> None:
    found = rewrite_op(context(), Op("same", (number(2.0),)), F8)
    assert found == number(2.0, F8) and found.type == F8  # type: ignore[union-attr]
    assert context().retyped(number(2.0), F4) is None


def test_true_is_not_one() -> None:
    op = Op("multiply", (X, Const(True, BOOL)))
    assert rewrite_op(context(), op, F8) is None


# ---------------------------------------------------------------- folding


def test_constants_are_folded_in_their_precision() -> None:
    third = Op("divide", (const(np.float32(1)), const(np.float32(3))))
    found = rewrite_op(context(), third, F4)
    assert found == Const(float(np.float32(1) / np.float32(3)), F4)
    assert rewrite_op(
        context(), Op("add", (const(1), const(2))), Scalar("int64", weak=True)
    ) == Const(3, Scalar("int64", weak=True))


@pytest.mark.parametrize(
    ("op", "args"),
    [("divide", (1.0, 0.0)), ("log", (0.0,)), ("log", (-1.0,)), ("exp", (1e3,))],
)
def test_infinities_and_nans_are_left_to_run_time(op: str, args: Any) -> None:
    operands = tuple(number(a, F8) for a in args)
    assert rewrite_op(context(), Op(op, operands), F8) is None


def test_arrays_of_constants_are_not_folded() -> None:
    op = Op("full", (number(1.0), const(3)), {"dtype": "float64"})
    assert rewrite_op(context(), op, Array("float64", (Dim.of(3),))) is None


# ---------------------------------------------------------------- pairs of operations


def test_adding_zeros() -> None:
    """A zero array may stretch the other operand: then it stays."""
    zeros = context(z=Op("zeros_like", (V,), {"dtype": "float64"}))
    z = Var("z", vector("v"))
    assert rewrite_op(zeros, Op("add", (V, z)), vector("v")) == V
    assert rewrite_op(zeros, Op("add", (z, V)), vector("v")) == V
    assert rewrite_op(zeros, Op("add", (z, X)), vector("v")) is None
    assert rewrite_op(zeros, Op("update_add", (z, V), {"path": ()}), vector("v")) == V
    path = (("index", (("int", 2),)),)
    assert (
        rewrite_op(zeros, Op("update_add", (z, X, const(0)), {"path": path}), vector("v")) is None
    )
    assert rewrite_op(zeros, Op("update_add", (V, V), {"path": ()}), vector("v")) is None


def test_doubling_of_floats_only() -> None:
    assert rewrite_op(context(), Op("add", (X, X)), F8) == Op("multiply", (X, number(2.0)))
    k = Var("k", Scalar("int64"))
    assert rewrite_op(context(), Op("add", (k, k)), Scalar("int64")) is None


def test_signs() -> None:
    n = context(n=Op("negative", (Y,)))
    negative = Var("n", F8)
    assert rewrite_op(n, Op("add", (X, negative)), F8) == Op("subtract", (X, Y))
    assert rewrite_op(n, Op("negative", (negative,)), F8) == Y
    assert rewrite_op(n, Op("multiply", (X, number(-1.0))), F8) == Op("negative", (X,))
    assert rewrite_op(n, Op("multiply", (number(-1.0), X)), F8) == Op("negative", (X,))


def test_complex_parts() -> None:
    z, c = Scalar("complex128"), Var("c", Scalar("complex128"))
    made = context(c=Op("cast", (X,), {"dtype": "complex128"}))
    assert rewrite_op(made, Op("real", (c,)), F8) == X
    single = context(c=Op("cast", (Var("s", F4),), {"dtype": "complex128"}))
    assert rewrite_op(single, Op("real", (c,)), F8) is None, "the real part has another precision"
    twice = context(c=Op("conjugate", (Var("d", z),)))
    assert rewrite_op(twice, Op("conjugate", (c,)), z) == Var("d", z)


@pytest.mark.parametrize("name", ["broadcast_to", "broadcast_like"])
def test_a_broadcast_that_the_operation_makes_itself(name: str) -> None:
    wide = Var("b", vector("v"))
    made = context(b=Op(name, (X, V)))
    assert rewrite_op(made, Op("multiply", (wide, V)), vector("v")) == Op("multiply", (X, V))
    assert rewrite_op(made, Op("multiply", (wide, wide)), vector("v")) is not None
    assert rewrite_op(made, Op("multiply", (wide, X)), vector("v")) is None
    assert rewrite_op(made, Op("sin", (wide,)), vector("v")) is None


def test_a_broadcast_of_a_python_number_gives_it_its_dtype() -> None:
    made = context(b=Op("broadcast_like", (Var("k", WEAK), V)))
    assert rewrite_op(made, Op("multiply", (Var("b", vector("v")), V)), vector("v")) is None


@pytest.mark.parametrize(
    ("inner", "outer", "equal"),
    [((1, 0, 2), (1, 0, 2), True), ((1, 2, 0), (2, 0, 1), True), ((1, 2, 0), (1, 2, 0), False)],
)
def test_a_transpose_of_a_transpose(inner: Any, outer: Any, equal: bool) -> None:
    a = Var("a", vector("a", 3))
    t = Var("t", vector("a", 3))
    made = context(t=Op("transpose", (a,), {"axes": inner}))
    assert (rewrite_op(made, Op("transpose", (t,), {"axes": outer}), a.type) == a) == equal
    x = np.empty((2, 3, 4))
    assert (x.transpose(inner).transpose(outer).shape == x.shape) == equal
    assert rewrite_op(context(), Op("transpose", (a,), {"axes": (0, 1, 2)}), a.type) == a


def test_zeros_of_zeros_and_sizes() -> None:
    made = context(z=Op("zeros_like", (V,), {"dtype": "float32"}))
    z = Var("z", Array("float32", vector("v").shape))
    op = Op("zeros_like", (z,), {"dtype": "float64"})
    assert rewrite_op(made, op, vector("v")) == Op("zeros_like", (V,), {"dtype": "float64"})
    rows = Var("a", Array("float64", (Dim.of(3), Dim.of("n"))))
    size: Type = Scalar("int64", value=Dim.of(3))
    assert rewrite_op(context(), Op("shape", (rows,), {"axis": 0}), size) == const(np.int64(3))
    assert rewrite_op(context(), Op("shape", (rows,), {"axis": 1}), Scalar("int64")) is None


def test_shapes_are_compared_by_facts() -> None:
    made = context()
    assert not made.same_shape(V.type, W.type) and not made.same_shape(V.type, F8)
    assert rewrite_op(made, Op("reshape", (V,)), W.type) is None
    made.facts.define("w.0", Dim.of("v.0"))
    assert made.same_shape(V.type, W.type)
    assert rewrite_op(made, Op("reshape", (V,)), W.type) == V


def test_an_unbroadcast_to_its_own_shape() -> None:
    p = Program()
    assert rewrite_op(context(), Op("unbroadcast", (V, V)), p.sym(V).type) == V
    assert rewrite_op(context(), Op("unbroadcast", (V, X)), F8) is None
