"""Functions that modify an array argument in place."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import library_program, unsupported


@library_program("numpy.fill_diagonal")
def fill_diagonal(a: Any, val: Any) -> None:
    if a.ndim != 2:
        unsupported("numpy.fill_diagonal of an array that is no matrix is not supported")
    for i in range(min(a.shape[0], a.shape[1])):
        if np.ndim(val) == 0:
            a[i, i] = val
        else:
            a[i, i] = np.ravel(val)[i % np.size(val)]


@library_program("numpy.put")
def put(a: Any, ind: Any, v: Any) -> None:
    places = np.ravel(np.asarray(ind))
    values = np.ravel(np.asarray(v))
    if np.any((places < -a.size) | (places >= a.size)):
        raise IndexError("index is out of bounds for this array")
    chosen = values[np.arange(places.shape[0]) % values.shape[0]]
    if a.ndim == 0:
        for k in range(places.shape[0]):
            a[...] = chosen[k]
    else:
        a[np.unravel_index(places % a.size, a.shape)] = chosen


@library_program("numpy.ndarray.put")
def method_put(self: Any, indices: Any, values: Any) -> None:
    put(self, indices, values)


@library_program("numpy.put_along_axis")
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int) -> None:
    rank = arr.ndim
    at = axis + rank if axis < 0 else axis
    places: Any = []
    for k in tuple(range(rank)):
        others = tuple([i for i in tuple(range(rank)) if i != k])
        places.append(indices if k == at else np.expand_dims(np.arange(arr.shape[k]), others))
    arr[tuple(places)] = values


@library_program("numpy.place")
def place(arr: Any, mask: Any, vals: Any) -> None:
    given = np.ravel(np.asarray(vals))
    chosen = np.asarray(mask) != 0
    arr[chosen] = given[np.arange(np.sum(chosen)) % given.shape[0]]


@library_program("numpy.putmask")
def putmask(a: Any, mask: Any, values: Any) -> None:
    chosen = np.asarray(mask) != 0
    given = np.ravel(np.asarray(values))
    repeated = given[np.arange(a.size) % given.shape[0]].reshape(a.shape)
    a[chosen] = repeated[chosen]


def copy_where(dst: Any, src: Any, where: Any) -> None:
    """`numpy.copyto(dst, src, where=where)`."""
    dst[...] = np.where(where, src, dst)
