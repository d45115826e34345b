"""Declarations of elementwise operations, and the operands and keywords that functions take."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
import scipy.special

from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Array, Assign, Const, ListOf, Raise, Scalar, Var
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import RULES, SURFACES
from s2s.transforms.rules.declare import (
    as_numpy_scalar,
    as_operand,
    as_python_float,
    as_python_scalar,
    constant_like,
    constant_scalar,
    elementwise,
    elementwise_infer,
    eliminate_dead_code,
    float_dtype,
    multiply_by_partial,
    python_semantics,
    refuse_keywords,
    scipy_operands,
    strong_product,
)
from tests.transforms.programs import F8, Program, int_scalar, vector
from tests.transforms.rules.numeric import Trial, call, run

WEAK = Scalar("float64", weak=True)


def sym(type_: Any, name: str = "x") -> Any:
    return Builder(NameSupply(), Facts()).sym(Var(name, type_))


def ops(b: Builder) -> list[str]:
    return [s.op.name for s in b.block if isinstance(s, Assign)]


# ---------------------------------------------------------------- declarations


def test_one_function_declares_rule_surface_and_both_modes(monkeypatch: Any) -> None:
    """The length of (x, y), declared anew under another path."""
    monkeypatch.delitem(RULES, "hypot")
    monkeypatch.setitem(SURFACES, "numpy.length", None)
    del SURFACES["numpy.length"]

    def hypot(x, y, *, out):  # type: ignore[no-untyped-def]
        """the length of (x, y)"""
        return x / out, y / out

    assert elementwise("numpy.length", kinks="0 at the origin")(hypot) is hypot
    rule = RULES["hypot"]
    assert (rule.kind, rule.differentiable) == ("elementwise", (0, 1))
    assert (rule.doc, rule.kinks) == ("the length of (x, y)", "0 at the origin")
    assert call("numpy.length", 3.0, 4.0) == 5.0
    trial = Trial(3.0, 4.0)
    out = trial.b.emit("hypot", *trial.syms)
    assert rule.pullback is not None and rule.pushforward is not None
    bars = rule.pullback(trial.b, trial.b.sym(10.0), out, trial.syms, {}, [0, 1])
    dot = rule.pushforward(trial.b, [10.0, None], out, trial.syms, {})
    np.testing.assert_allclose(trial.run(out, bars[0], bars[1], dot), [5, 6, 8, 6], rtol=1e-15)
    with pytest.raises(AssertionError, match="hypot"):
        elementwise()(hypot)


def test_an_order_has_no_derivative() -> None:
    assert RULES["jv"].differentiable == (1,)


@pytest.mark.parametrize(
    ("name", "args"),
    [("add", (True, True)), ("power", (2, -1)), ("power", (2, 3)), ("multiply", (True, 2)),
     ("subtract", (True, True)), ("power", (True, True)), ("negative", (True,))],
)  # fmt: skip
def test_python_scalars_compute_as_in_python(name: str, args: Any) -> None:
    python = {"power": operator.pow, "negative": operator.neg, "subtract": operator.sub,
              "add": operator.add, "multiply": operator.mul}[name]  # fmt: skip
    got, want = python_semantics(name)(*args), python(*args)
    assert got == want and np.asarray(got).dtype == np.asarray(want).dtype


def test_types_of_results() -> None:
    b = Builder(NameSupply(), Facts())
    infer = elementwise_infer("add", python=True)
    n = int_scalar("n")
    assert infer(b, [n, n], {}).value == Dim.of("n") * 2  # type: ignore[union-attr]
    assert infer(b, [n, F8], {}) == F8 and infer(b, [WEAK, WEAK], {}) == WEAK
    assert infer(b, [WEAK, Scalar("float32")], {}) == Scalar("float32")
    assert infer(b, [vector("x"), F8], {}) == vector("x")
    assert infer(b, [Array("float32", ()), WEAK], {}) == Scalar("float32")
    divided = elementwise_infer("floor_divide", python=True)
    zero = Scalar("int64", weak=True, value=Dim.of(0))
    assert divided(b, [n, zero], {}).value is None  # type: ignore[union-attr]
    with pytest.raises(UnsupportedError, match="add of a list"):
        infer(b, [ListOf(F8), F8], {})


def test_a_python_integer_out_of_range_is_numpys_error() -> None:
    with pytest.raises(OverflowError) as numpys:
        np.uint8(1) + 300
    with pytest.raises(OverflowError) as error:
        call("numpy.add", np.uint8(1), 300)
    assert str(error.value) == str(numpys.value)
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for uint8"):
        run(lambda b, x, n: x + n, np.uint8(1), 300)


# ---------------------------------------------------------------- products with partials


@pytest.mark.parametrize(
    ("slope", "emitted", "value"),
    [
        (0, None, None), (0.0, None, None), (1, [], 3.0), (-1, ["negative"], -3.0),
        (2, ["multiply"], 6.0), (Const(0.0, F8), None, None), (Const(1.0, F8), [], 3.0),
    ],
)  # fmt: skip
def test_constant_partials(slope: Any, emitted: Any, value: Any) -> None:
    trial = Trial(3.0)
    slope = trial.b.sym(slope) if isinstance(slope, Const) else slope
    product = multiply_by_partial(trial.b, trial.syms[0], slope)
    if emitted is None:
        assert product is None
        return
    assert product is not None
    assert ops(trial.b) == emitted and trial.run(product) == [value]


@pytest.mark.parametrize(
    ("slope", "emitted"),
    [
        (lambda x: 1.0 / x, ["divide"]),
        (lambda x: -1.0 / x, ["negative", "divide"]),
        (lambda x: -(2.0 / x), ["negative", "multiply", "divide"]),
        (lambda x: 2.0 * x, ["multiply", "multiply"]),
        (lambda x: 3.0 / (2.0 * x), ["multiply", "multiply", "divide"]),
        (lambda x: np.cos(x), ["cos", "multiply"]),
    ],
)
def test_quotients_signs_and_constants_go_to_the_cotangent(slope: Any, emitted: Any) -> None:
    trial = Trial(3.0, 0.7)
    g, x = trial.syms
    with eliminate_dead_code(trial.b) as kept:
        product = multiply_by_partial(trial.b, g, slope(x))
        kept.append(product)
    assert ops(trial.b) == emitted
    np.testing.assert_allclose(trial.run(product), [3.0 * slope(0.7)], rtol=1e-15)


def test_products_with_partials_that_may_be_infinite_are_strong() -> None:
    def kind(slope: Any) -> str:
        trial = Trial(3.0, 0.7)
        multiply_by_partial(trial.b, trial.syms[0], slope(trial.syms[1]), singular=True)
        return ops(trial.b)[-1]

    assert kind(lambda x: 0.5 / x) == "strong_mul" == kind(lambda x: 1.0 / np.sqrt(x))
    assert kind(lambda x: 1.0 / (1.0 + x * x)) == "divide", "it is finite"


def test_tidy_keeps_what_results_need_and_nothing_after_an_error() -> None:
    p = Program()
    x = p.sym(Var("x", F8))
    with eliminate_dead_code(p) as kept:
        np.sin(x)
        used = np.cos(x)
        p.fail("ValueError", "no")
        kept += [used * 2.0, None, 3.0]
    assert [type(s) for s in p.block] == [Assign, Raise, Assign] and ops(p) == ["cos", "multiply"]
    with pytest.raises(KeyError):
        with eliminate_dead_code(p):
            np.exp(x)
            raise KeyError
    assert ops(p) == ["cos", "multiply"]


@pytest.mark.parametrize("g", [0.0, -0.0, 2.0])
@pytest.mark.parametrize("p", [np.inf, np.nan, 3.0])
def test_strong_products_of_numbers_and_symbols(g: float, p: float) -> None:
    want = 0.0 if g == 0 else g * p
    np.testing.assert_equal(abs(strong_product(g, p)), abs(want))
    np.testing.assert_equal(abs(run(lambda b, x, y: strong_product(x, y), g, p)), abs(want))
    got = strong_product(np.array([g, 1.0], np.float32), np.float32(p))
    assert got.dtype == np.float32 and got.shape == (2,)


# ---------------------------------------------------------------- constants and operands


def test_constants_in_the_dtype_of_an_operand() -> None:
    assert constant_like(0.5, sym(F8)) == 0.5 and constant_like(0.5, 2.0) == 0.5
    single = constant_like(0.5, sym(Scalar("float32")))
    assert single.operand == Const(0.5, Scalar("float32"))
    assert constant_like(0.5, sym(Scalar("float32", weak=True))) == 0.5
    assert constant_like(0.1, np.float32(1)).dtype == np.float32
    assert constant_like(0.1, np.ones(2, np.int8)).dtype == np.result_type(np.int8, 0.0)
    assert constant_scalar(sym(F8)) is None and constant_scalar("a") is None
    assert constant_scalar(sym(F8).b.sym(2)) == 2 == constant_scalar(2)


def test_conversions_between_python_and_numpy_scalars() -> None:
    weak = sym(WEAK)
    strong = as_numpy_scalar(weak)
    assert strong.type == F8 and as_numpy_scalar(strong) is strong
    assert as_python_scalar(strong).type == WEAK and as_python_scalar(weak) is weak
    for dtype, python in (("float32", "float64"), ("int8", "int64"), ("bool", "bool"),
                          ("complex64", "complex128")):  # fmt: skip
        assert as_python_scalar(sym(Scalar(dtype))).type == Scalar(python, weak=True)


def test_the_argument_of_a_function_of_math() -> None:
    b = Builder(NameSupply(), Facts())
    assert as_python_float(b, 3).operand == Const(3.0, WEAK)
    assert as_python_float(b, sym(Array("float32", ()))).type == WEAK
    with pytest.raises(TypeError, match="only 0-dimensional arrays"):
        as_python_float(b, sym(vector("x")))
    with pytest.raises(TypeError, match="not 'complex'"):
        as_python_float(b, 1j)
    assert as_operand(b, [1.0, 2.0]).type == Array("float64", (Dim.of(2),))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint16", "float32"])
@pytest.mark.parametrize("name", ["erf", "gammaln", "digamma", "erfinv", "ndtri", "erfcx"])
def test_scipys_functions_compute_in_scipys_dtype(name: str, dtype: str) -> None:
    x = np.zeros(2, dtype)
    want = getattr(scipy.special, name)(x)
    assert call(f"scipy.special.{name}", x).dtype == want.dtype


def test_scipys_operands() -> None:
    def dtypes(single: bool, *types: Any) -> list[str]:
        return [x.dtype for x in scipy_operands([sym(t) for t in types], single)]

    single, small = Scalar("float32"), Scalar("int16")
    assert dtypes(True, small, single) == ["float32"] * 2
    assert dtypes(False, small, single) == ["float64"] * 2
    assert dtypes(True, single, WEAK) == ["float32"] * 2
    assert dtypes(True, Scalar("int32"), single) == ["float64"] * 2
    assert dtypes(True, WEAK, WEAK) == ["float64"] * 2
    z = sym(Scalar("complex64"))
    assert scipy_operands([z], True) == [z]


# ---------------------------------------------------------------- keywords


def test_keywords_that_are_not_supported_are_named() -> None:
    refuse_keywords("numpy.sum", {"out": None, "where": None})
    with pytest.raises(UnsupportedError, match=r"numpy\.sum with out=") as error:
        refuse_keywords("numpy.sum", {"where": None, "out": 1})
    assert error.value.advice == "assign the result instead"
    with pytest.raises(UnsupportedError, match="with initial=") as error:
        refuse_keywords("numpy.sum", {"initial": 1})
    assert error.value.advice == "leave out initial="
    with pytest.raises(TypeError, match=r"numpy\.clip takes no axis=None"):
        refuse_keywords("numpy.clip", {"out": None, "axis": None})


def test_ufuncs_take_a_float_dtype() -> None:
    x = np.array([1, 4], np.int32)
    got = call("numpy.sqrt", x, dtype=np.float32)
    np.testing.assert_array_equal(got, np.sqrt(x, dtype=np.float32))
    assert got.dtype == np.float32
    with pytest.raises(UnsupportedError, match="with dtype=int64"):
        float_dtype("numpy.add", int)
    with pytest.raises(UnsupportedError, match="with dtype="):
        call("numpy.less", x, x, dtype=np.float64)


@pytest.mark.parametrize("keywords", [{"where": np.array([True, False])}, {"casting": "no"}])
def test_other_keywords_of_ufuncs_are_refused(keywords: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"with {next(iter(keywords))}="):
        call("numpy.sqrt", np.ones(2), **keywords)
    np.testing.assert_array_equal(call("numpy.sqrt", np.ones(2), where=True), np.ones(2))


def test_numbers_of_arguments() -> None:
    with pytest.raises(TypeError, match=r"exp\(\) takes 1 arguments, 2 given"):
        call("math.exp", 1.0, 2.0)
    with pytest.raises(UnsupportedError, match="out="):
        call("numpy.exp", np.ones(2), np.ones(2))
    with pytest.raises(TypeError, match="takes 2 arguments, 1 given"):
        call("numpy.add", np.ones(2))


def test_functions_of_math_give_python_floats_and_of_numpy_numpy_scalars() -> None:
    assert type(call("math.exp", np.float32(1))) is float
    assert type(call("numpy.exp", np.float32(1))) is np.float32
    assert type(call("numpy.exp", 1.0)) is np.float64
    assert type(call("numpy.negative", 3)) is np.int64
