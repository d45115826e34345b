"""Reductions that ignore NaN."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import written
from .order import at_quantile, quantiles
from .scans import cumprod


@written("numpy.nan_to_num")
def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind != "f":
        return x
    largest = np.finfo(x.dtype).max
    above = largest if posinf is None else posinf
    below = -largest if neginf is None else neginf
    ends = np.where(x == np.inf, above, np.where(x == -np.inf, below, x))
    return np.where(np.isnan(x), nan, ends)


def _filled(a: Any, fill: Any) -> Any:
    x = np.asarray(a)
    return np.where(np.isnan(x), fill, x) if x.dtype.kind == "f" else x


def _count(a: Any, axis: Any, keepdims: bool) -> Any:
    return np.sum(~np.isnan(a), axis=axis, keepdims=keepdims)


@written("numpy.nansum")
def nansum(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(_filled(a, 0), axis=axis, keepdims=keepdims)


@written("numpy.nanprod")
def nanprod(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.prod(_filled(a, 1), axis=axis, keepdims=keepdims)


@written("numpy.nanmean")
def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    if x.dtype.kind != "f":
        return np.mean(x, axis=axis, keepdims=keepdims)
    total = np.sum(_filled(x, 0), axis=axis, keepdims=keepdims)
    return total / _count(x, axis, keepdims).astype(total.dtype)


@written("numpy.nanvar")
def nanvar(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    # The mask is that of x: if the mean is infinite, inf - inf is NaN, and so is the result.
    apart = np.where(np.isnan(x), 0, x - nanmean(x, axis, keepdims=True))
    total = np.sum(apart * apart, axis=axis, keepdims=keepdims)
    free = (_count(x, axis, keepdims) - ddof).astype(total.dtype)
    return total / np.where(free > 0, free, np.nan)


@written("numpy.nanstd", kinks="0 where all are equal")
def nanstd(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    var = nanvar(a, axis, ddof=ddof, keepdims=keepdims)
    # As `std`: the derivative is 0 if all elements are equal.
    return np.where(var == 0, var, np.sqrt(np.where(var == 0, 1.0, var)))


@written("numpy.nanmax", kinks="ties share evenly")
def nanmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if np.asarray(a).dtype.kind != "f":
        return np.max(a, axis=axis, keepdims=keepdims)
    out = np.max(_filled(a, -np.inf), axis=axis, keepdims=keepdims)
    return np.where(_count(a, axis, keepdims) == 0, np.nan, out)


@written("numpy.nanmin", kinks="ties share evenly")
def nanmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if np.asarray(a).dtype.kind != "f":
        return np.min(a, axis=axis, keepdims=keepdims)
    out = np.min(_filled(a, np.inf), axis=axis, keepdims=keepdims)
    return np.where(_count(a, axis, keepdims) == 0, np.nan, out)


@written("numpy.nanargmax")
def nanargmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.argmax(_filled(a, -np.inf), axis=axis, keepdims=keepdims)


@written("numpy.nanargmin")
def nanargmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.argmin(_filled(a, np.inf), axis=axis, keepdims=keepdims)


@written("numpy.nancumsum")
def nancumsum(a: Any, axis: Any = None) -> Any:
    return np.cumsum(_filled(a, 0), axis=axis)


@written("numpy.nancumprod")
def nancumprod(a: Any, axis: Any = None) -> Any:
    return cumprod(_filled(a, 1), axis)


@written("numpy.nanquantile", kinks="equal values keep their order")
def nanquantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    return quantiles(_of_numbers, a, q, axis, method, keepdims)


def _of_numbers(x: Any, q: Any, method: str) -> Any:
    """The quantile of the values before the trailing NaNs, along the first axis."""
    if x.ndim == 1:
        count = int(np.sum(~np.isnan(x)))
        return at_quantile(x[:count], q, method) if count > 0 else _no_number(x)
    columns = x.reshape((x.shape[0], -1))
    out = np.zeros(columns.shape[1], dtype=x.dtype)
    for j in range(columns.shape[1]):
        count = int(np.sum(~np.isnan(columns[:, j])))
        out[j] = at_quantile(columns[:count, j], q, method) if count > 0 else np.nan
    return out.reshape(x.shape[1:])


def _no_number(x: Any) -> Any:
    return np.mean(x[:0])


@written("numpy.nanmedian", kinks="equal values keep their order")
def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    whole = x.dtype.kind in "biu"
    return nanquantile(x.astype(np.float64) if whole else x, 0.5, axis, keepdims=keepdims)


@written("numpy.nanpercentile", kinks="equal values keep their order")
def nanpercentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    if isinstance(q, (list, tuple)):
        shares: Any = [p / 100 for p in q]
    else:
        shares = q / 100
    return nanquantile(a, shares, axis, method=method, keepdims=keepdims)
