"""Linear systems, compiled by Numba.  Small systems are solved by plain loops, which are faster
than a call of LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..kernels import linalg
from ..transforms.runtime import matrix_helpers
from .lapack import (
    _compiled,
    _copied,
    _gesv,
    _getrf,
    _getri,
    _kind,
    _potrf,
    _routine,
    _routine_of_ranks,
    _transposed,
)

# Up to this many rows, plain loops are faster than a call of LAPACK.
_MAX_LOOP_ROWS = 24
# Triangular systems with at least _MIN_BLOCKED_COLUMNS right-hand sides are solved in blocks of
# _BLOCK_ROWS rows.
_MIN_BLOCKED_COLUMNS = 8
_BLOCK_ROWS = 48

# ---------------------------------------------------------------- LU


@_compiled
def _eliminate(a, b):  # type: ignore[no-untyped-def]
    """Gaussian elimination in place: a becomes upper triangular, and b is transformed alike.
    Returns the sign of the row permutation, or 0 if a pivot is 0."""
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
    if n > _MAX_LOOP_ROWS:
        columns, turned = _transposed(a), _transposed(b)
        pivots = np.empty(n, np.int32)
        status = _gesv(_kind(a), n, k, columns, n, pivots, turned, n)
        for i in range(n):
            for j in range(k):
                out[i, j] = turned[j, i]
        return np.int64(status != 0)
    u = _copied(a)
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


@_compiled
def _solve_vector(a, b, out):  # type: ignore[no-untyped-def]
    n = b.shape[0]
    return _solve(a, b.reshape((n, 1)), out.reshape((n, 1)))


_routine_of_ranks(linalg.solve, 1, _solve_vector, _solve)


@_routine
def _inv(a, out):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    if n <= _MAX_LOOP_ROWS:
        unit = np.empty((n, n), a.dtype)
        for i in range(n):
            for j in range(n):
                unit[i, j] = 1 if i == j else 0
        return _solve(a, unit, out)
    for i in range(n):
        for j in range(n):
            out[i, j] = a[i, j]
    pivots = np.empty(n, np.int32)
    status = _getrf(_kind(a), n, n, out, n, pivots)
    if status == 0:
        status = _getri(_kind(a), n, out, n, pivots)
    return np.int64(status != 0)


@_compiled
def _triangle(a):  # type: ignore[no-untyped-def]
    """An upper triangular matrix with the same determinant up to the sign, and that sign; 0 if the
    matrix is singular."""
    u = _copied(a)
    n = a.shape[0]
    if n <= _MAX_LOOP_ROWS:
        return u, _eliminate(u, np.empty((n, 0), a.dtype))
    pivots = np.empty(n, np.int32)
    if _getrf(_kind(a), n, n, u, n, pivots) != 0:
        return u, 0
    sign = 1
    for i in range(n):
        if pivots[i] != i + 1:
            sign = -sign
    return u, sign


@_routine
def _det(a):  # type: ignore[no-untyped-def]
    u, sign = _triangle(a)
    out = a.dtype.type(sign)
    for i in range(a.shape[0]):
        out *= u[i, i]
    return out if sign != 0 else a.dtype.type(0)


@_routine
def _slogdet_log(a):  # type: ignore[no-untyped-def]
    u, sign = _triangle(a)
    if sign == 0:
        return a.dtype.type(-np.inf)
    out = a.dtype.type(0)
    for i in range(a.shape[0]):
        out += np.log(abs(u[i, i]))
    return out


@_routine
def _slogdet_sign(a):  # type: ignore[no-untyped-def]
    u, sign = _triangle(a)
    for i in range(a.shape[0]):
        if u[i, i] < 0:
            sign = -sign
    return a.dtype.type(sign)


@_compiled
def _lu(a, lu, pivots):  # type: ignore[no-untyped-def]
    """LU factorisation: l, whose diagonal is 1, below u.  `pivots` are the rows exchanged with,
    counted from 0."""
    n = a.shape[0]
    columns = _transposed(a)
    _getrf(_kind(a), n, n, columns, n, pivots)
    for i in range(n):
        pivots[i] -= 1
        for j in range(n):
            lu[i, j] = columns[j, i]


@_routine
def _lu_compact(a, out):  # type: ignore[no-untyped-def]
    _lu(a, out, np.empty(a.shape[0], np.int32))


@_routine
def _lu_pivots(a, out):  # type: ignore[no-untyped-def]
    _lu(a, np.empty(a.shape, a.dtype), out)


@_routine
def _pivot_order(pivots, out):  # type: ignore[no-untyped-def]
    """The pivots may come from the user.  If one of them is out of range, all of the result is: the
    check of indices raises the error."""
    n = out.shape[0]
    for i in range(n):
        out[i] = i
    for i in range(n):
        other = pivots[i]
        if other < 0:
            other += n
        if not 0 <= other < n:
            for k in range(n):
                out[k] = n
            return
        out[i], out[other] = out[other], out[i]


# ---------------------------------------------------------------- banded systems


_solve_banded: Any = _compiled(matrix_helpers.eliminate_bands)


@_compiled
def _solve_banded_vector(ab, b, lower, upper, out):  # type: ignore[no-untyped-def]
    n = b.shape[0]
    return _solve_banded(ab, b.reshape((n, 1)), lower, upper, out.reshape((n, 1)))


_routine_of_ranks(linalg.solve_banded, 1, _solve_banded_vector, _solve_banded)


# ---------------------------------------------------------------- triangular systems


@_compiled
def _solve_triangular(a, b, trans, lower, unit, out):  # type: ignore[no-untyped-def]
    """Blocked substitution: the solution of a block is subtracted from the remaining equations."""
    n, k = b.shape
    for i in range(n):
        if not unit and a[i, i] == 0:
            return np.int64(i + 1)
        for j in range(k):
            out[i, j] = b[i, j]
    forward = lower == (trans == 0)
    width = _BLOCK_ROWS if n > 2 * _BLOCK_ROWS and k >= _MIN_BLOCKED_COLUMNS else n
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


@_compiled
def _solve_triangular_vector(a, b, trans, lower, unit, out):  # type: ignore[no-untyped-def]
    n = b.shape[0]
    return _solve_triangular(a, b.reshape((n, 1)), trans, lower, unit, out.reshape((n, 1)))


_routine_of_ranks(linalg.solve_triangular, 1, _solve_triangular_vector, _solve_triangular)


@_routine
def _cholesky(a, out):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] = a[i, j] if j <= i else 0
    if n > _MAX_LOOP_ROWS:
        # LAPACK is column-major: its upper triangle ("U") is the lower one here.
        return np.int64(_potrf(_kind(a), np.int8(85), n, out, n) != 0)
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
