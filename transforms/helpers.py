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
    """scipy.linalg.solve_triangular of each matrix of a stack."""
    import scipy.linalg

    core = min(b.ndim, 2)
    head = np.broadcast_shapes(a.shape[:-2], b.shape[:-core])
    dtype = np.result_type(a, b)
    out = np.empty((*head, *b.shape[b.ndim - core :]), dtype)
    a = np.broadcast_to(a, (*head, *a.shape[-2:]))
    b = np.broadcast_to(b, out.shape)
    for i in np.ndindex(head):
        if out[i].size:
            out[i] = scipy.linalg.solve_triangular(
                a[i], b[i], trans, lower, unit_diagonal, check_finite=False
            )
    return out


def svd_vectors(a: Any) -> Any:
    """The left singular vectors above the right ones, as columns."""
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate((u, np.swapaxes(vh, -1, -2)), axis=-2)


def pinv(a: Any, rcond: Any) -> Any:
    return np.linalg.pinv(a, rcond)


def cofactor(a: Any) -> Any:
    """The gradient of det(a): det(a) * inv(a).T where there is an inverse."""
    u, s, vh = np.linalg.svd(a)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    n = s.shape[-1]
    # The product of all other singular values, for each of them.
    others = np.where(np.eye(n, dtype=np.bool_), s.dtype.type(1), s[..., None, :]).prod(axis=-1)
    return (u * others[..., None, :] @ vh) * sign[..., None, None]


def expm(a: Any) -> Any:
    """scipy.linalg.expm, which NumPy has not."""
    import scipy.linalg

    return scipy.linalg.expm(a)
