"""Orthogonal factorisations and functions based on them, and the matrix exponential, compiled by
Numba."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..transforms.runtime import matrix_helpers
from .lapack import (
    _compiled,
    _geqrf,
    _gesdd,
    _kind,
    _orgqr,
    _routine,
    _syevd,
    _transposed,
)
from .linalg_solve import _det, _inv, _solve

# ---------------------------------------------------------------- orthogonal factors


@_routine
def _qr_q(a, out):  # type: ignore[no-untyped-def]
    m, n = a.shape
    k = min(m, n)
    if k == 0:
        return
    columns = _transposed(a)
    tau = np.empty(k, a.dtype)
    _geqrf(_kind(a), m, n, columns, m, tau)
    _orgqr(_kind(a), m, k, k, columns, m, tau)
    for i in range(m):
        for j in range(k):
            out[i, j] = columns[j, i]


@_routine
def _eigh_vectors(a, lower, out):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    if n == 0:
        return np.int64(0)
    columns = _transposed(a)
    w = np.empty(n, a.dtype)
    half = np.int8(76) if lower else np.int8(85)
    status = _syevd(_kind(a), np.int8(86), half, n, columns, n, w)
    for i in range(n):
        for j in range(n):
            out[i, j] = columns[j, i]
    return np.int64(status != 0)


@_routine
def _eigh_values(a, v, lower, out):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    for j in range(n):
        out[j] = 0
    for i in range(n):
        for p in range(n):
            if lower == (p <= i) or p == i:
                x = a[i, p]
            else:
                x = a[p, i]
            for j in range(n):
                out[j] += v[i, j] * x * v[p, j]


@_compiled
def _svd(a, u, s, vh):  # type: ignore[no-untyped-def]
    """Thin SVD; the status is 0 on success.  Matrices that are not finite are rejected, since
    LAPACK may not terminate for them."""
    m, n = a.shape
    k = min(m, n)
    for x in a.flat:
        if not np.isfinite(x):
            return np.int64(1)
    columns = _transposed(a)
    u_columns, vh_columns = np.empty((k, m), a.dtype), np.empty((n, k), a.dtype)
    status = _gesdd(
        _kind(a), np.int8(83), m, n, columns, m, s, u_columns, m,
        vh_columns, k,
    )  # fmt: skip
    for j in range(k):
        for i in range(m):
            u[i, j] = u_columns[j, i]
        for i in range(n):
            vh[j, i] = vh_columns[i, j]
    return np.int64(status != 0)


@_routine
def _svd_vectors(a, out):  # type: ignore[no-untyped-def]
    m, n = a.shape
    k = min(m, n)
    if k == 0:
        return np.int64(0)
    s, vh = np.empty(k, a.dtype), np.empty((k, n), a.dtype)
    status = _svd(a, out[:m], s, vh)
    for i in range(n):
        for j in range(k):
            out[m + i, j] = vh[j, i]
    return status


@_routine
def _svd_values(a, vectors, out):  # type: ignore[no-untyped-def]
    m, n = a.shape
    k = min(m, n)
    for j in range(k):
        out[j] = 0
    for i in range(m):
        for p in range(n):
            x = a[i, p]
            for j in range(k):
                out[j] += vectors[i, j] * x * vectors[m + p, j]
    for j in range(k):
        out[j] = abs(out[j])


@_routine
def _pinv(a, rcond, out):  # type: ignore[no-untyped-def]
    m, n = a.shape
    k = min(m, n)
    for i in range(n):
        for j in range(m):
            out[i, j] = 0
    if k == 0:
        return np.int64(0)
    u, s, vh = np.empty((m, k), a.dtype), np.empty(k, a.dtype), np.empty((k, n), a.dtype)
    if _svd(a, u, s, vh) != 0:
        return np.int64(1)
    for p in range(k):
        if s[p] > rcond * s[0]:
            for i in range(n):
                factor = vh[p, i] / s[p]
                for j in range(m):
                    out[i, j] += factor * u[j, p]
    return np.int64(0)


@_compiled
def _norm(a):  # type: ignore[no-untyped-def]
    """The 1-norm: the largest column sum of absolute values; nan if a sum is nan."""
    norm = 0.0
    for j in range(a.shape[0]):
        total = 0.0
        for i in range(a.shape[0]):
            total += abs(a[i, j])
        if total != total:
            return total
        norm = max(norm, total)
    return norm


@_compiled
def _cofactor_by_inverse(a, out):  # type: ignore[no-untyped-def]
    """Compute the cofactor matrix as det(a) * inv(a).T.  False if the matrix is too ill-conditioned
    for that."""
    n = a.shape[0]
    inverse = np.empty((n, n), a.dtype)
    if _inv(a, inverse) != 0:
        return False
    reach = _norm(a) * _norm(inverse)
    if not reach**4 * np.finfo(a.dtype).eps <= 1:
        return False
    det = _det(a)
    # The determinant overflows, though the cofactors may not, or it is subnormal with few digits.
    if not np.finfo(a.dtype).tiny <= abs(det) < np.inf:
        return False
    for i in range(n):
        for j in range(n):
            out[i, j] = det * inverse[j, i]
    return True


@_routine
def _cofactor(a, out):  # type: ignore[no-untyped-def]
    """Cofactor matrix from the SVD, which is correct for singular matrices too; from the inverse,
    in a tenth of the time, if the matrix is well-conditioned."""
    n = a.shape[0]
    if n == 0 or _cofactor_by_inverse(a, out):
        return
    u, s, vh = np.empty((n, n), a.dtype), np.empty(n, a.dtype), np.empty((n, n), a.dtype)
    if _svd(a, u, s, vh) != 0:
        for i in range(n):
            for j in range(n):
                out[i, j] = np.nan
        return
    sign = _det(u) * _det(vh)
    for i in range(n):
        for j in range(n):
            out[i, j] = 0
    for p in range(n):
        others = sign
        for q in range(n):
            if q != p:
                others *= s[q]
        for i in range(n):
            factor = u[i, p] * others
            for j in range(n):
                out[i, j] += factor * vh[p, j]


# ---------------------------------------------------------------- expm

_PADE = np.array(matrix_helpers.PADE)
_REACH = matrix_helpers.PADE_MAX_NORM


@_compiled
def _product(a, b, out):  # type: ignore[no-untyped-def]
    one, zero = a.dtype.type(1), a.dtype.type(0)
    kernels.gemm(False, False, one, a, b, zero, out)


@_compiled
def _combined(c6, x6, c4, x4, c2, x2, c0, out):  # type: ignore[no-untyped-def]
    """c6 * x6 + c4 * x4 + c2 * x2, with c0 on the diagonal, added to out."""
    n = out.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] += c6 * x6[i, j] + c4 * x4[i, j] + c2 * x2[i, j]
        out[i, i] += c0


@_compiled
def _scaled(x, factor, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = factor * x[i, j]


@_routine
def _expm(a, out):  # type: ignore[no-untyped-def]
    n, norm = a.shape[0], _norm(a)
    if not np.isfinite(norm):
        _scaled(a, np.nan, out)
        return
    factor, squarings = 1.0, 0
    while norm * factor > _REACH:
        factor *= 0.5
        squarings += 1
    room = np.zeros((7, n, n), a.dtype)
    x, x2, x4, x6, inner, odd, even = room[0], room[1], room[2], room[3], room[4], room[5], room[6]
    _scaled(a, factor, x)
    _product(x, x, x2)
    _product(x2, x2, x4)
    _product(x2, x4, x6)
    c = _PADE
    _combined(c[13], x6, c[11], x4, c[9], x2, 0.0, inner)
    _product(x6, inner, odd)
    _combined(c[7], x6, c[5], x4, c[3], x2, c[1], odd)
    _product(x, odd, inner)  # the odd part of the numerator
    _scaled(odd, 0.0, odd)
    _combined(c[12], x6, c[10], x4, c[8], x2, 0.0, odd)
    _product(x6, odd, even)
    _combined(c[6], x6, c[4], x4, c[2], x2, c[0], even)
    for i in range(n):
        for j in range(n):
            x2[i, j] = even[i, j] - inner[i, j]
            x4[i, j] = even[i, j] + inner[i, j]
    _solve(x2, x4, out)
    for _ in range(squarings):
        _scaled(out, 1.0, x)
        _product(x, x, out)
