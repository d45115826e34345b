"""`tf.math`: elementwise functions, reductions, scans and orderings.  Most are also in `tf`
itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..api.custom_derivatives import custom_gradient
from ..layers import activations
from ..public_names import listing
from ..runtime.lazy_import import lazy_import
from ._axes import axes
from ._inputs import alike, filled, given
from .tensors import export

scipy: Any = lazy_import(
    "scipy"
)  # imported lazily: it takes longer to load than this whole package

__all__ = [
    "abs", "acos", "acosh", "add", "add_n", "argmax", "argmin", "asin", "asinh", "atan",
    "atan2", "atanh", "ceil", "cos", "cosh", "cumprod", "cumsum", "digamma", "divide",
    "divide_no_nan", "equal", "erf", "erfc", "exp", "expm1", "floor", "floormod", "greater",
    "greater_equal", "is_finite", "is_nan", "l2_normalize", "less", "less_equal", "lgamma",
    "log", "log1p", "log_sigmoid", "log_softmax", "logical_and", "logical_not", "logical_or",
    "maximum", "minimum", "multiply", "negative", "not_equal", "pow", "reciprocal",
    "reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softmax", "softplus", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh", "top_k", "unsorted_segment_sum", "xlogy",
]  # fmt: skip
__dir__ = listing(__name__)


# ---------------------------------------------------------------- n-ary and segment sums


def add_n(inputs: Any) -> Any:
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    return total


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The sums of the rows of each segment."""
    total = np.zeros((num_segments, *data.shape[1:]), data.dtype)
    np.add.at(total, segment_ids, data)
    return total


# ---------------------------------------------------------------- unary


def abs(x: Any) -> Any:
    return np.abs(given(x))


def negative(x: Any) -> Any:
    return np.negative(given(x))


def sign(x: Any) -> Any:
    x = given(x)
    return _sign(x) if x.dtype.kind == "f" else np.sign(x)


@custom_gradient
def _sign(x: Any) -> Any:
    return np.sign(x), _no_slope


def _no_slope(upstream: Any) -> Any:
    """Zeros: the gradient of `tf.sign` is 0, not None."""
    return np.zeros_like(upstream)


def square(x: Any) -> Any:
    return np.square(given(x))


def sqrt(x: Any) -> Any:
    return np.sqrt(given(x))


def rsqrt(x: Any) -> Any:
    return 1.0 / np.sqrt(given(x))


def reciprocal(x: Any) -> Any:
    return 1.0 / given(x)


def exp(x: Any) -> Any:
    return np.exp(given(x))


def expm1(x: Any) -> Any:
    return np.expm1(given(x))


def log(x: Any) -> Any:
    return np.log(given(x))


def log1p(x: Any) -> Any:
    return np.log1p(given(x))


def sin(x: Any) -> Any:
    return np.sin(given(x))


def cos(x: Any) -> Any:
    return np.cos(given(x))


def tan(x: Any) -> Any:
    return np.tan(given(x))


def asin(x: Any) -> Any:
    return np.arcsin(given(x))


def acos(x: Any) -> Any:
    return np.arccos(given(x))


def atan(x: Any) -> Any:
    return np.arctan(given(x))


def sinh(x: Any) -> Any:
    return np.sinh(given(x))


def cosh(x: Any) -> Any:
    return np.cosh(given(x))


def asinh(x: Any) -> Any:
    return np.arcsinh(given(x))


def acosh(x: Any) -> Any:
    return np.arccosh(given(x))


def atanh(x: Any) -> Any:
    return np.arctanh(given(x))


def erf(x: Any) -> Any:
    return scipy.special.erf(given(x))


def erfc(x: Any) -> Any:
    return scipy.special.erfc(given(x))


def lgamma(x: Any) -> Any:
    return scipy.special.gammaln(given(x))


def digamma(x: Any) -> Any:
    return scipy.special.digamma(given(x))


def tanh(x: Any) -> Any:
    return activations.tanh(given(x))


def sigmoid(x: Any) -> Any:
    return activations.sigmoid(given(x))


def softplus(x: Any) -> Any:
    return activations.softplus(given(x))


def log_sigmoid(x: Any) -> Any:
    return -activations.softplus(-given(x))


def is_nan(x: Any) -> Any:
    return np.isnan(given(x))


def is_finite(x: Any) -> Any:
    return np.isfinite(given(x))


def floor(x: Any) -> Any:
    return np.floor(given(x))


def ceil(x: Any) -> Any:
    return np.ceil(given(x))


def round(x: Any) -> Any:
    return np.round(given(x))


def logical_not(x: Any) -> Any:
    return np.logical_not(x)


# ---------------------------------------------------------------- binary


def add(x: Any, y: Any) -> Any:
    return np.add(*alike(x, y))


def subtract(x: Any, y: Any) -> Any:
    return np.subtract(*alike(x, y))


def multiply(x: Any, y: Any) -> Any:
    return np.multiply(*alike(x, y))


def divide(x: Any, y: Any) -> Any:
    return np.divide(*alike(x, y))


def divide_no_nan(x: Any, y: Any) -> Any:
    """The quotient, and 0 where `y` is 0."""
    x, y = filled(x, y)
    return np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))


def xlogy(x: Any, y: Any) -> Any:
    x, y = filled(x, y)
    return scipy.special.xlogy(x, y)


def floormod(x: Any, y: Any) -> Any:
    x, y = alike(x, y)
    return np.mod(x, y)


def pow(x: Any, y: Any) -> Any:
    return np.power(*alike(x, y))


def squared_difference(x: Any, y: Any) -> Any:
    x, y = alike(x, y)
    return np.square(x - y)


def maximum(x: Any, y: Any) -> Any:
    return np.maximum(*alike(x, y))


def minimum(x: Any, y: Any) -> Any:
    return np.minimum(*alike(x, y))


def equal(x: Any, y: Any) -> Any:
    return np.equal(*alike(x, y))


def not_equal(x: Any, y: Any) -> Any:
    return np.not_equal(*alike(x, y))


def greater(x: Any, y: Any) -> Any:
    return np.greater(*alike(x, y))


def greater_equal(x: Any, y: Any) -> Any:
    return np.greater_equal(*alike(x, y))


def less(x: Any, y: Any) -> Any:
    return np.less(*alike(x, y))


def less_equal(x: Any, y: Any) -> Any:
    return np.less_equal(*alike(x, y))


def logical_and(x: Any, y: Any) -> Any:
    return np.logical_and(x, y)


def logical_or(x: Any, y: Any) -> Any:
    return np.logical_or(x, y)


def atan2(y: Any, x: Any) -> Any:
    y, x = alike(y, x)
    return np.arctan2(y, x)


# ---------------------------------------------------------------- reductions, scans, orderings


def reduce_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = given(x)
    if x.dtype.kind == "i":  # integers accumulate in their own dtype
        return np.sum(x, axis=axes(axis), keepdims=keepdims, dtype=x.dtype)
    return np.sum(x, axis=axes(axis), keepdims=keepdims)


def reduce_mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = given(x)
    if x.dtype.kind == "i":  # the mean of integers is truncated
        mean = np.trunc(np.mean(x, axis=axes(axis), keepdims=keepdims))
        return mean.astype(x.dtype)
    return np.mean(x, axis=axes(axis), keepdims=keepdims)


def reduce_prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = given(x)
    if x.dtype.kind == "i":
        return np.prod(x, axis=axes(axis), keepdims=keepdims, dtype=x.dtype)
    return np.prod(x, axis=axes(axis), keepdims=keepdims)


def reduce_max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(given(x), axis=axes(axis), keepdims=keepdims)


def reduce_min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.min(given(x), axis=axes(axis), keepdims=keepdims)


def reduce_variance(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.var(given(x), axis=axes(axis), keepdims=keepdims)


def reduce_std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.std(given(x), axis=axes(axis), keepdims=keepdims)


def reduce_all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.all(x, axis=axes(axis), keepdims=keepdims)


def reduce_any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.any(x, axis=axes(axis), keepdims=keepdims)


def reduce_logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = given(x)
    largest = np.max(x, axis=axes(axis), keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    total = np.sum(np.exp(x - shift), axis=axes(axis), keepdims=keepdims)
    return np.log(total) + np.reshape(shift, np.shape(total))


def reduce_euclidean_norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = given(x)
    norm = np.sqrt(np.sum(x * x, axis=axes(axis), keepdims=keepdims))
    return norm.astype(x.dtype) if x.dtype.kind == "i" else norm


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12) -> Any:
    x = given(x)
    squares = np.sum(x * x, axis=axes(axis), keepdims=True)
    return x / np.sqrt(np.maximum(squares, epsilon))


def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    x = given(x)
    if exclusive:
        x = _shifted(x, axis, reverse, 0)
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
    return np.cumsum(x, axis=axis, dtype=x.dtype)


def cumprod(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    x = given(x)
    if exclusive:
        x = _shifted(x, axis, reverse, 1)
    if reverse:
        return np.flip(np.cumprod(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
    return np.cumprod(x, axis=axis, dtype=x.dtype)


def _shifted(x: Any, axis: int, back: bool, first: int) -> Any:
    """Shift the elements by one along an axis, forwards or `back`, and fill the gap with
    `first`."""
    x = np.moveaxis(x, axis, 0)
    gap = np.full_like(x[:1], first)
    moved = np.concatenate([x[1:], gap]) if back else np.concatenate([gap, x[:-1]])
    return np.moveaxis(moved, 0, axis)


class TopKV2(NamedTuple):
    values: Any
    indices: Any


def top_k(input: Any, k: int = 1, sorted: bool = True) -> Any:
    """The k largest entries of each row and their indices, in descending order."""
    input = given(input)
    places = np.argsort(-input, axis=-1, kind="stable")[..., :k]
    return TopKV2(np.take_along_axis(input, places, axis=-1), places.astype(np.int32))


def argmax(x: Any, axis: int = 0, output_type: Any = np.int64) -> Any:
    return _as(np.argmax(x, axis=axis), output_type)


def argmin(x: Any, axis: int = 0, output_type: Any = np.int64) -> Any:
    return _as(np.argmin(x, axis=axis), output_type)


def _as(places: Any, dtype: Any) -> Any:
    return places if dtype == np.int64 else places.astype(dtype)


def softmax(logits: Any, axis: int = -1) -> Any:
    logits = given(logits)
    if axis == -1:
        return activations.softmax(logits)
    return np.moveaxis(activations.softmax(np.moveaxis(logits, axis, -1)), -1, axis)


def log_softmax(logits: Any, axis: int = -1) -> Any:
    logits = given(logits)
    if axis == -1:
        return activations.log_softmax(logits)
    return np.moveaxis(activations.log_softmax(np.moveaxis(logits, axis, -1)), -1, axis)


export(globals())
