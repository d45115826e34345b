"""Matrix functions that lowered code calls, in NumPy and SciPy, for `backend="loops"`.

Each takes matrices in C order (a right-hand side may be a vector) and writes into `out`.  A
function that can fail returns a status: 0, or an error number from 1 on.
`s2s.kernels_numba.linalg` has the compiled versions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..transforms.runtime import matrix_helpers as helpers


def _status_of(out: Any, function: Any, *args: Any) -> int:
    """Store the result of a function in `out`; the status is 1 if it raises LinAlgError."""
    try:
        out[...] = function(*args)
    except np.linalg.LinAlgError:
        return 1
    return 0


def solve(a: Any, b: Any, out: Any) -> int:
    return _status_of(out, np.linalg.solve, a, b)


def inv(a: Any, out: Any) -> int:
    return _status_of(out, np.linalg.inv, a)


def det(a: Any) -> Any:
    return np.linalg.det(a)


def cofactor(a: Any, out: Any) -> None:
    out[...] = helpers.cofactor(a)


def slogdet_log(a: Any) -> Any:
    return np.linalg.slogdet(a).logabsdet


def slogdet_sign(a: Any) -> Any:
    return np.linalg.slogdet(a).sign


def solve_triangular(a: Any, b: Any, trans: int, lower: bool, unit: bool, out: Any) -> int:
    """The status is the number of the first zero on the diagonal, from 1 on."""
    if not unit:
        for i in range(a.shape[0]):
            if a[i, i] == 0:
                return i + 1
    out[...] = helpers.solve_triangular(a, b, trans, lower, unit)
    return 0


def lu_compact(a: Any, out: Any) -> None:
    out[...] = helpers.lu_compact(a)


def lu_pivots(a: Any, out: Any) -> None:
    out[...] = helpers.lu_pivots(a)


def pivot_order(pivots: Any, out: Any) -> None:
    out[...] = helpers.pivot_order(pivots)


def solve_banded(ab: Any, b: Any, lower: int, upper: int, out: Any) -> int:
    return _status_of(out, helpers.solve_banded, ab, b, lower, upper)


def cholesky(a: Any, out: Any) -> int:
    return _status_of(out, np.linalg.cholesky, a)


def qr_q(a: Any, out: Any) -> None:
    out[...] = np.linalg.qr(a).Q


def eigh_vectors(a: Any, lower: bool, out: Any) -> int:
    return _status_of(out, lambda: np.linalg.eigh(a, "L" if lower else "U").eigenvectors)


def eigh_values(a: Any, v: Any, lower: bool, out: Any) -> None:
    """The eigenvalues that belong to the columns of v."""
    half = np.tril(a) if lower else np.triu(a).T
    symmetric = half + np.tril(half, -1).T
    out[...] = np.sum(v * (symmetric @ v), axis=0)


def svd_vectors(a: Any, out: Any) -> int:
    return _status_of(out, helpers.svd_vectors, a)


def svd_values(a: Any, vectors: Any, out: Any) -> None:
    """The singular values that belong to the columns of u and v; `vectors` is u stacked on v."""
    m = a.shape[0]
    out[...] = np.abs(np.sum(vectors[:m] * (a @ vectors[m:]), axis=0))


def pinv(a: Any, rcond: Any, out: Any) -> int:
    if not np.isfinite(a).all():
        return 1
    return _status_of(out, np.linalg.pinv, a, rcond)


def expm(a: Any, out: Any) -> None:
    out[...] = helpers.expm(a)
