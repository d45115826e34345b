"""`tf.math`: values beside Python's `math`, dtypes by TensorFlow's rules, edge cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf
from tests.s2s.tf.tensors import same

POINTS = [-1.75, -0.5, 0.25, 0.75, 3.5]
UNARY: dict[str, tuple[Any, Any]] = {
    "abs": (abs, POINTS),
    "negative": (lambda x: -x, POINTS),
    "sign": (lambda x: math.copysign(1.0, x) if x else 0.0, [*POINTS, 0.0]),
    "square": (lambda x: x * x, POINTS),
    "sqrt": (math.sqrt, POINTS[2:]),
    "rsqrt": (lambda x: 1 / math.sqrt(x), POINTS[2:]),
    "reciprocal": (lambda x: 1 / x, POINTS),
    "exp": (math.exp, POINTS),
    "expm1": (math.expm1, [*POINTS, 1e-12]),
    "log": (math.log, POINTS[2:]),
    "log1p": (math.log1p, [*POINTS[1:], 1e-12]),
    "sin": (math.sin, POINTS),
    "cos": (math.cos, POINTS),
    "tan": (math.tan, POINTS),
    "asin": (math.asin, POINTS[1:4]),
    "acos": (math.acos, POINTS[1:4]),
    "atan": (math.atan, POINTS),
    "sinh": (math.sinh, POINTS),
    "cosh": (math.cosh, POINTS),
    "tanh": (math.tanh, POINTS),
    "asinh": (math.asinh, POINTS),
    "acosh": (math.acosh, [1.0, 3.5]),
    "atanh": (math.atanh, POINTS[1:4]),
    "erf": (math.erf, POINTS),
    "erfc": (math.erfc, POINTS),
    "lgamma": (math.lgamma, POINTS),
    "digamma": (lambda x: (math.lgamma(x + 1e-6) - math.lgamma(x - 1e-6)) / 2e-6, POINTS[2:]),
    "log_sigmoid": (lambda x: -math.log1p(math.exp(-x)), POINTS),
    "sigmoid": (lambda x: 1 / (1 + math.exp(-x)), POINTS),
    "softplus": (lambda x: math.log1p(math.exp(x)), POINTS),
    "floor": (math.floor, POINTS),
    "ceil": (math.ceil, POINTS),
    "round": (round, [*POINTS, 2.5, -0.5]),  # to even, as in TensorFlow
    "is_nan": (math.isnan, [*POINTS, math.nan, math.inf]),
    "is_finite": (math.isfinite, [*POINTS, math.nan, -math.inf]),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    formula, points = UNARY[name]
    function, want = getattr(tf.math, name), [formula(x) for x in points]
    same(function(np.array(points)), want, rtol=1e-9 if name != "digamma" else 1e-7)
    kind = "bool" if name.startswith("is_") else "float32"
    same(function(np.array(points, np.float32)), want, kind, rtol=2e-5)
    same(function(tf.constant(points[0])), want[0], kind, rtol=2e-5)


BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "squared_difference": lambda x, y: (x - y) ** 2,
    "maximum": max,
    "minimum": min,
    "floormod": lambda x, y: x % y,
    "atan2": math.atan2,
    "xlogy": lambda x, y: x * math.log(y),
    "divide_no_nan": lambda x, y: x / y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    left, right = [0.5, 2.0, 3.0, 1.0], [2.0, 2.0, 0.75, 4.0]
    function, want = getattr(tf.math, name), [BINARY[name](x, y) for x, y in zip(left, right)]
    same(function(np.array(left), np.array(right)), want)
    same(function(np.array(left), 2.0), [BINARY[name](x, 2.0) for x in left])


def test_lists_and_scalars_take_the_dtype_of_the_other_operand() -> None:
    x = np.array([1.0, 2.0], np.float32)
    same(tf.add(x, [1, 2]), [2, 4], "float32")
    same(tf.maximum([1.5, 1.5], x), [1.5, 2.0], "float32")
    same(tf.add([1, 2], [3, 4]), [4, 6], "int32")
    same(tf.multiply(x, 2), [2, 4], "float32")
    same(tf.add(tf.Variable(x), [1, 1]), [2, 3], "float32")


def test_quotients_and_logarithms_of_zero() -> None:
    x, zero = np.array([1.0, 0.0, -1.0]), np.zeros(3)
    same(tf.math.divide_no_nan(x, zero), zero)
    same(tf.math.divide_no_nan(x, 0.0), zero)
    same(tf.math.xlogy(0.0, np.array([0.0, 1.0])), [0.0, 0.0])
    gradient = s2s.grad(lambda x: np.sum(tf.math.divide_no_nan(x, x * 0.0)), backend="loops")(x)
    np.testing.assert_array_equal(gradient, zero)


def test_the_gradient_of_a_sign_is_zero() -> None:
    with tf.GradientTape() as tape:
        x = tf.constant([2.0, -1.0])
        tape.watch(x)
        y = tf.sign(x)
    np.testing.assert_array_equal(tape.gradient(y, x), [0.0, 0.0])
    same(tf.sign([3, -2, 0]), [1, -1, 0], "int32")


def test_logic() -> None:
    same(tf.logical_and([True, True], [True, False]), [True, False], "bool")
    same(tf.logical_or([True, False], [False, False]), [True, False], "bool")
    same(tf.logical_not([True, False]), [False, True], "bool")


# ---------------------------------------------------------------- reductions

M = np.array([[1.0, -2.0, 4.0], [3.0, 0.5, -1.0]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1, [0], [0, 1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis: Any, keepdims: bool) -> None:
    options: dict[str, Any] = {"axis": tuple(axis) if isinstance(axis, list) else axis}
    options["keepdims"] = keepdims
    for name, want in {
        "reduce_sum": M.sum(**options),
        "reduce_mean": M.mean(**options),
        "reduce_prod": M.prod(**options),
        "reduce_max": M.max(**options),
        "reduce_min": M.min(**options),
        "reduce_variance": M.var(**options),
        "reduce_std": M.std(**options),
        "reduce_logsumexp": np.log(np.exp(M).sum(**options)),
        "reduce_euclidean_norm": np.sqrt((M * M).sum(**options)),
    }.items():
        same(getattr(tf.math, name)(M, axis, keepdims), want, "float64")
    same(tf.reduce_all(M > -3, axis, keepdims), (M > -3).all(**options), "bool")
    same(tf.reduce_any(M > 3, axis, keepdims), (M > 3).any(**options), "bool")


def test_reductions_of_integers_keep_their_dtype() -> None:
    same(tf.reduce_sum([1, 2, 4]), 7, "int32")
    same(tf.reduce_prod([1, 2, 4]), 8, "int32")
    same(tf.reduce_mean([-1, -2, -4]), -2, "int32")  # truncated
    same(tf.reduce_max(tf.constant([1, 2, 4])), 4, "int32")
    same(tf.math.reduce_euclidean_norm(np.array([1, 2])), 2, "int64")
    same(tf.reduce_sum(np.array([2**31 - 1, 1], np.int32)), -(2**31), "int32")  # wraps around


@pytest.mark.filterwarnings("ignore:divide by zero encountered in log")
def test_extreme_logits() -> None:
    x = np.array([1e4, 1e4, -1e4], np.float32)
    same(tf.reduce_logsumexp(x), 1e4 + math.log(2), "float32", rtol=1e-6)
    same(tf.reduce_logsumexp(-np.full(2, np.inf)), -np.inf)
    same(tf.reduce_logsumexp(np.array([np.inf, 1.0])), np.inf)
    same(tf.math.softmax(x), [0.5, 0.5, 0.0], "float32")
    same(tf.math.log_softmax(x)[2], -2e4 - math.log(2), "float32", rtol=1e-6)


def test_normalisation() -> None:
    for axis in (0, 1, -1):
        exact = np.exp(M) / np.exp(M).sum(axis, keepdims=True)
        same(tf.math.softmax(M, axis), exact)
        same(tf.math.log_softmax(M, axis), np.log(exact))
    same(tf.math.l2_normalize(np.array([3.0, 4.0])), [0.6, 0.8])
    same(tf.math.l2_normalize(np.array([[3.0, 0.0], [4.0, 0.0]]), 0), [[0.6, 0], [0.8, 0]])


# ---------------------------------------------------------------- scans and orderings


def test_scans() -> None:
    x = [1, 2, 4]
    same(tf.cumsum(x), [1, 3, 7], "int32")
    same(tf.cumsum(x, exclusive=True), [0, 1, 3], "int32")
    same(tf.cumsum(x, reverse=True), [7, 6, 4], "int32")
    same(tf.cumsum(x, exclusive=True, reverse=True), [6, 4, 0], "int32")
    same(tf.math.cumprod(x, exclusive=True), [1, 1, 2])
    same(tf.math.cumprod(x, reverse=True), [8, 8, 4])
    same(tf.math.cumprod(x, exclusive=True, reverse=True), [8, 4, 1])
    same(tf.cumsum(M, axis=1), M.cumsum(1))
    same(tf.math.cumprod(M, axis=0), M.cumprod(0))
    same(tf.cumsum(np.zeros((0,), np.float32), exclusive=True), [], "float32")


def test_sums_of_several() -> None:
    same(tf.add_n([M, M, M]), 3 * M)
    same(tf.math.unsorted_segment_sum(M, np.array([2, 2]), 3), [[0] * 3, [0] * 3, M.sum(0)])
    same(tf.math.unsorted_segment_sum(np.ones(3), np.array([0, 2, 0]), 4), [2, 0, 1, 0])


def test_places() -> None:
    same(tf.argmax(M), [1, 1, 0], "int64")
    same(tf.argmax(M, 1, tf.int32), [2, 0], "int32")
    same(tf.argmin(M, axis=1), [1, 2], "int64")
    top = tf.math.top_k(np.array([[1.0, 3.0, 3.0, 2.0]]), 3)
    same(top.values, [[3, 3, 2]]), same(top.indices, [[1, 2, 3]], "int32")
    same(tf.math.top_k(M).values, [[4], [3]])
