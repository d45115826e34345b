"""Functions of `scipy.special` (and `numpy.sinc`, `frexp`) composed of other functions."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...runtime import special_functions as functions
from .declare_program import library_program, numpy_float, scipy_floats


@library_program("numpy.sinc", "scipy.special.sinc")
def sinc(x: Any) -> Any:
    y = np.pi * x
    near = np.abs(y) < 1e-2
    apart = np.where(near, 1.0, y)
    square = y * y
    series = 1.0 - square / 6.0 * (1.0 - square / 20.0)
    return np.where(near, series, np.sin(apart) / apart)


@library_program("scipy.special.logsumexp")
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    scaled = x if b is None else np.where(np.asarray(b) == 0, -np.inf, x)
    if x.dtype.kind != "f" and x.dtype.kind != "c":
        scaled = scaled.astype(np.float64)
    # The logarithm of an empty sum is -inf.
    top = np.max(scaled, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    parts = np.exp(scaled - top) if b is None else b * np.exp(scaled - top)
    total = np.log(np.sum(parts, axis=axis, keepdims=True)) + top
    return (
        total if keepdims else np.squeeze(total, axis=_all_axes(x.ndim) if axis is None else axis)
    )


def _all_axes(rank: int) -> Any:
    return tuple(range(rank))


@library_program("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@library_program("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


# ---------------------------------------------------------------- distributions


@library_program("scipy.special.ndtr")
def ndtr(x: Any) -> Any:
    (x,) = scipy_floats(x)
    return 0.5 * functions.erfc(-math.sqrt(0.5) * x)


@library_program("scipy.special.log_ndtr")
def log_ndtr(x: Any) -> Any:
    (x,) = scipy_floats(x)
    below = np.where(x < 0, x, -1.0)
    far = np.log(0.5 * functions.erfcx(-math.sqrt(0.5) * below)) - 0.5 * below * below
    return np.where(x < 0, far, np.log1p(-0.5 * functions.erfc(math.sqrt(0.5) * x)))


@library_program("scipy.special.logit")
def logit(x: Any) -> Any:
    (p,) = scipy_floats(x)
    # Around 0.5 the difference of log(x) and log(1 - x) is smaller than either: cancellation.
    near = (p > 0.3) & (p < 0.65)
    middle, far = np.where(near, 2.0 * p - 1.0, 0.0), np.where(near, 0.5, p)
    return np.where(near, np.log1p(middle) - np.log1p(-middle), np.log(far) - np.log1p(-far))


@library_program("scipy.special.log_expit")
def log_expit(x: Any) -> Any:
    (x,) = scipy_floats(x)
    above, below = np.where(x >= 0, x, 0.0), np.where(x < 0, x, 0.0)
    return np.where(x >= 0, -np.log1p(np.exp(-above)), x - np.log1p(np.exp(below)))


# ---------------------------------------------------------------- entropies


@library_program("scipy.special.xlogy", kinks="0 in both where both are 0")
def xlogy(x: Any, y: Any) -> Any:
    x, y = scipy_floats(x, y)
    return x * np.log(np.where((x == 0) & ((y <= 0) | (y == np.inf)), 1.0, y))


@library_program("scipy.special.xlog1py", kinks="0 in both where x is 0 and y is -1")
def xlog1py(x: Any, y: Any) -> Any:
    x, y = scipy_floats(x, y)
    return x * np.log1p(np.where((x == 0) & ((y <= -1) | (y == np.inf)), 0.0, y))


@library_program("scipy.special.entr", kinks="0 at 0")
def entr(x: Any) -> Any:
    (x,) = scipy_floats(x, single=True)
    inside = np.where(x > 0, x, 1.0)
    return np.where(x < 0, -np.inf, np.where(x == 0, 0.0, -x * np.log(inside)))


@library_program("scipy.special.rel_entr")
def rel_entr(x: Any, y: Any) -> Any:
    x, y = scipy_floats(x, y, single=True)
    return np.where((x > 0) & (y > 0), _weighed_log(x, y), _outside(x, y, 0.0))


@library_program("scipy.special.kl_div")
def kl_div(x: Any, y: Any) -> Any:
    x, y = scipy_floats(x, y, single=True)
    # In float64, as in SciPy: for x near y the terms cancel.
    p, q = x.astype(np.float64), y.astype(np.float64)
    inside = (_weighed_log(p, q) - p + q).astype(x.dtype)
    return np.where((x > 0) & (y > 0), inside, _outside(x, y, y))


def _weighed_log(x: Any, y: Any) -> Any:
    """x * log(x / y), where both are positive."""
    inside = (x > 0) & (y > 0)
    p, q = np.where(inside, x, 1.0), np.where(inside, y, 1.0)
    near = (0.5 * p < q) & (0.5 * q < p)
    apart = np.log(np.where(near, 1.0, p)) - np.log(np.where(near, 1.0, q))
    return p * np.where(near, np.log1p(np.where(near, (p - q) / q, 0.0)), apart)


def _outside(x: Any, y: Any, at_zero: Any) -> Any:
    """An entropy for operands that are not both positive."""
    undefined = np.isnan(x) | np.isnan(y)
    return np.where((x == 0) & (y >= 0), at_zero, np.where(undefined, x + y, np.inf))


# ---------------------------------------------------------------- gamma


@library_program("scipy.special.loggamma")
def loggamma(z: Any) -> Any:
    (x,) = scipy_floats(z)
    return np.where(x < 0, np.nan, functions.lgamma(x))


@library_program("scipy.special.multigammaln")
def multigammaln(a: Any, d: int) -> Any:
    x = np.asarray(a)
    if np.any(x <= 0.5 * (d - 1)):
        raise ValueError("condition a > 0.5 * (d-1) not met")
    total = 0.0 * x
    for j in tuple(range(d)):
        total = total + functions.lgamma(x - 0.5 * j)
    return np.float64(0.25 * d * (d - 1) * math.log(math.pi)) + total


# ---------------------------------------------------------------- others


@library_program("numpy.frexp")
def frexp(x: Any) -> Any:
    x = numpy_float(x)
    plain = np.isfinite(x) & (x != 0)
    size = np.abs(np.where(plain, x, 1.0))
    power = np.floor(np.log2(size)) + 1.0
    scaled = _scaled(size, -power)
    power = power + (scaled >= 1.0) - (scaled < 0.5)
    power = np.where(plain, power, 0.0)
    return _scaled(x, -power), power.astype(np.int32)


def _scaled(x: Any, power: Any) -> Any:
    """x * 2 ** power in two steps, since 2 ** power alone may overflow."""
    half = np.floor(0.5 * power)
    return x * 2.0**half * 2.0 ** (power - half)


@library_program("math.frexp")
def math_frexp(x: Any) -> Any:
    mantissa, power = frexp(x)
    return float(mantissa), int(power)


@library_program("scipy.special.exp10")
def exp10(x: Any) -> Any:
    (x,) = scipy_floats(x)
    return 10.0**x


@library_program("scipy.special.cosm1")
def cosm1(x: Any) -> Any:
    (x,) = scipy_floats(x)
    half = np.sin(0.5 * x)
    return -2.0 * half * half


@library_program("scipy.special.exprel")
def exprel(x: Any) -> Any:
    (x,) = scipy_floats(x)
    near = np.abs(x) < 1e-4
    apart = np.where(near, 1.0, np.where(x == np.inf, 1e3, x))  # avoids inf / inf
    series = 1.0 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24)))
    return np.where(near, series, np.expm1(apart) / apart)


@library_program("scipy.special.huber")
def huber(delta: Any, r: Any) -> Any:
    delta, r = scipy_floats(delta, r, single=True)
    size = np.abs(r)
    value = np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return np.where(delta < 0, np.inf, value)


@library_program("scipy.special.pseudo_huber")
def pseudo_huber(delta: Any, r: Any) -> Any:
    delta, r = scipy_floats(delta, r, single=True)
    root = np.hypot(delta, r)
    # delta * (root - delta); rewritten for small r, where the difference would cancel.
    near = np.abs(r) < delta
    small = np.where(near, r, 0.0)
    excess = np.where(near, small * (small / np.where(near, root + delta, 1.0)), root - delta)
    value = np.where((delta == 0) | (r == 0), 0.0, delta * excess)
    return np.where(delta < 0, np.inf, value)
