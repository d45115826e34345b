"""Sorting, medians and quantiles, binary search."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import unsupported, written


def _places(x: Any) -> Any:
    """The permutation that sorts a vector: a stable bottom-up merge sort, NaN last."""
    n = x.shape[0]
    order = np.arange(n)
    other = np.arange(n)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                right = i >= middle
                if i < middle and j < high:
                    p, q = x[order[i]], x[order[j]]
                    right = q < p or (p != p and q == q)
                if right:
                    other[k] = order[j]
                    j += 1
                else:
                    other[k] = order[i]
                    i += 1
        order[:] = other
        width *= 2
    return order


@written("numpy.argsort", "numpy.ndarray.argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    x = np.ravel(a) if axis is None else np.asarray(a)
    if x.ndim == 1:
        return _places(x)
    along: Any = np.moveaxis(x, axis, -1)
    out = np.zeros(along.shape, dtype=np.int64)
    rows, places = along.reshape((-1, along.shape[-1])), out.reshape((-1, along.shape[-1]))
    for i in range(rows.shape[0]):
        places[i] = _places(rows[i])
    return np.moveaxis(places.reshape(along.shape), -1, axis)


@written("numpy.sort", kinks="equal values keep their order")
def sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    x = np.ravel(a) if axis is None else np.asarray(a)
    if x.ndim == 1:
        return x[_places(x)]
    along: Any = np.moveaxis(x, axis, -1)
    out = along.reshape((-1, along.shape[-1])).copy()
    for i in range(out.shape[0]):
        out[i] = out[i, _places(out[i])]
    return np.moveaxis(out.reshape(along.shape), -1, axis)


# A sorted array is a valid partition.


@written("numpy.partition", kinks="equal values keep their order")
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None) -> Any:
    return sort(a, axis)


@written("numpy.argpartition", "numpy.ndarray.argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None) -> Any:
    return argsort(a, axis)


@written("numpy.lexsort")
def lexsort(keys: Any, axis: int = -1) -> Any:
    order = argsort(np.asarray(keys[0]), axis)
    for key in keys[1:]:
        again = argsort(np.take_along_axis(np.asarray(key), order, axis), axis)
        order = np.take_along_axis(order, again, axis)
    return order


# ---------------------------------------------------------------- medians and quantiles


def front(a: Any, axis: Any) -> Any:
    """The array with the reduced axes merged to one first axis."""
    x = np.asarray(a)
    if axis is None:
        return np.ravel(x)
    if not isinstance(axis, tuple):
        return np.moveaxis(x, axis, 0)
    moved = np.moveaxis(x, axis, tuple(range(len(axis))))
    return moved.reshape((-1, *moved.shape[len(axis) :]))


def kept(out: Any, rank: int, axis: Any, keepdims: bool) -> Any:
    """A reduced value with keepdims= applied; `rank` is that of the array."""
    if not keepdims:
        return out
    return np.expand_dims(out, tuple(range(rank)) if axis is None else axis)


@written("numpy.median", kinks="equal values keep their order")
def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = sort(front(a, axis), 0)
    if x.dtype.kind in "biu":  # the sum of two may overflow
        x = x.astype(np.float64)
    n = x.shape[0]
    if n == 0:
        out = np.mean(x, axis=0)
    else:
        middle = 0.5 * (x[(n - 1) // 2] + x[n // 2])
        out = np.where(np.isnan(x[n - 1]), x[n - 1], middle)
    return kept(out, np.ndim(a), axis, keepdims)


@written("numpy.quantile", kinks="equal values keep their order")
def quantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    return quantiles(at_quantile, a, q, axis, method, keepdims)


def quantiles(find: Any, a: Any, q: Any, axis: Any, method: str, keepdims: bool) -> Any:
    """One or several quantiles of `a` along an axis, each by `find(sorted values, q, method)`."""
    x = sort(front(a, axis), 0)
    if x.dtype.kind in "iu":  # the difference of two may overflow
        x = x.astype(np.float64)
    if isinstance(q, (list, tuple)) or np.ndim(q) == 1:
        each = [find(x, np.float64(p), method) for p in q]
        return np.stack([kept(v, np.ndim(a), axis, keepdims) for v in each])
    return kept(find(x, q, method), np.ndim(a), axis, keepdims)


def at_quantile(x: Any, q: Any, method: str) -> Any:
    """The quantile of sorted values; NaN if there is a NaN, which sorts last."""
    n = x.shape[0]
    last = n - 1
    if method in ("lower", "higher", "nearest", "midpoint"):
        place = q * last
        low, high = np.floor(place), np.ceil(place)
        if method == "nearest":
            low = high = np.rint(place)
        if method == "lower":
            high = low
        if method == "higher":
            low = high
        out = 0.5 * x[int(low)] + 0.5 * x[int(high)]
    else:
        alpha = beta = _alpha(method)
        if method == "interpolated_inverted_cdf":
            beta = 1.0
        place = min(max(q * n + (alpha + q * (1.0 - alpha - beta)) - 1.0, 0.0), 1.0 * last)
        if method == "linear":
            place = q * last
        low = min(int(place), last)
        high = min(low + 1, last)
        out = x[low] + (place - low) * (x[high] - x[low])
    return np.where(np.isnan(x[last]), x[last], out)


def _alpha(method: str) -> Any:
    """The parameter alpha of a quantile method, as defined by Hyndman and Fan."""
    if method == "linear":
        return 1.0
    if method == "hazen":
        return 0.5
    if method == "weibull" or method == "interpolated_inverted_cdf":
        return 0.0
    if method == "median_unbiased":
        return 1.0 / 3.0
    if method == "normal_unbiased":
        return 3.0 / 8.0
    unsupported(f"a quantile by the method {method}")


@written("numpy.percentile", kinks="equal values keep their order")
def percentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    if isinstance(q, (list, tuple)):
        shares: Any = [p / 100 for p in q]
    else:
        shares = q / 100
    return quantile(a, shares, axis, method=method, keepdims=keepdims)


# ---------------------------------------------------------------- searching


def search(a: Any, v: Any, right: bool) -> Any:
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        # NaN sorts after all other values.
        beyond = v != v and (right or a[middle] == a[middle])
        if a[middle] < v or beyond or (right and a[middle] == v):
            low = middle + 1
        else:
            high = middle
    return low


@written("numpy.searchsorted", "numpy.ndarray.searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    knots = np.asarray(a)
    if np.ndim(v) == 0:
        return np.int64(search(knots, v, side == "right"))
    flat = np.ravel(v)
    out = np.zeros(flat.shape, dtype=np.int64)
    for i in range(flat.shape[0]):
        out[i] = search(knots, flat[i], side == "right")
    return out.reshape(np.shape(v))
