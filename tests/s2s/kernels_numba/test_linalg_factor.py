"""Orthogonal factors and the matrix exponential, compiled: NumPy's results, also for odd shapes."""

# ruff: noqa: E402

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

pytest.importorskip("numba")

from s2s.kernels_numba import linalg_factor as routines
from s2s.transforms.runtime import matrix_helpers
from tests.s2s.kernels_numba.test_linalg_solve import guarded, untouched

RNG = np.random.default_rng(2)
SHAPES = [(1, 1), (3, 3), (5, 2), (2, 5), (30, 30), (0, 3), (3, 0)]


@pytest.mark.parametrize("shape", SHAPES)
def test_factors(shape) -> None:
    m, n = shape
    k = min(m, n)
    a = RNG.normal(size=shape)
    q, around = guarded((m, k))
    routines._qr_q(a, q)
    assert untouched(around)
    np.testing.assert_allclose(q.T @ q, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(q @ (q.T @ a) if m >= n else q @ q.T, a if m >= n else np.eye(m),
                               atol=1e-12)  # fmt: skip
    vectors, around = guarded((m + n, k))
    assert routines._svd_vectors(a, vectors) == 0 and untouched(around)
    values, around = guarded((k,))
    routines._svd_values(a, vectors, values)
    assert untouched(around)
    np.testing.assert_allclose(vectors[:m] * values @ vectors[m:].T, a, atol=1e-12)
    inverse, around = guarded((n, m))
    assert routines._pinv(a, 1e-15, inverse) == 0 and untouched(around)
    if k:
        np.testing.assert_allclose(inverse, np.linalg.pinv(a), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [0, 1, 4, 30])
def test_eigenvectors(n, lower) -> None:
    """Only one half of the matrix is read."""
    a = RNG.normal(size=(n, n))
    v, around = guarded((n, n))
    assert routines._eigh_vectors(a, lower, v) == 0 and untouched(around)
    w, around = guarded((n,))
    routines._eigh_values(a, v, lower, w)
    assert untouched(around)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a, "L" if lower else "U"), atol=1e-11)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_a_status(bad) -> None:
    """LAPACK might not return."""
    a = np.ones((3, 3))
    a[1, 2] = bad
    assert routines._svd_vectors(a, np.empty((6, 3))) == 1
    assert routines._pinv(a, 1e-15, np.empty((3, 3))) == 1
    out = np.empty((3, 3))
    routines._expm(a, out)
    assert np.isnan(out).all()
    routines._cofactor(a, out)
    assert np.isnan(out).all()


def test_cofactors() -> None:
    for a in (RNG.normal(size=(4, 4)), np.ones((3, 3)), np.diag([1.0, 2.0, 0.0]), np.zeros((2, 2)),
              np.array([[5.0]]), np.diag([1e-200, 1e-200]), np.zeros((0, 0))):  # fmt: skip
        out, around = guarded(a.shape)
        routines._cofactor(a, out)
        assert untouched(around)
        np.testing.assert_allclose(out, matrix_helpers.cofactor(a), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 1e-8, 0.5, 5.0, 60.0])
def test_exponentials(scale) -> None:
    for n in (1, 4, 9):
        a = RNG.normal(size=(n, n)) * scale / n
        out, around = guarded((n, n))
        routines._expm(a, out)
        expected = scipy.linalg.expm(a)
        assert untouched(around)
        np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_norms_are_nan_if_a_sum_is() -> None:
    a = RNG.normal(size=(4, 4))
    assert routines._norm(a) == pytest.approx(np.linalg.norm(a, 1))
    a[2, 0] = np.nan
    assert np.isnan(routines._norm(a)) and routines._norm(np.zeros((0, 0))) == 0.0
