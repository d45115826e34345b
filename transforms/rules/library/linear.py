"""Products of vectors and matrices."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import written


@written("numpy.kron")
def kron(a: Any, b: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return np.ravel(a[:, None] * b)
    pairs = a[:, None, :, None] * b[None, :, None, :]
    return pairs.reshape((a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))


@written("numpy.cross")
def cross(a: Any, b: Any) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError("the vectors of a cross product have three components here")
    x0, x1, x2 = x[..., 0], x[..., 1], x[..., 2]
    y0, y1, y2 = y[..., 0], y[..., 1], y[..., 2]
    return np.stack((x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0), axis=-1)


@written("numpy.linalg.multi_dot")
def multi_dot(arrays: Any) -> Any:
    out = arrays[0]
    for array in arrays[1:]:
        out = out @ array
    return out


@written("numpy.linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        raise ValueError("matrix_power with a negative power is not supported")
    out = np.eye(a.shape[0], dtype=a.dtype)
    for _ in range(n):
        out = out @ a
    return out


@written("numpy.vecdot", "numpy.linalg.vecdot")
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return np.sum(np.asarray(x1) * x2, axis=axis)


@written("numpy.matvec")
def matvec(x1: Any, x2: Any, /) -> Any:
    return (np.asarray(x1) @ np.asarray(x2)[..., None])[..., 0]


@written("numpy.vecmat")
def vecmat(x1: Any, x2: Any, /) -> Any:
    return (np.asarray(x1)[..., None, :] @ np.asarray(x2))[..., 0, :]
