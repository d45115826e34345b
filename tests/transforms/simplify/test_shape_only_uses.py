"""Operands of which only the shape is used: read from another array of that shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Function,
    ListOf,
    Op,
    Origin,
    Slot,
    Span,
    Type,
    Var,
)
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.simplify.shape_only_uses import ShapeOnlyUses
from tests.transforms.programs import F8, vector

SPAN = Span("f.py", 1, 0, 1, 1)
USER = Origin(SPAN, SPAN)
SWEEP = Origin(SPAN, SPAN, sweep=1)
SHAPE = vector("x")
X = Var("x", SHAPE, "x")
OPS = [
    ("zeros_like", 0, {"dtype": "float64"}),
    ("ones_like", 0, {"dtype": "float64"}),
    ("empty_like", 0, {"dtype": "float64"}),
    ("full_like", 0, {"dtype": "float64"}),
    ("unbroadcast", 1, {}),
    ("broadcast_like", 1, {}),
]


def uses(*body: Any, bound: Any = ("x",), facts: Facts | None = None) -> ShapeOnlyUses:
    return ShapeOnlyUses(Function("f", [X], [*body], []), facts or Facts(), set(bound))


def restored(type_: Type = SHAPE) -> Assign:
    return Assign(Var("back", type_), Op("restore", (), {"slot": Slot("s", type_)}), SWEEP)


def operation(name: str, at: int, attrs: Any, v: Var) -> Op:
    other = (Var("g", F8),)
    args = (v, *other) if at == 0 else (*other, v)
    return Op(name, args, attrs)


@pytest.mark.parametrize(("name", "at", "attrs"), OPS)
def test_a_restored_array_is_not_needed_for_its_shape(name: str, at: int, attrs: Any) -> None:
    stmt = restored()
    op = operation(name, at, attrs, stmt.target)
    assert uses(stmt).replace(op) == operation(name, at, attrs, X)


def test_the_size_of_one_axis_is_asked_of_any_array_that_has_it() -> None:
    stmt = restored(Array("float32", (Dim.of(2), Dim.of("x.0"))))
    op = Op("shape", (stmt.target,), {"axis": 1})
    assert uses(stmt).replace(op) == Op("shape", (X,), {"axis": 0})
    unknown = restored(Array("float64", (Dim.of("z.0"),)))
    op = Op("shape", (unknown.target,), {"axis": 0})
    assert uses(unknown).replace(op) is op


def test_values_are_still_read_by_other_operations() -> None:
    stmt = restored()
    for op in (Op("sin", (stmt.target,)), Op("unbroadcast", (stmt.target, X))):
        assert uses(stmt).replace(op) is op


@pytest.mark.parametrize(
    "type_",
    [Array("float32", SHAPE.shape), vector("y"), Array("float64", (*SHAPE.shape, Dim.of(1)))],
)
def test_another_dtype_or_shape_is_no_replacement(type_: Array) -> None:
    stmt = restored(type_)
    op = Op("zeros_like", (stmt.target,), {"dtype": "float64"})
    assert uses(stmt).replace(op) is op


def test_a_value_bound_later_is_no_replacement() -> None:
    stmt = restored()
    op = Op("zeros_like", (stmt.target,), {"dtype": "float64"})
    assert uses(stmt, bound=()).replace(op) is op


def test_an_element_of_a_list_in_adjoint_code() -> None:
    items = Var("items", ListOf(SHAPE))
    element = Assign(Var("e", SHAPE), Op("list_get", (items, Var("k", F8))), SWEEP)
    op = Op("zeros_like", (element.target,), {"dtype": "float64"})
    assert uses(element).replace(op).args == (X,)
    element.origin = USER
    assert uses(element).replace(op) is op


# ---------------------------------------------------------------- temporaries of the user


def chain(*ops: str, user: str = "") -> list[Assign]:
    """Temporaries computed one from the other, the first from `x`."""
    source, made = X, []
    for k, name in enumerate(ops):
        target = Var(f"t{k}", SHAPE, user if k == len(ops) - 1 else "")
        made.append(Assign(target, Op(name, (source,)), USER))
        source = target
    return made


def test_a_temporary_is_replaced_by_the_variable_it_is_computed_from() -> None:
    body = chain("sin", "cos")
    op = Op("zeros_like", (body[-1].target,), {"dtype": "float64"})
    assert uses(*body).replace(op).args == (X,)


def test_a_named_variable_is_read_itself() -> None:
    body = chain("sin", "cos", user="y")
    op = Op("zeros_like", (body[-1].target,), {"dtype": "float64"})
    assert uses(*body).replace(op) is op


def test_an_overwritten_variable_is_no_replacement() -> None:
    """Reading it later would need a copy."""
    body = chain("sin", "cos")
    write = Assign(Var("x_1", SHAPE, "x"), Op("update", (X, Var("g", F8)), {"path": ()}), USER)
    function = Function("f", [X], [*body, write], [], effects=[(X, write.target)])
    found = ShapeOnlyUses(function, Facts(), {"x"})
    op = Op("zeros_like", (body[-1].target,), {"dtype": "float64"})
    assert found.replace(op) is op


def test_an_ancestor_has_the_same_shape() -> None:
    """A sum along an axis has another shape than what it is computed from."""
    total = Assign(Var("t", vector("y")), Op("sin", (X,)), USER)
    op = Op("zeros_like", (total.target,), {"dtype": "float64"})
    assert uses(total).replace(op) is op
    facts = Facts()
    facts.define("y.0", Dim.of("x.0"))
    assert uses(total, facts=facts).replace(op).args == (X,)


def test_parameters_and_scalars_are_left_alone() -> None:
    for x in (X, Var("s", F8)):
        op = Op("zeros_like", (x,), {"dtype": "float64"})
        assert uses().replace(op) is op
    scalar = replace(restored(), target=Var("back", F8))
    op = Op("zeros_like", (scalar.target,), {"dtype": "float64"})
    assert uses(scalar).replace(op) is op
