"""Every elementwise operation against NumPy: values at the edges, dtypes, broadcasting."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.op_registry import RULES
from tests.transforms.lower.harness import check, run

FLOATS = np.array([-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 2.0, 7.5, np.inf, np.nan])
INTS = np.array([-7, -3, -1, 0, 1, 2, 5, 9])
UNARY = [
    "negative", "positive", "absolute", "fabs", "exp", "exp2", "expm1", "log", "log2", "log10",
    "log1p", "sqrt", "cbrt", "square", "reciprocal", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "degrees", "radians", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "sign", "floor", "ceil", "trunc", "rint", "logical_not", "isnan", "isinf", "isfinite",
    "signbit",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "power",
    "float_power", "copysign", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2",
    "hypot", "arctan2", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
INTEGER = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum",
    "bitwise_and", "bitwise_or", "bitwise_xor", "less", "equal", "fmod",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    if name not in RULES:
        pytest.skip("no rule yet")
    tol = 1e-5 if dtype == "float32" else 1e-12
    check(lambda b, x: b.emit(name, x), getattr(np, name), FLOATS.astype(dtype), tol=tol)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    if name not in RULES:
        pytest.skip("no rule yet")
    x = FLOATS.astype(dtype)
    tol = 1e-5 if dtype == "float32" else 1e-12
    check(lambda b, x, y: b.emit(name, x, y), getattr(np, name), x[:, None].copy(), x, tol=tol)


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("name", INTEGER)
def test_integers(name, dtype):
    x = INTS.astype(dtype)
    check(lambda b, x, y: b.emit(name, x, y), getattr(np, name), x[:, None].copy(), x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [-16, -12, -7, -5, -1, 4, 5, 6, 7, 11, 12, 15, 16])
def test_whole_powers_are_products(n, dtype):
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 1e-3]
    x = np.array([*special, *np.linspace(-2.0, 2.0, 38)], dtype)
    with np.errstate(all="ignore"):
        wanted = x ** dtype(n)
        got = run(lambda b, x: b.emit("power", x, float(n)), x)
    tiny = np.abs(wanted) < np.finfo(dtype).tiny  # 1 / infinity, after a slight overflow
    assert np.array_equal(np.signbit(got[~np.isnan(x)]), np.signbit(wanted[~np.isnan(x)]))
    np.testing.assert_allclose(got[~tiny], wanted[~tiny], rtol=abs(n) * np.finfo(dtype).eps)
    np.testing.assert_allclose(got[tiny], wanted[tiny], atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5])
def test_powers_with_a_half_at_the_edges(n, dtype):
    x = FLOATS.astype(dtype)
    tol = 1e-6 if dtype is np.float32 else 1e-14
    check(lambda b, x: b.emit("power", x, n), lambda x: x**n, x, tol=tol)


def test_integer_power():
    x, n = np.arange(-3, 4), np.arange(5)
    check(lambda b, x, y: b.emit("power", x, y), np.power, x[:, None].copy(), n)
    with pytest.raises(ValueError, match="negative integer powers"):
        run(lambda b, x, y: b.emit("power", x, y), x[:5], n - 2)


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shifts(name):
    check(lambda b, x, y: b.emit(name, x, y), getattr(np, name), INTS, np.arange(8))


@pytest.mark.parametrize("name", ["logical_and", "bitwise_or", "bitwise_xor", "add", "multiply"])
def test_bools(name):
    x = np.array([True, False])
    check(lambda b, x, y: b.emit(name, x, y), getattr(np, name), x[:, None].copy(), x)
    check(lambda b, x: b.emit("invert", x), np.invert, x)


@pytest.mark.parametrize("weak", [2, 2.5, 3, -1.5, True])
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "power", "maximum"])
def test_python_numbers_adopt_the_dtype(name, weak):
    for x in (np.float32([0.5, 3.0]), np.array([0.5, 3.0])):
        check(lambda b, x: b.emit(name, x, weak), lambda x: getattr(np, name)(x, weak), x, tol=1e-6)


def test_scalars_divide_by_zero_without_raising():
    for x, y in ((1.0, 0.0), (0.0, 0.0), (-1.0, 0.0), (5, 0)):
        check(lambda b, x, y: x / y, np.divide, x, y)
        check(lambda b, x, y: b.emit("floor_divide", x, y), np.floor_divide, x, y)
        check(lambda b, x, y: b.emit("remainder", x, y), np.remainder, x, y)


def test_constants_alone():
    assert np.isinf(run(lambda b, x: b.emit("divide", 1.0, x) * 2.0, 0.0))


def test_where_clip_and_strong_mul():
    x = FLOATS
    check(
        lambda b, x: np.where(x > 0, np.sqrt(x), 0.0), lambda x: np.where(x > 0, np.sqrt(x), 0.0), x
    )
    check(lambda b, x: b.emit("clip", x, -1.0, 1.0), lambda x: np.clip(x, -1.0, 1.0), x)
    x = np.float32(FLOATS)
    check(lambda b, x: b.emit("clip", x, -1.0, 1.0), lambda x: np.clip(x, -1.0, 1.0), x)
    g = np.array([0.0, 1.0, 0.0, 2.0])
    p = np.array([np.inf, 3.0, np.nan, np.inf])
    check(
        lambda b, g, p: b.emit("strong_mul", g, p), lambda g, p: np.where(g == 0, 0.0, g * p), g, p
    )


@pytest.mark.parametrize(
    "source, target",
    [
        ("float64", "float32"), ("float32", "float64"), ("float64", "int64"), ("int64", "float32"),
        ("float64", "bool"), ("bool", "float64"), ("int64", "bool"), ("bool", "int64"),
        ("int64", "int32"), ("float32", "int32"),
    ],
)  # fmt: skip
def test_cast(source, target):
    x = np.array([0, 1, 2.7, -2.7, 100]).astype(source)
    check(lambda b, x: b.emit("cast", x, dtype=target), lambda x: x.astype(target), x)


def test_cast_of_nan_does_not_raise():
    check(lambda b, x: b.emit("cast", x, dtype="int64"), lambda x: x.astype("int64"), FLOATS)


@pytest.mark.parametrize(
    "left, right",
    [
        ((3,), (3,)), ((3,), (1,)), ((1,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3), ()),
        ((), ()), ((4, 1, 2), (3, 1)), ((0,), (1,)), ((0, 3), (3,)), ((1,), (1,)), ((2, 0), (1, 1)),
    ],
)  # fmt: skip
def test_broadcasting(left, right):
    r = np.random.default_rng(1)
    x, y = r.normal(size=left), r.normal(size=right)
    check(lambda b, x, y: np.tanh(x - y) * y, lambda x, y: np.tanh(x - y) * y, x, y, tol=1e-14)
    check(lambda b, x, y: np.exp(y) * x, lambda x, y: np.exp(y) * x, x, y, tol=1e-14)


def test_broadcasting_mismatch_raises():
    with pytest.raises(ValueError, match="could not be broadcast together"):
        run(lambda b, x, y: x + y, np.ones(3), np.ones(4), asked=False)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        run(lambda b, x, y: x + y, np.ones(0), np.ones(4), asked=False)


def test_any_layout():
    r = np.random.default_rng(2)
    x = r.normal(size=(4, 6))[::2, ::-3]
    y = np.asfortranarray(r.normal(size=(2, 2)))
    check(lambda b, x, y: x * y + x, lambda x, y: x * y + x, x, y)


def test_zero_dimensional_arrays():
    x = np.array(2.0)
    check(lambda b, x: x * 3.0 + x, lambda x: x * 3.0 + x, x)
