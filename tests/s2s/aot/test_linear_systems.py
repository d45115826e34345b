"""Linear systems without LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import s2s
from s2s.aot import build
from tests.s2s.aot.programs import needs_compiler

pytestmark = needs_compiler


def systems(a, b, c):
    low = np.linalg.cholesky(a @ a.T + 3.0 * np.eye(a.shape[0]))
    y = scipy.linalg.solve_triangular(low, b, lower=True)
    z = scipy.linalg.solve_triangular(low, c, lower=True, trans=1)
    x = np.linalg.solve(a, c)
    return (
        np.sum(x**2) + np.sum(y**2) + np.sum(z) + np.linalg.slogdet(a)[1]
        + np.sum(np.linalg.inv(a)) + np.sum(scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b))
    )  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Any:
    function = s2s.value_and_grad(systems, wrt=("a", "b", "c"))
    signature = "float64[n,n], float64[n], float64[n,k]"
    return build(function, signature, out=tmp_path_factory.mktemp("aot") / "systems").load()


def test_equal_those_of_lapack(library) -> None:
    function = s2s.value_and_grad(systems, wrt=("a", "b", "c"), backend="loops")
    rng = np.random.default_rng(0)
    for n in (0, 1, 3, 30):
        a, b, c = (rng.normal(size=s) for s in ((n, n), n, (n, 2)))
        value, gradients = library.systems(a, b, c)
        expected, expected_gradients = function(a, b, c)
        np.testing.assert_allclose(value, expected, rtol=1e-9)
        for found, wanted in zip(gradients, expected_gradients):
            np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


def test_a_singular_matrix_is_an_error(library) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        library.systems(np.zeros((3, 3)), np.ones(3), np.ones((3, 2)))


def test_what_needs_orthogonal_factors_is_refused(tmp_path) -> None:
    def largest(a):
        return np.linalg.eigvalsh(a)[-1]

    with pytest.raises(s2s.UnsupportedError, match=r"linalg.eigh_\w+ .* \(line \d+"):
        build(s2s.grad(largest), "float64[n,n]", out=tmp_path / "largest")
