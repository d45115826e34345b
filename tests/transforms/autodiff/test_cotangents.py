"""Adjoints: their types, zeros and sums, and the form in which contributions are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.cotangents import (
    Adjoints,
    Bars,
    LoopBars,
    bar_type,
    is_zero,
    with_own_sizes,
)
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Carried,
    Const,
    For,
    Function,
    ListOf,
    Operand,
    Scalar,
    Var,
)
from s2s.transforms.ir.op_registry import Accumulate
from s2s.transforms.ir.scopes import Scopes
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from tests.transforms.programs import F8, Program, int_scalar, vector

F4 = Scalar("float32")
TWO_BY_THREE = Array("float64", (Dim.of(2), Dim.of(3)))


class Setting:
    """Adjoints of the parameters of a function without statements."""

    def __init__(self, **types: Any) -> None:
        self.p = Program()
        self.vars = {n: Var(self.p.names.fresh(n), t, n) for n, t in types.items()}
        self.function = Function("f", [*self.vars.values()], [], [])
        self.adjoints = Adjoints(self.p, Scopes(self.function), lambda v: v)
        self.bars = Bars()

    def __getattr__(self, name: str) -> Var:
        return self.vars[name]

    def run(self, result: Operand, *args: Any) -> Any:
        function = Function("f", self.function.params, self.p.block, [result])
        return evaluate(function, *args)[0][0]


# ---------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("type_", "bar"),
    [
        (Scalar("float64", weak=True), F8),
        (Scalar("float64", mixed=True), F8),
        (F4, F4),
        (Array("float32", (Dim.of("x.0"),), "A"), Array("float32", (Dim.of("x.0"),))),
        (ListOf(Scalar("float64", weak=True)), ListOf(F8)),
        (ListOf(Array("float64", (Dim.of(3),), "A")), ListOf(Array("float64", (Dim.of(3),)))),
    ],
)
def test_the_adjoint_has_the_type_of_its_value_but_is_neither_weak_nor_strided(
    type_: Any, bar: Any
) -> None:
    assert bar_type(type_) == bar


def test_zero_is_a_constant_of_either_sign() -> None:
    assert is_zero(Const(0.0, F8)) and is_zero(Const(-0.0, F8)) and is_zero(Const(0j, F8))
    assert not is_zero(Const(1e-300, F8)) and not is_zero(Var("x", F8))


def test_the_adjoint_is_named_after_the_users_variable() -> None:
    s = Setting(x=F8)
    assert s.adjoints.bar_var(Var("x_3", F8, "x")).name == "x_bar"
    bar = s.adjoints.bar_var(Var("t_1", F8))
    assert (bar.name, bar.user) == ("t_1_bar", "")
    assert s.adjoints.bar_var(Var("x", F8, "x")).name == "x_bar_1"


# ---------------------------------------------------------------- sums


def test_the_first_contribution_is_renamed_not_copied() -> None:
    s = Setting(x=vector("x"), g=vector("x"))
    product = s.p.sym(s.g) * 2.0
    s.adjoints.add(s.bars, s.x, product, mark=0)
    (stmt,) = s.p.block
    assert isinstance(stmt, Assign) and stmt.target.name == "x_bar"
    assert s.bars.values == {"x": stmt.target} and s.p.definitions["x_bar"] == stmt.op


def test_a_name_that_later_statements_read_is_replaced_there_too() -> None:
    s = Setting(x=F8, g=F8)
    first = s.p.sym(s.g) * 2.0
    second = np.sin(first)
    s.adjoints.name(first.operand, s.x, 0)
    assert s.run(second.operand, 0.0, 0.25) == np.sin(0.5)
    assert [a.name for a in s.p.block[1].op.args] == ["x_bar"]  # type: ignore[union-attr]


def test_a_value_from_before_the_contribution_keeps_its_name() -> None:
    s = Setting(x=F8, g=F8)
    early = s.p.sym(s.g) * 2.0
    assert s.adjoints.name(early.operand, s.x, len(s.p.block)) is early.operand
    assert s.adjoints.name(s.g, s.x, 0) is s.g


def test_contributions_are_added_up() -> None:
    s = Setting(x=vector("x"), g=vector("x"))
    for factor in (1.0, 2.0, 4.0):
        s.adjoints.add(s.bars, s.x, s.p.sym(s.g) * factor)
    v = np.array([1.0, -3.0])
    np.testing.assert_array_equal(s.run(s.bars.values["x"], v, v), 7 * v)
    assert [st.op.name for st in s.p.block].count("update_add") == 2  # type: ignore[union-attr]


def test_zeros_are_not_added() -> None:
    s = Setting(x=F8, g=F8)
    zero = Const(0.0, F8)
    s.adjoints.add(s.bars, s.x, zero)
    assert is_zero(s.bars.values["x"]) and not s.p.block
    s.adjoints.add(s.bars, s.x, s.g)
    assert s.bars.values["x"] is s.g, "a zero is replaced"
    s.adjoints.add(s.bars, s.x, zero)
    assert s.bars.values["x"] is s.g and not s.p.block


def test_several_contributions_of_one_operation_are_one() -> None:
    s = Setting(x=F8, g=F8)
    g = s.p.sym(s.g)
    (total,) = s.adjoints.joined(s.x, [g * 2.0, g * 3.0, g])
    assert s.run(total.operand, 0.0, 1.5) == 9.0
    parts = [g, Accumulate(g, ())]
    assert s.adjoints.joined(s.x, parts) is parts
    assert s.adjoints.joined(s.x, [g]) == [g]


# ---------------------------------------------------------------- form


@pytest.mark.parametrize(
    ("type_", "given", "want"),
    [
        # Broadcasting is undone by sums over the axes that were added or stretched.
        (vector("x"), np.ones((4, 3)), np.full(3, 4.0)),
        (Array("float64", (Dim.of(2), Dim.of(1))), np.ones((2, 3)), np.full((2, 1), 3.0)),
        (F8, np.ones((2, 3)), 6.0),
        (Array("float64", ()), np.ones(5), np.array(5.0)),
        # A number is the adjoint of each element.
        (TWO_BY_THREE, 0.5, np.full((2, 3), 0.5)),
        # An adjoint has the precision of its value.
        (F4, 0.1, np.float32(0.1)),
        (Array("float32", (Dim.of(2),)), np.array([0.1, 0.2]), np.array([0.1, 0.2], np.float32)),
    ],
)
def test_a_contribution_gets_the_form_of_the_value(type_: Any, given: Any, want: Any) -> None:
    dims = tuple(Dim.of(n) for n in np.shape(given))
    s = Setting(x=type_, g=Array("float64", dims) if dims else F8)
    bar = s.adjoints.conform(s.p.sym(s.g), s.x)
    size = [d.const if d.is_const else 3 for d in type_.shape]
    x = np.zeros(size, type_.dtype) if isinstance(type_, Array) else np.dtype(type_.dtype).type(0)
    got = s.run(bar, x, given)
    np.testing.assert_array_equal(got, want)
    assert np.shape(got) == np.shape(want) and np.asarray(got).dtype == type_.dtype
    assert type(bar.type) is type(type_)


def test_what_fits_is_left_alone() -> None:
    s = Setting(x=vector("x"), g=vector("x"))
    assert s.adjoints.conform(s.p.sym(s.g), s.x) is s.g
    assert is_zero(s.adjoints.conform(s.p.sym(0.0), s.x)) and not s.p.block


# ---------------------------------------------------------------- zeros and parts


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (F4, np.float32(3)),
        (Array("float32", (Dim.of(2),), "A"), np.ones(2, np.float32)),
        (ListOf(F8), [1.0, 2.0]),
        (ListOf(Array("float64", (Dim.of(2),))), [np.ones(2)]),
    ],
)
def test_zeros(type_: Any, value: Any) -> None:
    s = Setting(x=type_)
    got = s.run(s.adjoints.zeros(s.x), value)
    np.testing.assert_array_equal(got, np.zeros_like(value))
    assert np.asarray(got).dtype == np.asarray(value).dtype


def test_a_part_is_added_to_zeros_and_to_what_there_is() -> None:
    s = Setting(x=vector("x"), g=F8, i=int_scalar("i"))
    path = (("index", (("int", 2),)),)
    for factor in (1.0, 10.0):
        s.adjoints.add(s.bars, s.x, Accumulate(s.p.sym(s.g) * factor, path, (s.i,)))
    got = s.run(s.bars.values["x"], np.ones(3), 0.5, 1)
    np.testing.assert_array_equal(got, [0.0, 5.5, 0.0])
    assert s.bars.values["x"].user == "x_bar"  # type: ignore[union-attr]


def test_the_part_of_a_list_is_an_element() -> None:
    s = Setting(x=ListOf(F8), g=F8, i=int_scalar("i"))
    for factor in (1.0, 10.0):
        part = Accumulate(s.p.sym(s.g) * factor, (("list", 2),), (s.i,))
        s.adjoints.add(s.bars, s.x, part)
    assert s.run(s.bars.values["x"], [1.0, 2.0, 3.0], 0.5, 2) == [0.0, 0.0, 5.5]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_lists_are_added_element_by_element(n: int) -> None:
    type_ = ListOf(Array("float64", (Dim.of(2),)))
    s = Setting(x=type_, g=type_, h=type_)
    s.adjoints.add(s.bars, s.x, s.g)
    s.adjoints.add(s.bars, s.x, s.h)
    g = [np.full(2, k + 1.0) for k in range(n)]
    got = s.run(s.bars.values["x"], g, g, [10 * v for v in g])
    np.testing.assert_array_equal(np.reshape(got, (n, 2)), 11 * np.reshape(g, (n, 2)))


def test_the_shape_of_a_local_array_is_asked_of_one_at_top_level() -> None:
    """The local array itself might have to be saved for it."""
    p = Program()
    x = Var("x", vector("x"))
    found: list[Any] = []

    def body(i: Any, s: Any) -> Any:
        found.append(np.sin(p.sym(x)).operand)
        return [s + 1.0]

    p.loop(3, [0.5], body)
    local = found[0]
    adjoints = Adjoints(p, Scopes(Function("f", [x], p.block, [])), lambda v: v)
    assert adjoints.like(local) == x and adjoints.like(x) == x
    assert adjoints.like(Var("s", F8)) == Var("s", F8)


# ---------------------------------------------------------------- loops


def loop_setting() -> tuple[Setting, Scopes, For]:
    s = Setting(x=F8)
    s.p.loop(3, [s.x], lambda i, v: [np.sin(v)])
    (loop,) = s.p.block
    assert isinstance(loop, For)
    scopes = Scopes(Function("f", [s.x], [loop], []))
    s.adjoints = Adjoints(s.p, scopes, lambda v: v)
    return s, scopes, loop


def test_in_a_mirrored_loop_an_adjoint_from_outside_is_carried() -> None:
    s, scopes, loop = loop_setting()
    inner = scopes.inner(loop)
    bars = Bars(LoopBars(inner, s.adjoints))
    local = loop.body[0].target  # type: ignore[union-attr]
    assert bars.get(local, inner) is None, "absent: its adjoint is zero"
    phi = bars.get(s.x, scopes.top)
    assert isinstance(phi, Var) and phi.name == "x_bar"
    assert bars.get(s.x, scopes.top) is phi and bars.loop is not None
    assert bars.loop.entered == {"x": (s.x, phi)}


def test_the_bars_of_a_branch_are_its_own() -> None:
    bars = Bars(None, {"x": Const(1.0, F8)})
    branch = bars.branch()
    x = Var("x", F8)
    assert branch.pop(x) == Const(1.0, F8) and branch.pop(x) is None
    assert bars.values == {"x": Const(1.0, F8)} and branch.loop is bars.loop


def test_an_array_that_grows_in_a_loop_has_adjoints_of_sizes_of_their_own() -> None:
    x, y = (Var(n, vector(n)) for n in "xy")
    bar = Var("x_bar", vector("x"))
    growing, steady = Carried(x, x, y, x), Carried(x, x, x, x)
    assert with_own_sizes(bar, growing, Facts()).type == vector("x_bar")
    assert with_own_sizes(bar, steady, Facts()) is bar
    facts = Facts()
    facts.define("y.0", Dim.of("x.0"))
    assert with_own_sizes(bar, growing, facts) is bar
    scalar = Var("s_bar", F8)
    assert with_own_sizes(scalar, growing, Facts()) is scalar
