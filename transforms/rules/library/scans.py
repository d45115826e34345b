"""Prefix scans, and the methods of ufuncs: `reduce`, `accumulate`, `reduceat`, `at`."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import library_program


def _scan_first(a: Any, axis: Any) -> Any:
    x = np.ravel(a).copy() if axis is None else np.moveaxis(a, axis, 0).copy()
    if x.dtype.kind in "fc":
        return x
    return x.astype(np.uint64) if x.dtype.kind == "u" else x.astype(np.int64)


@library_program("numpy.cumprod", "numpy.ndarray.cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    out = _scan_first(np.asarray(a) if dtype is None else np.asarray(a).astype(dtype), axis)
    for i in range(1, out.shape[0]):
        out[i] *= out[i - 1]
    if dtype is not None:  # in 64 bits and in fewer the product wraps alike
        out = out.astype(dtype)
    return out if axis is None else np.moveaxis(out, 0, axis)


@library_program("numpy.cumulative_sum")
def cumulative_sum(x: Any, /, *, axis: Any = None, include_initial: bool = False) -> Any:
    return _with_initial(np.cumsum(x, axis=axis), axis, 0, include_initial)


@library_program("numpy.cumulative_prod")
def cumulative_prod(x: Any, /, *, axis: Any = None, include_initial: bool = False) -> Any:
    return _with_initial(cumprod(x, axis=axis), axis, 1, include_initial)


def _with_initial(out: Any, axis: Any, first: int, wanted: bool) -> Any:
    if not wanted:
        return out
    front = np.moveaxis(out, 0 if axis is None else axis, 0)
    longer = np.full((front.shape[0] + 1, *front.shape[1:]), first, dtype=out.dtype)
    longer[1:] = front
    return np.moveaxis(longer, 0, 0 if axis is None else axis)


# ---------------------------------------------------------------- methods of ufuncs


@library_program("numpy.add.accumulate")
def add_accumulate(array: Any, axis: Any = 0) -> Any:
    if axis is None:
        raise ValueError("accumulate does not allow multiple axes")
    return np.cumsum(array, axis=axis)


@library_program("numpy.multiply.accumulate")
def multiply_accumulate(array: Any, axis: Any = 0) -> Any:
    if axis is None:
        raise ValueError("accumulate does not allow multiple axes")
    return cumprod(array, axis)


def ufunc_accumulate(ufunc: Any, array: Any, axis: int = 0) -> Any:
    """`ufunc.accumulate`, for any ufunc of two arguments."""
    front = np.moveaxis(np.asarray(array), axis, 0)
    out = front.copy()
    for i in range(1, out.shape[0]):
        out[i] = ufunc(out[i - 1], front[i])
    return np.moveaxis(out, 0, axis)


def ufunc_reduce(ufunc: Any, array: Any, axis: Any = 0, *, keepdims: bool = False) -> Any:
    """`ufunc.reduce`, for any ufunc of two arguments."""
    x = np.ravel(array) if axis is None else np.moveaxis(np.asarray(array), axis, 0)
    if x.shape[0] == 0:
        raise ValueError("zero-size array to reduction operation which has no identity")
    out = 1 * x[0]
    for i in range(1, x.shape[0]):
        out = ufunc(out, x[i])
    if not keepdims:
        return out
    return np.expand_dims(out, tuple(range(np.ndim(array))) if axis is None else axis)


def ufunc_reduceat(ufunc: Any, array: Any, indices: Any, axis: int = 0) -> Any:
    """`ufunc.reduceat`: from each index to the next; one element if the next is not greater."""
    x = np.moveaxis(np.asarray(array), axis, 0)
    starts = np.asarray(indices)
    out = x[starts]
    for k in range(starts.shape[0]):
        stop = x.shape[0] if k + 1 == starts.shape[0] else starts[k + 1]
        for i in range(starts[k] + 1, stop):
            out[k] = ufunc(out[k], x[i])
    return np.moveaxis(out, 0, axis)


def ufunc_at(ufunc: Any, a: Any, indices: Any, b: Any) -> None:
    """`ufunc.at`: unbuffered, one element or row at a time; repeated indices accumulate."""
    places = np.ravel(np.asarray(indices))
    values = np.broadcast_to(np.asarray(b), (places.shape[0], *a.shape[1:]))
    for k in range(places.shape[0]):
        a[places[k]] = ufunc(a[places[k]], values[k])


def ufunc_at_alone(ufunc: Any, a: Any, indices: Any) -> None:
    """`ufunc.at`, for a ufunc of one argument."""
    places = np.ravel(np.asarray(indices))
    for k in range(places.shape[0]):
        a[places[k]] = ufunc(a[places[k]])
