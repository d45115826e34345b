"""LU factors and the systems solved with them: forms, transposes, errors, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import s2s
from s2s.transforms.ir.errors import UnsupportedError
from tests.transforms.rules.numeric import call

RNG = np.random.default_rng(1)
A, B = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 2))


def test_factors_are_scipys() -> None:
    lu, pivots = call("scipy.linalg.lu_factor", A)
    want, order = scipy.linalg.lu_factor(A)
    np.testing.assert_allclose(lu, want, rtol=1e-12)
    np.testing.assert_array_equal(pivots, order)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("b", [B, B[:, 0], B[:, :0]], ids=lambda b: str(b.shape))
def test_systems_and_transposed_ones(trans: int, b: Any) -> None:
    factors = scipy.linalg.lu_factor(A)
    got = call("scipy.linalg.lu_solve", factors, b, trans)
    assert got.shape == b.shape
    np.testing.assert_allclose((A.T if trans else A) @ got, b, atol=1e-12)


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="stack of matrices"):
        call("scipy.linalg.lu_factor", np.stack([A, A]))
    with pytest.raises(ValueError):
        call("scipy.linalg.lu_factor", B)
    with pytest.raises(ValueError, match="incompatible"):
        call("scipy.linalg.lu_solve", scipy.linalg.lu_factor(A), np.ones(3))
    with pytest.raises(ValueError, match="infs or NaNs"):
        call("scipy.linalg.lu_factor", np.full((2, 2), np.nan))


def transposed(a, b):
    factors = scipy.linalg.lu_factor(a)
    return np.sum(np.sin(scipy.linalg.lu_solve(factors, b, trans=1)))


def test_the_gradient_through_factors_and_exchanged_rows() -> None:
    """The exchanges are constant near a matrix of distinct pivots."""
    got = s2s.grad(transposed, wrt=(0, 1), backend="loops")(A, B)
    for at, (x, g) in enumerate(zip((A, B), got)):
        want = np.zeros_like(x)
        for k in np.ndindex(x.shape):
            d = np.zeros_like(x)
            d[k] = 1e-6
            up, down = [(v, B) if at == 0 else (A, v) for v in (x + d, x - d)]
            want[k] = (transposed(*up) - transposed(*down)) / 2e-6
        np.testing.assert_allclose(g, want, rtol=1e-5, atol=1e-8)
