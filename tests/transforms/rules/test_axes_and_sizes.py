"""Axes, sizes and constants: accepted forms, NumPy's errors, and checks of sizes at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.errors import S2STypeError, S2SValueError
from s2s.transforms.ir.nodes import Const, Origin, Raise, Span, Var
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import NeedStatic
from s2s.transforms.rules.axes_and_sizes import (
    axes_of,
    axis_of,
    constant_value,
    product,
    require_broadcastable,
    require_equal,
    require_static,
    shape_parts,
    size_of,
    span_of,
    unsupported_error,
    value_error,
)
from tests.transforms.programs import F8, int_scalar, program, run, vector
from tests.transforms.rules.numeric import Trial

SPAN = Span("f.py", 3, 4, 3, 9)


def builder(**sizes: int) -> Builder:
    """A builder for arguments of the sizes given (`x_0=3`), or of unknown sizes."""
    given = {key.replace("_", "."): n for key, n in sizes.items()}
    b = Builder(NameSupply(), Facts(given or None))
    b.origin = Origin(SPAN, SPAN)
    return b


# ---------------------------------------------------------------- constants


def test_constants_are_known_and_run_time_values_are_not() -> None:
    b = builder()
    x = b.sym(Var("x", F8))
    assert constant_value(b.sym(3)) == 3 and constant_value(3) == 3 and constant_value(None) is None
    assert constant_value(x) is x
    assert require_static([b.sym(1), (2, b.sym(True))], "axis") == [1, (2, True)]
    with pytest.raises(NeedStatic, match="the axis") as error:
        require_static((1, [x]), "the axis")
    assert error.value.sym is x


def test_products_fold_constants() -> None:
    b = builder()
    n = b.sym(Var("n", int_scalar("n")))
    assert product([]) == 1 and product([2, 3, b.sym(4)]) == 24
    assert product([1, n, 1]) is n and not b.block
    module = program({"n": int_scalar("n")}, lambda p, n: product([2, n, 3, n]))
    assert run(module, 5) == [150]


def test_a_size_is_an_int_where_it_is_constant() -> None:
    trial = Trial(np.ones((2, 3)), static=True)
    assert size_of(trial.b, trial.syms[0], 1) == 3
    trial = Trial(np.ones((2, 3)))
    assert trial.run(size_of(trial.b, trial.syms[0], 1)) == [3]


# ---------------------------------------------------------------- axes


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("axis", [-4, -3, -1, 0, 1, 2, 3])
def test_an_axis_counts_from_either_end(axis: int, ndim: int) -> None:
    if -ndim <= axis < ndim:
        assert axis_of(builder(), axis, ndim) == range(ndim)[axis]
        assert axis_of(builder(), np.int32(axis), ndim) == range(ndim)[axis]
        return
    with pytest.raises(S2SValueError) as error:
        axis_of(builder(), axis, ndim)
    with pytest.raises(np.exceptions.AxisError) as numpys:
        np.sum(np.ones((1,) * ndim), axis=axis)
    assert error.value.message == str(numpys.value) and error.value.span == SPAN


@pytest.mark.parametrize("axis", [1.0, "0", None])
def test_an_axis_is_an_integer(axis: Any) -> None:
    with pytest.raises(S2STypeError, match="source must be an integer"):
        axis_of(builder(), axis, 3, "source")


def test_several_axes_in_the_order_given() -> None:
    b = builder()
    assert axes_of(b, -1, 3) == (2,) == axes_of(b, [2], 3)
    assert axes_of(b, (2, -3), 3) == (2, 0) and axes_of(b, (), 3) == ()
    for repeated in [(0, 0), (0, -3)]:
        with pytest.raises(S2SValueError, match="repeated axis"):
            axes_of(b, repeated, 3)


def test_errors_stand_at_the_statement() -> None:
    b = builder()
    assert span_of(b) == SPAN and unsupported_error(b, "no", "do").advice == "do"
    assert unsupported_error(b, "no").span == value_error(b, "no").span == SPAN
    b.origin = None
    assert span_of(b) is None and str(value_error(b, "no")) == "no"


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (0, 1, 4)])
def test_shapes_in_messages_are_numpys(shape: Any) -> None:
    assert "".join(shape_parts(shape)) == str(shape).replace(" ", "")
    n = builder().sym(Var("n", int_scalar("n")))
    assert shape_parts((2, n)) == ("(", "2", ",", n, ")")


# ---------------------------------------------------------------- sizes that must agree

X, Y = Dim.of("x.0"), Dim.of("y.0")


def required(b: Builder, left: Dim, right: Dim, sizes: Any) -> list[Any]:
    require_equal(b, left, right, lambda: sizes, "ValueError", lambda m, n: (m, " is not ", n))
    return b.block


def test_equal_sizes_need_no_check() -> None:
    assert required(builder(), X, X, None) == []
    guarded = builder(x_0=3, y_0=3)
    assert required(guarded, X, Y, None) == [] and len(guarded.facts.guards) == 1


def test_unequal_constants_raise_at_this_point() -> None:
    (failure,) = required(builder(), Dim.of(2), Dim.of(3), (2, 3))
    assert isinstance(failure, Raise) and failure.message == ("2", " is not ", "3")


def test_unknown_sizes_are_compared_at_run_time() -> None:
    def build(p: Any, x: Any, y: Any) -> Any:
        sizes = x.shape[0], y.shape[0]
        require_equal(p, X, Y, lambda: sizes, "ValueError", lambda m, n: (m, " is not ", n))
        return x

    module = program({"x": vector("x"), "y": vector("y")}, build)
    run(module, np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="2 is not 3"):
        run(module, np.ones(2), np.ones(3))


@pytest.mark.parametrize(("have", "fits"), [(1, True), (3, True), (2, False), (0, False)])
@pytest.mark.parametrize("constant", [False, True])
def test_a_size_broadcasts_if_it_is_one_or_equal(have: int, fits: bool, constant: bool) -> None:
    def build(p: Any, x: Any, n: Any) -> Any:
        dim = Dim.of(have) if constant else X
        sizes = (have if constant else x.shape[0], n)
        require_broadcastable(
            p, dim, Dim.of("n"), lambda: sizes, "ValueError", lambda: ("does not fit",)
        )
        return x

    module = program({"x": vector("x"), "n": int_scalar("n")}, build)
    if fits:
        run(module, np.ones(have), 3)
        return
    with pytest.raises(ValueError, match="does not fit"):
        run(module, np.ones(have), 3)


def test_adjoint_code_does_not_check_again() -> None:
    b = builder()
    b.checks = False
    assert required(b, Dim.of(2), Dim.of(3), (2, 3)) == []
    require_broadcastable(b, Dim.of(2), Dim.of(3), lambda: (2, 3), "ValueError", lambda: ())
    assert not b.block and isinstance(b.sym(1).operand, Const)
