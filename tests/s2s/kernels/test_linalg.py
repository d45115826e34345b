"""The compiled routines of linear algebra against those of NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.kernels import linalg
from s2s.kernels_numba import linalg_factor, linalg_solve

R = np.random.default_rng(8)
SIZES = [0, 1, 3, 30]  # small ones by loops, large ones by LAPACK


def compiled(name):
    home = linalg_solve if hasattr(linalg_solve, f"_{name}") else None
    return getattr(home or linalg_factor, f"_{name}")


def both(name, shape, *args):
    """The outputs and return values of both versions."""
    outcomes = []
    for routine in (getattr(linalg, name), compiled(name)):
        out = np.zeros(shape)
        outcomes.append((out, routine(*args, out)))
    (want, status), (got, returned) = outcomes
    assert returned == status
    return got, want


def same(name, shape, *args):
    got, want = both(name, shape, *args)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def regular(n):
    return R.normal(size=(n, n)) * 0.3 + 2 * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_square_matrices(n):
    a, b = regular(n), R.normal(size=(n, 2))
    same("solve", (n, 2), a, b)
    same("inv", (n, n), a)
    same("cholesky", (n, n), a @ a.T)
    same("expm", (n, n), a)
    for name in ("det", "slogdet_log", "slogdet_sign"):
        want = getattr(linalg, name)(-a)
        got = compiled(name)(-a)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 3, 30])
def test_cofactors(n):
    a = regular(n)
    same("cofactor", (n, n), a)
    if n:
        near = a.copy()
        near[-1] = near[0] * (1 + 1e-9) if n > 1 else 1e-300
        same("cofactor", (n, n), near)  # its inverse has few accurate digits
        a[0] = 0
        same("cofactor", (n, n), a)


def test_cofactors_whose_determinant_is_beyond_all_numbers():
    same("cofactor", (2, 2), np.diag([1e-170, 1e-160]))
    same("cofactor", (2, 2), np.diag([1e170, 1e160]))
    same("cofactor", (3, 3), np.full((3, 3), np.nan))
    got, want = both("cofactor", (3, 3), 2e-107 * np.eye(3))  # a determinant with three digits
    np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize(("n", "k"), [(0, 1), (3, 2), (110, 10)])  # the last in blocks
def test_triangles(n, k):
    a, b = regular(n) / max(n, 1) + np.eye(n), R.normal(size=(n, k))
    for trans in (0, 1):
        for lower in (False, True):
            for unit in (False, True):
                same("solve_triangular", (n, k), a, b, trans, lower, unit)


@pytest.mark.parametrize("n", [1, 4, 30])
def test_lu(n):
    a = R.normal(size=(n, n))
    lu, pivots = np.empty((n, n)), np.empty(n, np.int32)
    compiled("lu")(a, lu, pivots)
    for name, got in (("lu_compact", lu), ("lu_pivots", pivots)):
        want = np.empty_like(got)
        getattr(linalg, name)(a, want)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("lower", [0, 1, 2])
@pytest.mark.parametrize("upper", [0, 1, 3])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_bands(n, lower, upper):
    ab, b = R.normal(size=(lower + upper + 1, n)), R.normal(size=(n, 2))
    same("solve_banded", (n, 2), ab, b, lower, upper)


@pytest.mark.parametrize(("m", "n"), [(3, 3), (5, 2), (2, 5), (0, 2), (30, 26)])
def test_orthogonal_factors(m, n):
    a, k = R.normal(size=(m, n)), min(m, n)
    same("qr_q", (m, k), a)
    same("svd_vectors", (m + n, k), a)
    same("pinv", (n, m), a, 1e-12)
    vectors, _ = both("svd_vectors", (m + n, k), a)
    same("svd_values", (k,), a, vectors)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [0, 1, 4, 30])
def test_eigenvalues(n, lower):
    a = R.normal(size=(n, n))
    same("eigh_vectors", (n, n), a, lower)
    v, _ = both("eigh_vectors", (n, n), a, lower)
    same("eigh_values", (n,), a, v, lower)


@pytest.mark.parametrize("n", [2, 30])
def test_what_fails(n):
    ones = np.ones((n, n))
    both("solve", (n, 1), ones, np.ones((n, 1)))
    both("inv", (n, n), ones)
    both("cholesky", (n, n), -ones)
    both("svd_vectors", (2 * n, n), ones * np.nan)
    assert compiled("slogdet_log")(ones) == -np.inf
    assert compiled("det")(ones) == 0
    flawed = np.eye(n)
    flawed[1, 1] = 0
    both("solve_triangular", (n, 1), flawed, np.ones((n, 1)), 0, True, False)
