"""`tf.math`, and what of it stands in `tf` itself: elementwise functions, sums and orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..later import later
from ..layers.activations import log_softmax as log_softmax
from ..layers.activations import sigmoid, softplus, tanh
from ..layers.activations import softmax as softmax
from ._axes import axes
from .tensors import export

scipy: Any = later("scipy")  # which takes longer to load than all of this package

# What stands in `tf` itself, too.
__all__ = [
    "abs", "acos", "acosh", "add", "add_n", "argmax", "argmin", "asin", "asinh", "atan", "atan2",
    "atanh", "ceil", "cos", "cosh", "cumsum", "divide", "equal", "exp", "expm1", "floor", "greater",
    "greater_equal", "less", "less_equal", "log", "log1p", "logical_and", "logical_not",
    "logical_or", "maximum", "minimum", "multiply", "negative", "not_equal", "pow", "reciprocal",
    "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min",
    "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "round", "rsqrt", "sigmoid",
    "sign", "sin", "sinh", "softplus", "sqrt", "square", "squared_difference", "subtract", "tan",
    "tanh",
]  # fmt: skip


# ---------------------------------------------------------------- of several


def add_n(inputs: Any) -> Any:
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    return total


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Rows added up by the number of their segment."""
    total = np.zeros((num_segments, *data.shape[1:]), data.dtype)
    np.add.at(total, segment_ids, data)
    return total


# ---------------------------------------------------------------- of one


def abs(x: Any) -> Any:
    return np.abs(x)


def negative(x: Any) -> Any:
    return np.negative(x)


def sign(x: Any) -> Any:
    return np.sign(x)


def square(x: Any) -> Any:
    return np.square(x)


def sqrt(x: Any) -> Any:
    return np.sqrt(x)


def rsqrt(x: Any) -> Any:
    return 1.0 / np.sqrt(x)


def reciprocal(x: Any) -> Any:
    return 1.0 / x


def exp(x: Any) -> Any:
    return np.exp(x)


def expm1(x: Any) -> Any:
    return np.expm1(x)


def log(x: Any) -> Any:
    return np.log(x)


def log1p(x: Any) -> Any:
    return np.log1p(x)


def sin(x: Any) -> Any:
    return np.sin(x)


def cos(x: Any) -> Any:
    return np.cos(x)


def tan(x: Any) -> Any:
    return np.tan(x)


def asin(x: Any) -> Any:
    return np.arcsin(x)


def acos(x: Any) -> Any:
    return np.arccos(x)


def atan(x: Any) -> Any:
    return np.arctan(x)


def sinh(x: Any) -> Any:
    return np.sinh(x)


def cosh(x: Any) -> Any:
    return np.cosh(x)


def asinh(x: Any) -> Any:
    return np.arcsinh(x)


def acosh(x: Any) -> Any:
    return np.arccosh(x)


def atanh(x: Any) -> Any:
    return np.arctanh(x)


def erf(x: Any) -> Any:
    return scipy.special.erf(x)


def erfc(x: Any) -> Any:
    return scipy.special.erfc(x)


def lgamma(x: Any) -> Any:
    return scipy.special.gammaln(x)


def digamma(x: Any) -> Any:
    return scipy.special.digamma(x)


def log_sigmoid(x: Any) -> Any:
    return -softplus(-x)


def is_nan(x: Any) -> Any:
    return np.isnan(x)


def is_finite(x: Any) -> Any:
    return np.isfinite(x)


def floor(x: Any) -> Any:
    return np.floor(x)


def ceil(x: Any) -> Any:
    return np.ceil(x)


def round(x: Any) -> Any:
    return np.round(x)


def logical_not(x: Any) -> Any:
    return np.logical_not(x)


# ---------------------------------------------------------------- of two


def add(x: Any, y: Any) -> Any:
    return np.add(x, y)


def subtract(x: Any, y: Any) -> Any:
    return np.subtract(x, y)


def multiply(x: Any, y: Any) -> Any:
    return np.multiply(x, y)


def divide(x: Any, y: Any) -> Any:
    return np.divide(x, y)


def divide_no_nan(x: Any, y: Any) -> Any:
    """0 where y is."""
    return np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))


def xlogy(x: Any, y: Any) -> Any:
    return scipy.special.xlogy(x, y)


def floormod(x: Any, y: Any) -> Any:
    return np.mod(x, y)


def pow(x: Any, y: Any) -> Any:
    return np.power(x, y)


def squared_difference(x: Any, y: Any) -> Any:
    return np.square(x - y)


def maximum(x: Any, y: Any) -> Any:
    return np.maximum(x, y)


def minimum(x: Any, y: Any) -> Any:
    return np.minimum(x, y)


def equal(x: Any, y: Any) -> Any:
    return np.equal(x, y)


def not_equal(x: Any, y: Any) -> Any:
    return np.not_equal(x, y)


def greater(x: Any, y: Any) -> Any:
    return np.greater(x, y)


def greater_equal(x: Any, y: Any) -> Any:
    return np.greater_equal(x, y)


def less(x: Any, y: Any) -> Any:
    return np.less(x, y)


def less_equal(x: Any, y: Any) -> Any:
    return np.less_equal(x, y)


def logical_and(x: Any, y: Any) -> Any:
    return np.logical_and(x, y)


def logical_or(x: Any, y: Any) -> Any:
    return np.logical_or(x, y)


def atan2(y: Any, x: Any) -> Any:
    return np.arctan2(y, x)


# ---------------------------------------------------------------- along axes


def reduce_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis=axes(axis), keepdims=keepdims)


def reduce_mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.mean(x, axis=axes(axis), keepdims=keepdims)


def reduce_prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.prod(x, axis=axes(axis), keepdims=keepdims)


def reduce_max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(x, axis=axes(axis), keepdims=keepdims)


def reduce_min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.min(x, axis=axes(axis), keepdims=keepdims)


def reduce_variance(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.var(x, axis=axes(axis), keepdims=keepdims)


def reduce_std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.std(x, axis=axes(axis), keepdims=keepdims)


def reduce_all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.all(x, axis=axes(axis), keepdims=keepdims)


def reduce_any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.any(x, axis=axes(axis), keepdims=keepdims)


def reduce_logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    largest = np.max(x, axis=axes(axis), keepdims=True)
    total = np.sum(np.exp(x - largest), axis=axes(axis), keepdims=keepdims)
    return np.log(total) + np.max(x, axis=axes(axis), keepdims=keepdims)


def reduce_euclidean_norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sqrt(np.sum(x * x, axis=axes(axis), keepdims=keepdims))


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12) -> Any:
    squares = np.sum(x * x, axis=axes(axis), keepdims=True)
    return x / np.sqrt(np.maximum(squares, epsilon))


def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    if reverse:
        x = np.flip(x, axis)
    total = np.cumsum(x, axis=axis)
    if exclusive:
        total = total - x
    return np.flip(total, axis) if reverse else total


def cumprod(x: Any, axis: int = 0) -> Any:
    return np.cumprod(x, axis=axis)


def top_k(input: Any, k: int = 1) -> Any:
    """The k largest of each row, and where they stand, the largest first."""
    places = np.argsort(-input, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(input, places, axis=-1), places


def argmax(x: Any, axis: int = 0) -> Any:
    return np.argmax(x, axis=axis)


def argmin(x: Any, axis: int = 0) -> Any:
    return np.argmin(x, axis=axis)


export(globals())
