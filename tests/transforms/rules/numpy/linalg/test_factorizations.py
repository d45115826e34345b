"""Eigenvalues, singular values and QR: forms and errors, and derivatives at equal values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.ir.errors import UnsupportedError
from tests.transforms.rules.numeric import call

RNG = np.random.default_rng(2)
A = RNG.normal(size=(3, 3))
SYMMETRIC = A + A.T


@pytest.mark.parametrize("uplo", ["L", "U", "l", "u"])
def test_one_triangle_is_read(uplo: str) -> None:
    hidden = SYMMETRIC.copy()
    hidden[np.triu_indices(3, 1) if uplo in "lL" else np.tril_indices(3, -1)] = 99.0
    np.testing.assert_allclose(
        call("numpy.linalg.eigvalsh", hidden, uplo), np.linalg.eigvalsh(SYMMETRIC), rtol=1e-12
    )


def test_arguments_that_are_refused() -> None:
    with pytest.raises(ValueError, match="UPLO argument must be"):
        call("numpy.linalg.eigh", SYMMETRIC, "X")
    with pytest.raises(ValueError, match="Unrecognized mode"):
        call("numpy.linalg.qr", A, "other")
    with pytest.raises(UnsupportedError, match="mode="):
        call("numpy.linalg.qr", A, "raw")
    with pytest.raises(UnsupportedError, match="hermitian"):
        call("numpy.linalg.svd", A, hermitian=True)
    for path in ("eigh", "svd", "qr"):
        with pytest.raises(np.linalg.LinAlgError):
            call(f"numpy.linalg.{path}", np.ones(3))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_factors_multiply_to_the_matrix(shape: Any) -> None:
    x = RNG.normal(size=shape)
    u, s, vh = call("numpy.linalg.svd", x, False)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, x, atol=1e-12)
    q, r = call("numpy.linalg.qr", x)
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    np.testing.assert_allclose(np.tril(r, -1), 0.0, atol=1e-15)


def differences(f: Any, a: Any) -> Any:
    out = np.zeros_like(a)
    for at in np.ndindex(a.shape):
        d = np.zeros_like(a)
        d[at] = 1e-5
        out[at] = (f(a + d) - f(a - d)) / 2e-5
    return out


def eigenvalue_squares(a):
    return np.sum(np.linalg.eigvalsh(0.5 * (a + a.T)) ** 2)


def eigenvalue_exponentials(a):
    return np.sum(np.exp(np.linalg.eigvalsh(0.5 * (a + a.T))))


def singular_squares(a):
    return np.sum(np.linalg.svd(a, compute_uv=False) ** 2)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([1.0, 2.0, 1.0]), np.zeros((3, 3)), SYMMETRIC])
def test_symmetric_functions_of_equal_values_have_their_derivatives(a: Any) -> None:
    """docs/kinks.md: sums and traces are right where values are equal."""
    for f in (eigenvalue_squares, eigenvalue_exponentials, singular_squares):
        got = s2s.grad(f, backend="loops")(a)
        np.testing.assert_allclose(got, differences(f, a), rtol=1e-6, atol=1e-8)


def unused_vectors(a):
    values, _ = np.linalg.eigh(0.5 * (a + a.T))
    return np.sum(values)


def used_vectors(a):
    _, vectors = np.linalg.eigh(0.5 * (a + a.T))
    return np.sum(vectors[:, 0] * np.arange(3.0))


def test_vectors_of_equal_values_have_no_derivative_unless_it_is_not_asked_for() -> None:
    np.testing.assert_allclose(s2s.grad(unused_vectors, backend="loops")(np.eye(3)), np.eye(3))
    with np.errstate(all="ignore"):
        assert not np.isfinite(s2s.grad(used_vectors, backend="loops")(np.eye(3))).all()
