"""Helper functions of emitted NumPy-level code, for operations that NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .matrix_helpers import (  # noqa: F401
    cofactor,
    expm,
    lu_compact,
    lu_pivots,
    pivot_order,
    solve_banded,
    solve_triangular,
    svd_vectors,
)


def stop_gradient(x: Any) -> Any:
    """x itself.  Its derivative is zero; emitted code has been differentiated already."""
    return x


def strong_mul(g: Any, p: Any) -> Any:
    """g * p, but 0 where g is 0, even if p is inf or nan."""
    with np.errstate(invalid="ignore"):
        product = np.asarray(g * p)
    out = np.where(np.equal(g, 0), product.dtype.type(0), product)
    return out if out.ndim else out[()]


def unbroadcast(g: Any, like: Any) -> Any:
    """g summed to the shape of `like`: the transpose of broadcasting."""
    shape = np.shape(like)
    g = np.asarray(g)
    if g.ndim < len(shape):
        g = g.reshape((1,) * (len(shape) - g.ndim) + g.shape)
    g = g.sum(axis=tuple(range(g.ndim - len(shape))), dtype=g.dtype)
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    g = np.asarray(g.sum(axis=axes, keepdims=True, dtype=g.dtype))
    # An axis of g may have size 1 where `like` is longer: all elements get the same contribution.
    return np.broadcast_to(g, shape).copy() if shape else g[()]


def resize_axis(x: Any, n: int, axis: int) -> Any:
    """x truncated, or padded with zeros, to n elements along an axis."""
    x = np.moveaxis(x, axis, 0)
    out = np.zeros((n, *x.shape[1:]), x.dtype)
    kept = min(n, x.shape[0])
    out[:kept] = x[:kept]
    return np.moveaxis(out, 0, axis)
