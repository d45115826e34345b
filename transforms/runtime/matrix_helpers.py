"""Matrix functions of emitted NumPy-level code that NumPy lacks.

Like NumPy's, most operate on the last two axes of a batch of matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def solve_triangular(
    a: Any, b: Any, trans: int = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """scipy.linalg.solve_triangular for each matrix of a batch, by substitution row by row.

    LAPACK's routine would start threads for matrices of any size.
    """
    if not unit_diagonal:
        zeros = np.argwhere(np.diagonal(a, axis1=-2, axis2=-1) == 0)
        if len(zeros):
            message = f"singular matrix: resolution failed at diagonal {zeros[0, -1]}"
            raise np.linalg.LinAlgError(message)
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
    """The left singular vectors stacked above the right singular vectors, as columns."""
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("SVD did not converge")  # LAPACK may not terminate
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate((u, np.swapaxes(vh, -1, -2)), axis=-2)


def cofactor(a: Any) -> Any:
    """The cofactor matrix, which is the gradient of det(a).

    It is det(a) * inv(a).T where the inverse exists.
    """
    known = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(known, a, a.dtype.type(0)))
    sign = np.linalg.det(u) * np.linalg.det(vh)
    n = s.shape[-1]
    # For each singular value, the product of all others.
    others = np.where(np.eye(n, dtype=np.bool_), s.dtype.type(1), s[..., None, :]).prod(axis=-1)
    out = (u * others[..., None, :] @ vh) * sign[..., None, None]
    return np.where(known, out, a.dtype.type(np.nan))


def lu_compact(a: Any) -> Any:
    """The LU factors in one matrix: l, of unit diagonal, below the diagonal, u on and above it."""
    return _lu(a)[0]


def lu_pivots(a: Any) -> Any:
    """The pivots of LU: row i was exchanged with row pivots[i], in order."""
    return _lu(a)[1]


def _lu(a: Any) -> tuple[Any, Any]:
    lu, n = a.copy(), len(a)
    pivots = np.empty(n, np.int32)
    for j in range(n):
        top = pivots[j] = j + np.argmax(np.abs(lu[j:, j]))
        lu[[j, top]] = lu[[top, j]]
        if lu[j, j] != 0:
            lu[j + 1 :, j] /= lu[j, j]
            lu[j + 1 :, j + 1 :] -= np.outer(lu[j + 1 :, j], lu[j, j + 1 :])
    return lu, pivots


def pivot_order(pivots: Any) -> Any:
    """The row permutation of the pivots: the original position of each row after all exchanges."""
    order = np.arange(len(pivots))
    for i, other in enumerate(pivots):
        order[i], order[other] = order[other], order[i]
    return order


def solve_banded(ab: Any, b: Any, lower: int, upper: int) -> Any:
    """scipy.linalg.solve_banded, with the numbers of diagonals as the last arguments."""
    out = np.empty(b.shape, np.result_type(ab, b))
    columns = (-1, 1) if b.ndim == 1 else b.shape
    if eliminate_bands(ab, b.reshape(columns), lower, upper, out.reshape(columns)):
        raise np.linalg.LinAlgError("singular matrix")
    return out


def eliminate_bands(ab: Any, b: Any, lower: int, upper: int, out: Any) -> int:
    """Banded Gaussian elimination with partial pivoting; 1 if the matrix is singular, else 0.

    Row exchanges widen the band above the diagonal.  Numba compiles this function unchanged.
    """
    n, k = b.shape
    wide = lower + upper
    rows = np.zeros((n, lower + wide + 1), out.dtype)  # rows[i, lower + j - i] is a[i, j]
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            rows[i, lower + j - i] = ab[upper + i - j, j]
        for c in range(k):
            out[i, c] = b[i, c]
    for j in range(n):
        top = j
        last = min(n, j + lower + 1)
        for i in range(j + 1, last):
            if abs(rows[i, lower + j - i]) > abs(rows[top, lower + j - top]):
                top = i
        if rows[top, lower + j - top] == 0:
            return 1
        end = min(n, j + wide + 1)
        if top != j:
            for p in range(j, end):
                x, y = lower + p - j, lower + p - top
                rows[j, x], rows[top, y] = rows[top, y], rows[j, x]
            for c in range(k):
                out[j, c], out[top, c] = out[top, c], out[j, c]
        for i in range(j + 1, last):
            factor = rows[i, lower + j - i] / rows[j, lower]
            for p in range(j + 1, end):
                rows[i, lower + p - i] -= factor * rows[j, lower + p - j]
            for c in range(k):
                out[i, c] -= factor * out[j, c]
    for i in range(n - 1, -1, -1):
        for p in range(i + 1, min(n, i + wide + 1)):
            for c in range(k):
                out[i, c] -= rows[i, lower + p - i] * out[p, c]
        for c in range(k):
            out[i, c] /= rows[i, lower]
    return 0


# The coefficients of the diagonal Padé approximant of degree 13, and the largest norm for which it
# is accurate to float64 precision.
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
PADE_MAX_NORM = 5.371920351148152


def expm(a: Any) -> Any:
    """scipy.linalg.expm by scaling and squaring.

    The matrix is halved until its norm is small, a Padé approximant is evaluated, and the result is
    squared once per halving.
    """
    unit = np.eye(a.shape[-1], dtype=a.dtype)
    norm = np.abs(a).sum(axis=-2).max(axis=-1, initial=0.0)[..., None, None]
    finite = np.isfinite(norm)
    halvings = np.ceil(np.log2(np.maximum(np.where(finite, norm, 1.0) / PADE_MAX_NORM, 1.0)))
    x = np.where(finite, a, 0.0) * (0.5**halvings).astype(a.dtype)
    c = np.array(PADE, a.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x2 @ x4
    odd = x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2)
    odd = x @ (odd + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * unit)
    even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2)
    even = even + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * unit
    out = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max(initial=0.0))):
        out = np.where(k < halvings, out @ out, out)
    return np.where(finite, out, a.dtype.type(np.nan))
