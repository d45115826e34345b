"""Errors of linear algebra: NumPy's exception, with the user's line."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import s2s


def solved(a, b):
    doubled = 2.0 * a
    return np.sum(np.linalg.solve(doubled, b))  # fails


def factored(a, b):
    return np.sum(np.linalg.cholesky(a)) + b[0]  # fails


def triangular(a, b):
    return np.sum(scipy.linalg.solve_triangular(a, b))  # fails


def judged(a, b):
    if a[0, 0] > 0.5:
        raise np.linalg.LinAlgError(f"too large: {a[0, 0]:.1f}")  # fails
    return np.sum(a) + b[0]


CASES = [
    (solved, np.ones((2, 2)), "Singular matrix"),
    (solved, np.ones((2, 3)), "Last 2 dimensions of the array must be square"),
    (factored, -np.eye(2), "Matrix is not positive definite"),
    (triangular, np.diag([1.0, 0.0]), "singular matrix: resolution failed at diagonal 1"),
    (judged, np.eye(2), "too large: 1.0"),
]


@pytest.mark.parametrize(("function", "a", "told"), CASES)
def test_errors_keep_their_type_and_have_the_line(function, a, told):
    with pytest.raises(np.linalg.LinAlgError, match=told) as caught:
        s2s.grad(function, backend="loops")(a, np.ones(2))
    assert "# fails" in caught.value.source_line  # type: ignore[attr-defined]
    with pytest.raises(np.linalg.LinAlgError, match=told):
        s2s.grad(function, backend="python")(a, np.ones(2))


def likelihood(a, b):
    low = np.linalg.cholesky(a)  # fails
    whitened = scipy.linalg.solve_triangular(low, b, lower=True)
    return np.sum(whitened**2) + np.linalg.det(a)


def parts(a, b):
    w, v = np.linalg.eigh(a)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    found = np.linalg.slogdet(a)
    return w[0] + v[0, 0] ** 2 + s[0] + u[0, 0] ** 2 + vh[0, 0] ** 2 + found.logabsdet + b[0]


def test_named_results_are_read_by_name_and_by_place():
    a = np.array([[3.0, 1.0], [1.0, 2.0]])
    for backend in ("loops", "python"):
        f = s2s.value_and_grad(parts, backend=backend)
        np.testing.assert_allclose(f(a, np.ones(2))[0], parts(a, np.ones(2)))


def test_mapped_over_many_matrices():
    """vmap runs one batched routine instead of a loop."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 3, 3)) + 3 * np.eye(3), rng.normal(size=(4, 3))

    def f(a, b):
        w = np.linalg.eigvalsh(a + a.T)
        return np.linalg.solve(a, b) @ b + np.linalg.det(a) + w[0]

    mapped = s2s.vmap(f, backend="loops")
    np.testing.assert_allclose(mapped(a, b), [f(x, y) for x, y in zip(a, b)])
    common = s2s.vmap(f, in_axes=(0, None), backend="loops")
    np.testing.assert_allclose(common(a, b[0]), [f(x, b[0]) for x in a])


def test_compiled():
    """A triangular system, a determinant and a failure, by Numba."""
    a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, -2.0])
    compiled = s2s.grad(likelihood, wrt=("a", "b"), backend="numba")
    plain = s2s.grad(likelihood, wrt=("a", "b"), backend="loops")
    for got, want in zip(compiled(a, b), plain(a, b)):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite") as caught:
        compiled(-a, b)
    assert "# fails" in caught.value.source_line  # type: ignore[attr-defined]
