"""Python's builtins, `math` and conversions of dtypes: values, types and errors are Python's."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Var
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.rules import SURFACES
from s2s.transforms.rules.dtypes import SUPPORTED
from tests.transforms.programs import vector
from tests.transforms.rules.numeric import call, run

NUMBERS = [0, 3, -7, True, 0.0, -0.0, 2.5, 3.5, -2.5, 1e18, np.float32(2.5), np.int8(-3), np.True_]


def python(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr({"builtins": builtins, "math": math, "numpy": np}[module], name)


def at_run_time(path: str, *args: Any, **keywords: Any) -> Any:
    return run(lambda b, *xs: SURFACES[path](b, *xs, **keywords), *args)


def same(got: Any, want: Any) -> None:
    assert type(got) is type(want), (got, want)
    assert got == want and math.copysign(1, got) == math.copysign(1, want)


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
@pytest.mark.parametrize(
    "path",
    ["builtins.float", "builtins.int", "builtins.bool", "math.floor", "math.ceil", "math.trunc"],
)
def test_conversions_at_compile_time_and_at_run_time(path: str, value: Any) -> None:
    """NumPy's scalars have no __trunc__; they are converted all the same."""
    want = python(path)(value.item() if isinstance(value, np.generic) else value)
    same(at_run_time(path, value), want)
    same(run(lambda b: b.sym(SURFACES[path](b, value))), want)


@pytest.mark.parametrize("value", [2.5, -2.5, 3.5, 0.5, 1e15, 7, True, np.float64(2.5)])
def test_rounding_to_an_integer_is_to_even(value: Any) -> None:
    same(at_run_time("builtins.round", value), round(value))
    same(run(lambda b: b.sym(SURFACES["builtins.round"](b, value))), round(value))


@pytest.mark.parametrize("decimals", [-1, 0, 1, 3])
def test_rounding_of_arrays(decimals: int) -> None:
    x = np.array([2.5, -13.25, 0.1249, 1e3])
    np.testing.assert_array_equal(call("numpy.round", x, decimals), np.round(x, decimals))
    same(call("numpy.round", np.float32(12.25), decimals), np.round(np.float32(12.25), decimals))


def test_rounding_that_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="float16"):
        call("numpy.round", np.array([True]))
    with pytest.raises(UnsupportedError, match="to tens"):
        call("numpy.round", np.array([12]), -1)
    with pytest.raises(UnsupportedError, match="out="):
        call("numpy.round", np.ones(2), 0, np.ones(2))


@pytest.mark.parametrize("path", ["builtins.float", "builtins.int"])
def test_conversions_that_python_refuses(path: str) -> None:
    word = path.rpartition(".")[2]
    with pytest.raises(TypeError, match=rf"{word}\(\) argument must be .*'complex'"):
        at_run_time(path, np.complex128(1))
    with pytest.raises(TypeError, match=rf"{word}\(\) argument must be .*'complex'"):
        call(path, 1j)
    with pytest.raises(TypeError, match="only 0-dimensional arrays"):
        call(path, np.ones(2))
    assert at_run_time("builtins.bool", np.complex128(0)) is False


def test_an_array_of_rank_zero_is_converted() -> None:
    same(call("builtins.float", np.array(2.5, np.float32)), 2.5)
    same(call("builtins.int", np.array(-2.5)), -2)


# ---------------------------------------------------------------- dtypes


@pytest.mark.parametrize("have", SUPPORTED)
@pytest.mark.parametrize("want", SUPPORTED)
def test_every_conversion_between_dtypes(have: str, want: str) -> None:
    x = np.array([0, 1, 3]).astype(have)
    surface = "numpy.bool_" if want == "bool" else f"numpy.{want}"
    if x.dtype.kind == "c" and want != "bool" and np.dtype(want).kind != "c":
        for refused in (lambda: call("numpy.ndarray.astype", x, want), lambda: call(surface, x[1])):
            with pytest.raises(UnsupportedError, match="would drop their imaginary parts"):
                refused()
        return
    got = call("numpy.ndarray.astype", x, want)
    np.testing.assert_array_equal(got, x.astype(want))
    assert got.dtype == want and not np.shares_memory(got, x)
    scalar = call(surface, x[1])
    assert scalar == x[1].astype(want) and scalar.dtype == want


def test_astype_copies_unless_told_otherwise() -> None:
    b = Builder(NameSupply(), Facts())
    v = b.sym(Var("x", vector("x")))
    assert SURFACES["numpy.ndarray.astype"](b, v, float, copy=False) is v
    assert SURFACES["numpy.ndarray.astype"](b, v, "f8", "K", "unsafe", True, False) is v
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        SURFACES["numpy.ndarray.astype"](b, v, "f4", casting="safe")


# ---------------------------------------------------------------- several values


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("values", [(1, 2), (2.5, 1.0, 3.0), (True, 3), (-1.0, 2.0)])
def test_extremes_of_numbers(name: str, values: Any) -> None:
    path, want = f"builtins.{name}", getattr(builtins, name)(values)
    assert at_run_time(path, *values) == want
    assert run(lambda b, *xs: SURFACES[path](b, xs), *values) == want


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_that_are_refused(name: str) -> None:
    path = f"builtins.{name}"
    assert call(path, np.array([3.0, 1.0])) == getattr(builtins, name)([3.0, 1.0])
    with pytest.raises(UnsupportedError, match=f"{name} of this value"):
        call(path, np.ones((2, 2)))
    with pytest.raises(ValueError, match="iterable argument is empty"):
        call(path, ())
    with pytest.raises(ValueError, match="ambiguous"):
        call(path, np.ones(2), np.ones(2))
    with pytest.raises(UnsupportedError, match="with key="):
        call(path, 1, 2, key=abs)


@pytest.mark.parametrize(
    ("values", "start"),
    [
        ([1, 2, 3], 0), ([1.5, 2], 0), ([True, True], 0), ([], 0), ([], 2.5), ([1, 2], 0.5),
        ([True], 0), (np.array([1.5, 2.0]), 0), (np.array([True, True, False]), 0),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), 0), (np.array([1, 2], np.int8), 0),
        (np.array([1.0, 2.0], np.float32), 3), (np.empty(0), 0),
    ],
    ids=str,
)  # fmt: skip
def test_sums(values: Any, start: Any) -> None:
    got = call("builtins.sum", values, start)
    want = builtins.sum(values, start)
    np.testing.assert_array_equal(got, want)
    assert np.asarray(got).dtype == np.asarray(want).dtype or len(values) == 0


def test_a_number_is_not_iterable() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        call("builtins.sum", np.float64(1.0))


# ---------------------------------------------------------------- integers


@pytest.mark.parametrize("args", [(), (6,), (-6, 4), (0, 0), (12, 18, 8), (0, 5)])
@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_and_multiples(name: str, args: Any) -> None:
    same(at_run_time(f"math.{name}", *args), getattr(math, name)(*args))
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        at_run_time(f"math.{name}", *args, 2.0)


@pytest.mark.parametrize("args", [(7, 3), (-7, 3), (7, -3), (7.5, 2.0), (-7.5, 2.0), (6, 3)])
def test_divmod(args: Any) -> None:
    got = run(lambda b, x, y: tuple(SURFACES["builtins.divmod"](b, x, y)), *args)
    for g, w in zip(got, divmod(*args)):
        same(g, w)


@pytest.mark.parametrize("base", [0, 1, 5, -5, 12])
@pytest.mark.parametrize("exponent", [0, 1, 3])
@pytest.mark.parametrize("modulus", [1, 7, -7])
def test_powers_modulo(base: int, exponent: int, modulus: int) -> None:
    want = pow(base, exponent, modulus)
    got = run(lambda b, x: SURFACES["builtins.pow"](b, x, exponent, modulus), base)
    assert got == want
    assert call("builtins.pow", base, exponent, modulus) == want


def test_powers_modulo_that_are_refused() -> None:
    assert call("builtins.pow", 3, -1, 7) == pow(3, -1, 7)
    with pytest.raises(ValueError, match="not invertible"):
        call("builtins.pow", 2, -1, 4)
    for args in ((3.0, 2, 5), (3, 2, 5.0)):
        with pytest.raises(TypeError, match="3rd argument not allowed"):
            call("builtins.pow", *args)
    for exponent, modulus in ((3, 2**32), (-1, 7), (2, 0)):
        with pytest.raises(UnsupportedError, match="modulus"):
            run(lambda b, x, e=exponent, m=modulus: SURFACES["builtins.pow"](b, x, e, m), 3)


# ---------------------------------------------------------------- floats


@pytest.mark.parametrize("n", [-2200, -1080, -1000, -3, 0, 5, 1000, 1023, 2200])
@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -0.75, 5e-324, 1e300, np.inf, -np.inf])
def test_ldexp_is_rounded_once(x: float, n: int) -> None:
    with np.errstate(all="ignore"):
        want = np.ldexp(x, n)
    for got in (
        at_run_time("numpy.ldexp", x, n),
        run(lambda b, x: SURFACES["numpy.ldexp"](b, x, n), x),
    ):
        assert got == want and np.signbit(got) == np.signbit(want)


@pytest.mark.parametrize("x", [5.0, -5.0, 4.5, 7.5, 1.5, -1.5, 0.0, 1e17])
@pytest.mark.parametrize("y", [3.0, -3.0, 1.0, 0.25])
def test_the_ieee_remainder(x: float, y: float) -> None:
    got, want = at_run_time("math.remainder", x, y), math.remainder(x, y)
    assert got == want and math.copysign(1, got) == math.copysign(1, want)


@pytest.mark.parametrize("x", [2.75, -2.75, 0.0, -0.0, np.inf, -np.inf, 3.0, 1e300])
def test_modf(x: float) -> None:
    got = run(lambda b, v: tuple(SURFACES["math.modf"](b, v)), x)
    for g, w in zip(got, math.modf(x)):
        assert g == w and math.copysign(1, g) == math.copysign(1, w)


@pytest.mark.parametrize("args", [(), (-3.0,), (3.0, 4.0), (1.0, 2.0, 2.0), (3, 4)])
def test_hypot(args: Any) -> None:
    same(at_run_time("math.hypot", *args), math.hypot(*args))


def test_logarithms_and_powers_of_math() -> None:
    for args in ((8.0,), (8.0, 2.0), (9, 3)):
        got = at_run_time("math.log", *args)
        assert type(got) is float and got == pytest.approx(math.log(*args), rel=1e-15)
    same(at_run_time("math.pow", 2, 3), 8.0)


@pytest.mark.parametrize("values", [[], [2, 3], [2, 0.5], [True, True], np.array([2.0, 4.0])])
def test_products_of_math(values: Any) -> None:
    assert call("math.prod", values) == math.prod(values)
    assert call("math.prod", values, start=3) == math.prod(values, start=3)
    assert call("math.fsum", values) == math.fsum(values)


# ---------------------------------------------------------------- compile-time functions


def test_questions_about_types() -> None:
    """They are answered at compile time; a Python number is weak."""
    b = Builder(NameSupply(), Facts())
    single = b.sym(Var("x", vector("x"))).astype("float32")

    def ask(name: str, *args: Any) -> Any:
        return SURFACES[f"numpy.{name}"](b, *args)

    x = np.ones(2, np.float32)
    assert ask("result_type", single, np.int64) == np.result_type(x, np.int64)
    assert ask("result_type", single, b.sym(1.0)) == np.result_type(x, 1.0)
    assert ask("result_type", "int8", "uint8") == ask("promote_types", "int8", "uint8") == np.int16
    for have in ("int64", "float32"):
        for want in ("float32", "float64"):
            assert ask("can_cast", have, want) == np.can_cast(have, want)
            assert ask("issubdtype", have, want) == np.issubdtype(have, want)
    assert ask("can_cast", single, "float64") is True
    for value in (3.0, (1,), [1.0]):
        assert ask("isscalar", value) == np.isscalar(value)
        assert ask("iterable", value) == np.iterable(value)
    assert not ask("isscalar", single) and ask("iterable", single)
