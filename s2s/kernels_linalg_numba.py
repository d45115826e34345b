"""How Numba compiles what `s2s.kernels_linalg` offers: importing this module is enough.

Small systems are solved by plain loops, which take less time than a call of LAPACK; orthogonal
factors and large systems are LAPACK's, which Numba takes from SciPy.  LAPACK counts columns first:
a matrix in C order is to it the transposed one.

Each routine is compiled once for a dtype and kept in Numba's cache; what calls it only links it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload
from numba.np.linalg import ensure_lapack

from . import kernels, kernels_linalg, kernels_numba
from .transforms import helpers_linalg

ensure_lapack()

_data: Any = kernels_numba._data
_compiled: Any = njit(nogil=True, error_model="numpy", cache=True)

# Up to this many rows plain loops are faster than calling LAPACK.
_SMALL = 24
# Triangular systems of more right-hand sides than this are solved in blocks of as many rows.
_WIDE = 8
_BLOCK = 48


def _external(name: str, *arguments: Any) -> Any:
    return types.ExternalFunction(name, types.intc(types.char, *arguments))


_size, _array, _letter = types.intp, types.voidptr, types.char
_gesv = _external("numba_xgesv", _size, _size, _array, _size, _array, _array, _size)
_getrf = _external("numba_xxgetrf", _size, _size, _array, _size, _array)
_getri = _external("numba_ez_xxgetri", _size, _array, _size, _array)
_potrf = _external("numba_xxpotrf", _letter, _size, _array, _size)
_geqrf = _external("numba_ez_geqrf", _size, _size, _array, _size, _array)
_orgqr = _external("numba_ez_xxgqr", _size, _size, _size, _array, _size, _array)
_syevd = _external("numba_ez_xxxevd", _letter, _letter, _size, _array, _size, _array)
_gesdd = _external(
    "numba_ez_gesdd",
    _letter, _size, _size, _array, _size, _array, _array, _size, _array, _size,
)  # fmt: skip


@_compiled
def _kind(a):  # type: ignore[no-untyped-def]
    """The letter by which LAPACK knows a dtype."""
    return np.int8(115) if a.itemsize == 4 else np.int8(100)  # "s", "d"


@_compiled
def _transposed(a):  # type: ignore[no-untyped-def]
    m, n = a.shape
    out = np.empty((n, m), a.dtype)
    for i in range(m):
        for j in range(n):
            out[j, i] = a[i, j]
    return out


# ---------------------------------------------------------------- LU


@_compiled
def _eliminate(a, b):  # type: ignore[no-untyped-def]
    """a becomes upper triangular, with the same done to b; the sign of the exchanges of rows, 0 if
    a pivot is 0."""
    n, k = a.shape[0], b.shape[1]
    sign = 1
    for j in range(n):
        top = j
        for i in range(j + 1, n):
            if abs(a[i, j]) > abs(a[top, j]):
                top = i
        if a[top, j] == 0:
            return 0
        if top != j:
            sign = -sign
            for c in range(j, n):
                a[j, c], a[top, c] = a[top, c], a[j, c]
            for c in range(k):
                b[j, c], b[top, c] = b[top, c], b[j, c]
        for i in range(j + 1, n):
            factor = a[i, j] / a[j, j]
            for c in range(j + 1, n):
                a[i, c] -= factor * a[j, c]
            for c in range(k):
                b[i, c] -= factor * b[j, c]
    return sign


@_compiled
def _solve(a, b, out):  # type: ignore[no-untyped-def]
    n, k = b.shape
    if n > _SMALL:
        columns, turned = _transposed(a), _transposed(b)
        pivots = np.empty(n, np.int32)
        status = _gesv(_kind(a), n, k, _data(columns), n, _data(pivots), _data(turned), n)
        for i in range(n):
            for j in range(k):
                out[i, j] = turned[j, i]
        return np.int64(status != 0)
    u = a.copy()
    for i in range(n):
        for j in range(k):
            out[i, j] = b[i, j]
    if _eliminate(u, out) == 0:
        return np.int64(1)
    for i in range(n - 1, -1, -1):
        for p in range(i + 1, n):
            factor = u[i, p]
            for j in range(k):
                out[i, j] -= factor * out[p, j]
        for j in range(k):
            out[i, j] /= u[i, i]
    return np.int64(0)


@overload(kernels_linalg.solve)
def _overload_solve(a, b, out):  # type: ignore[no-untyped-def]
    if b.ndim == 1:

        def vector(a, b, out):  # type: ignore[no-untyped-def]
            n = b.shape[0]
            return _solve(a, b.reshape((n, 1)), out.reshape((n, 1)))

        return vector
    return lambda a, b, out: _solve(a, b, out)


@_compiled
def _inv(a, out):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    if n <= _SMALL:
        return _solve(a, np.eye(n, dtype=a.dtype), out)
    for i in range(n):
        for j in range(n):
            out[i, j] = a[i, j]
    pivots = np.empty(n, np.int32)
    status = _getrf(_kind(a), n, n, _data(out), n, _data(pivots))
    if status == 0:
        status = _getri(_kind(a), n, _data(out), n, _data(pivots))
    return np.int64(status != 0)


@overload(kernels_linalg.inv)
def _overload_inv(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _inv(a, out)


@_compiled
def _triangle(a):  # type: ignore[no-untyped-def]
    """An upper triangular matrix of the same determinant, but for the sign returned with it."""
    u = a.copy()
    n = a.shape[0]
    if n <= _SMALL:
        return u, _eliminate(u, np.empty((n, 0), a.dtype))
    pivots = np.empty(n, np.int32)
    if _getrf(_kind(a), n, n, _data(u), n, _data(pivots)) != 0:
        return u, 0
    sign = 1
    for i in range(n):
        if pivots[i] != i + 1:
            sign = -sign
    return u, sign


@_compiled
def _det(a):  # type: ignore[no-untyped-def]
    u, sign = _triangle(a)
    out = a.dtype.type(sign)
    for i in range(a.shape[0]):
        out *= u[i, i]
    return out if sign != 0 else a.dtype.type(0)


@_compiled
def _slogdet_log(a):  # type: ignore[no-untyped-def]
    u, sign = _triangle(a)
    if sign == 0:
        return a.dtype.type(-np.inf)
    out = a.dtype.type(0)
    for i in range(a.shape[0]):
        out += np.log(abs(u[i, i]))
    return out


@_compiled
def _slogdet_sign(a):  # type: ignore[no-untyped-def]
    u, sign = _triangle(a)
    for i in range(a.shape[0]):
        if u[i, i] < 0:
            sign = -sign
    return a.dtype.type(sign)


@overload(kernels_linalg.det)
def _overload_det(a):  # type: ignore[no-untyped-def]
    return lambda a: _det(a)


@overload(kernels_linalg.slogdet_log)
def _overload_slogdet_log(a):  # type: ignore[no-untyped-def]
    return lambda a: _slogdet_log(a)


@overload(kernels_linalg.slogdet_sign)
def _overload_slogdet_sign(a):  # type: ignore[no-untyped-def]
    return lambda a: _slogdet_sign(a)


@_compiled
def _cofactor(a, out):  # type: ignore[no-untyped-def]
    """By singular values, so that it is right where the inverse does not exist."""
    n = a.shape[0]
    if n == 0:
        return
    u, s, vh = np.empty((n, n), a.dtype), np.empty(n, a.dtype), np.empty((n, n), a.dtype)
    if _svd(a, u, s, vh) != 0:
        out[:, :] = np.nan
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


@overload(kernels_linalg.cofactor)
def _overload_cofactor(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _cofactor(a, out)


@_compiled
def _lu(a, lu, pivots):  # type: ignore[no-untyped-def]
    """l, whose diagonal is 1, below u; `pivots` are the rows exchanged with, counted from 0."""
    n = a.shape[0]
    columns = _transposed(a)
    _getrf(_kind(a), n, n, _data(columns), n, _data(pivots))
    for i in range(n):
        pivots[i] -= 1
        for j in range(n):
            lu[i, j] = columns[j, i]


@overload(kernels_linalg.lu_compact)
def _overload_lu_compact(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _lu(a, out, np.empty(a.shape[0], np.int32))


@overload(kernels_linalg.lu_pivots)
def _overload_lu_pivots(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _lu(a, np.empty_like(a), out)


@overload(kernels_linalg.pivot_order)
def _overload_pivot_order(pivots, out):  # type: ignore[no-untyped-def]
    def pivot_order(pivots, out):  # type: ignore[no-untyped-def]
        for i in range(out.shape[0]):
            out[i] = i
        for i in range(out.shape[0]):
            other = pivots[i]
            out[i], out[other] = out[other], out[i]

    return pivot_order


# ---------------------------------------------------------------- bands


_solve_banded: Any = _compiled(helpers_linalg.eliminate_bands)


@overload(kernels_linalg.solve_banded)
def _overload_solve_banded(ab, b, lower, upper, out):  # type: ignore[no-untyped-def]
    if b.ndim == 1:

        def vector(ab, b, lower, upper, out):  # type: ignore[no-untyped-def]
            n = b.shape[0]
            return _solve_banded(ab, b.reshape((n, 1)), lower, upper, out.reshape((n, 1)))

        return vector
    return lambda ab, b, lower, upper, out: _solve_banded(ab, b, lower, upper, out)


# ---------------------------------------------------------------- triangles


@_compiled
def _solve_triangular(a, b, trans, lower, unit, out):  # type: ignore[no-untyped-def]
    """Block by block: what a block finds is taken off the equations that are left."""
    n, k = b.shape
    for i in range(n):
        if not unit and a[i, i] == 0:
            return np.int64(i + 1)
        for j in range(k):
            out[i, j] = b[i, j]
    forward = lower == (trans == 0)
    width = _BLOCK if n > 2 * _BLOCK and k >= _WIDE else n
    for done in range(0, n, max(width, 1)):
        size = min(width, n - done)
        low = done if forward else n - done - size
        high = low + size
        for step in range(size):
            i = low + step if forward else high - 1 - step
            if not unit:
                for j in range(k):
                    out[i, j] /= a[i, i]
            for p in range(i + 1 if forward else low, high if forward else i):
                factor = a[p, i] if trans == 0 else a[i, p]
                for j in range(k):
                    out[p, j] -= factor * out[i, j]
        first, last = (high, n) if forward else (0, low)
        if first < last:
            panel = np.empty((last - first, size), a.dtype)
            for p in range(first, last):
                for q in range(low, high):
                    panel[p - first, q - low] = a[p, q] if trans == 0 else a[q, p]
            one = a.dtype.type(1)
            kernels.gemm(False, False, -one, panel, out[low:high], one, out[first:last])
    return np.int64(0)


@overload(kernels_linalg.solve_triangular)
def _overload_solve_triangular(a, b, trans, lower, unit, out):  # type: ignore[no-untyped-def]
    if b.ndim == 1:

        def vector(a, b, trans, lower, unit, out):  # type: ignore[no-untyped-def]
            n = b.shape[0]
            return _solve_triangular(a, b.reshape((n, 1)), trans, lower, unit, out.reshape((n, 1)))

        return vector
    return lambda a, b, trans, lower, unit, out: _solve_triangular(a, b, trans, lower, unit, out)


@_compiled
def _cholesky(a, out):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] = a[i, j] if j <= i else 0
    if n > _SMALL:
        # What LAPACK takes for the upper triangle is the lower one.
        return np.int64(_potrf(_kind(a), np.int8(85), n, _data(out), n) != 0)
    for i in range(n):
        for j in range(i + 1):
            rest = out[i, j]
            for p in range(j):
                rest -= out[i, p] * out[j, p]
            if i > j:
                out[i, j] = rest / out[j, j]
            elif rest <= 0:
                return np.int64(1)
            else:
                out[i, i] = np.sqrt(rest)
    return np.int64(0)


@overload(kernels_linalg.cholesky)
def _overload_cholesky(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _cholesky(a, out)


# ---------------------------------------------------------------- orthogonal factors


@_compiled
def _qr_q(a, out):  # type: ignore[no-untyped-def]
    m, n = a.shape
    k = min(m, n)
    if k == 0:
        return
    columns = _transposed(a)
    tau = np.empty(k, a.dtype)
    _geqrf(_kind(a), m, n, _data(columns), m, _data(tau))
    _orgqr(_kind(a), m, k, k, _data(columns), m, _data(tau))
    for i in range(m):
        for j in range(k):
            out[i, j] = columns[j, i]


@overload(kernels_linalg.qr_q)
def _overload_qr_q(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _qr_q(a, out)


@_compiled
def _eigh_vectors(a, lower, out):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    if n == 0:
        return np.int64(0)
    columns = _transposed(a)
    w = np.empty(n, a.dtype)
    half = np.int8(76) if lower else np.int8(85)
    status = _syevd(_kind(a), np.int8(86), half, n, _data(columns), n, _data(w))
    for i in range(n):
        for j in range(n):
            out[i, j] = columns[j, i]
    return np.int64(status != 0)


@overload(kernels_linalg.eigh_vectors)
def _overload_eigh_vectors(a, lower, out):  # type: ignore[no-untyped-def]
    return lambda a, lower, out: _eigh_vectors(a, lower, out)


@_compiled
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


@overload(kernels_linalg.eigh_values)
def _overload_eigh_values(a, v, lower, out):  # type: ignore[no-untyped-def]
    return lambda a, v, lower, out: _eigh_values(a, v, lower, out)


@_compiled
def _svd(a, u, s, vh):  # type: ignore[no-untyped-def]
    """0 if all went well.  LAPACK is not asked about what is not finite, where it may not end."""
    m, n = a.shape
    k = min(m, n)
    for x in a.flat:
        if not np.isfinite(x):
            return np.int64(1)
    columns = _transposed(a)
    u_columns, vh_columns = np.empty((k, m), a.dtype), np.empty((n, k), a.dtype)
    status = _gesdd(
        _kind(a), np.int8(83), m, n, _data(columns), m, _data(s), _data(u_columns), m,
        _data(vh_columns), k,
    )  # fmt: skip
    for j in range(k):
        for i in range(m):
            u[i, j] = u_columns[j, i]
        for i in range(n):
            vh[j, i] = vh_columns[i, j]
    return np.int64(status != 0)


@_compiled
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


@overload(kernels_linalg.svd_vectors)
def _overload_svd_vectors(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _svd_vectors(a, out)


@_compiled
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


@overload(kernels_linalg.svd_values)
def _overload_svd_values(a, vectors, out):  # type: ignore[no-untyped-def]
    return lambda a, vectors, out: _svd_values(a, vectors, out)


@_compiled
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


@overload(kernels_linalg.pinv)
def _overload_pinv(a, rcond, out):  # type: ignore[no-untyped-def]
    return lambda a, rcond, out: _pinv(a, rcond, out)


# ---------------------------------------------------------------- expm

_PADE = np.array(helpers_linalg.PADE)
_REACH = helpers_linalg.REACH


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


@_compiled
def _norm(a):  # type: ignore[no-untyped-def]
    """The largest sum of a column, nan if one is."""
    norm = 0.0
    for j in range(a.shape[0]):
        total = 0.0
        for i in range(a.shape[0]):
            total += abs(a[i, j])
        if not total <= norm:
            norm = total
    return norm


@_compiled
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


@overload(kernels_linalg.expm)
def _overload_expm(a, out):  # type: ignore[no-untyped-def]
    return lambda a, out: _expm(a, out)
