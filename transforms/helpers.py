"""What emitted NumPy-level code calls where NumPy has no function of its own."""

from __future__ import annotations

from typing import Any

import numpy as np


def stop_gradient(x: Any) -> Any:
    """x itself: the end of derivatives, which are over where this is called."""
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
    # An axis of g may be 1 where `like` is longer: the contribution is the same everywhere.
    return np.broadcast_to(g, shape).copy() if shape else g[()]


def resize_axis(x: Any, n: int, axis: int) -> Any:
    """x cut or padded with zeros to n elements along an axis."""
    x = np.moveaxis(x, axis, 0)
    out = np.zeros((n, *x.shape[1:]), x.dtype)
    kept = min(n, x.shape[0])
    out[:kept] = x[:kept]
    return np.moveaxis(out, 0, axis)


# ---------------------------------------------------------------- linear algebra


def solve_triangular(
    a: Any, b: Any, trans: int = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """scipy.linalg.solve_triangular of each matrix of a stack, row by row: LAPACK's own would
    start threads for matrices of any size."""
    if not unit_diagonal:
        flaws = np.argwhere(np.diagonal(a, axis1=-2, axis2=-1) == 0)
        if len(flaws):
            told = f"singular matrix: resolution failed at diagonal {flaws[0, -1]}"
            raise np.linalg.LinAlgError(told)
    if trans:
        a, lower = np.swapaxes(a, -1, -2), not lower
    columns = b[:, None] if b.ndim == 1 else b
    n, k = columns.shape[-2:]
    head = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    x = np.array(np.broadcast_to(columns, (*head, n, k)), np.result_type(a, b))
    for i in range(n) if lower else range(n - 1, -1, -1):
        found = slice(None, i) if lower else slice(i + 1, None)
        x[..., i, :] -= (a[..., i, None, found] @ x[..., found, :])[..., 0, :]
        if not unit_diagonal:
            x[..., i, :] /= a[..., i, i, None]
    return x[..., 0] if b.ndim == 1 else x


def svd_vectors(a: Any) -> Any:
    """The left singular vectors above the right ones, as columns."""
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("SVD did not converge")  # LAPACK might not even end
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate((u, np.swapaxes(vh, -1, -2)), axis=-2)


def pinv(a: Any, rcond: Any) -> Any:
    return np.linalg.pinv(a, rcond)


def cofactor(a: Any) -> Any:
    """The gradient of det(a): det(a) * inv(a).T where there is an inverse."""
    known = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(known, a, a.dtype.type(0)))
    sign = np.linalg.det(u) * np.linalg.det(vh)
    n = s.shape[-1]
    # The product of all other singular values, for each of them.
    others = np.where(np.eye(n, dtype=np.bool_), s.dtype.type(1), s[..., None, :]).prod(axis=-1)
    out = (u * others[..., None, :] @ vh) * sign[..., None, None]
    return np.where(known, out, a.dtype.type(np.nan))


def lu_compact(a: Any) -> Any:
    """l, whose diagonal is 1, below u, which holds the diagonal."""
    return _lu(a)[0]


def lu_pivots(a: Any) -> Any:
    """The row that each row was exchanged with, in order."""
    return _lu(a)[1]


def _lu(a: Any) -> Any:
    import warnings

    import scipy.linalg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scipy.linalg.lu_factor(a, check_finite=False)


def pivot_order(pivots: Any) -> Any:
    """Where each row comes from when all exchanges are done."""
    order = np.arange(len(pivots))
    for i, other in enumerate(pivots):
        order[i], order[other] = order[other], order[i]
    return order


def solve_banded(ab: Any, b: Any, lower: int, upper: int) -> Any:
    import scipy.linalg

    if not b.size:
        return np.zeros(b.shape, np.result_type(ab, b))
    return scipy.linalg.solve_banded((lower, upper), ab, b, check_finite=False)


def expm(a: Any) -> Any:
    """scipy.linalg.expm, which NumPy has not."""
    import scipy.linalg

    return scipy.linalg.expm(a)
