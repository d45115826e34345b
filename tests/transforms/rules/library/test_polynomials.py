"""Polynomials, spaced numbers and windows, of every degree and length, as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.rules.library import LIBRARY
from tests.transforms.rules.numeric import same_as_numpy

P, Q = np.array([2.0, -1.0, 0.5]), np.array([1.0, 3.0])
X = np.linspace(-2.0, 2.0, 5)


@pytest.mark.parametrize("p", [P, Q, P[:1]], ids=str)
@pytest.mark.parametrize("x", [X, X[1], X.reshape(5, 1)], ids=lambda x: str(np.shape(x)))
def test_values(p: Any, x: Any) -> None:
    same_as_numpy("numpy.polyval", p, x)
    same_as_numpy("numpy.polynomial.polynomial.polyval", x, p)
    same_as_numpy("numpy.polynomial.chebyshev.chebval", x, p)
    same_as_numpy("numpy.polynomial.legendre.legval", x, p)


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
def test_arithmetic(name: str) -> None:
    for p, q in ((P, Q), (Q, P), (P, P), (np.array([0.0, 0.0, 1.0, 2.0]), Q), (Q[:1], P)):
        same_as_numpy(f"numpy.{name}", p, q)


@pytest.mark.parametrize("m", [0, 1, 2, 3, 5])
def test_derivatives_and_integrals(m: int) -> None:
    same_as_numpy("numpy.polyder", P, m)
    same_as_numpy("numpy.polyint", P, m)
    same_as_numpy("numpy.polyint", P, 1, 7.0)


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_fits(degree: int) -> None:
    y, w = np.exp(X), np.arange(1.0, 6.0)
    for weights in (None, w):
        want = np.polyfit(X, y, degree, w=weights)
        np.testing.assert_allclose(LIBRARY["numpy.polyfit"](X, y, degree, weights), want, rtol=1e-9)


@pytest.mark.parametrize("n", [None, 0, 1, 4])
@pytest.mark.parametrize("increasing", [False, True])
def test_vandermonde_matrices(n: Any, increasing: bool) -> None:
    same_as_numpy("numpy.vander", X, n, increasing)
    assert isinstance(same_as_numpy("numpy.vander", X.reshape(5, 1), n), ValueError)


@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize("endpoint", [False, True])
def test_spaced_numbers(num: int, endpoint: bool) -> None:
    same_as_numpy("numpy.logspace", -1.0, 2.0, num, endpoint)
    same_as_numpy("numpy.logspace", 0.0, 3.0, num, endpoint, base=2.0)
    same_as_numpy("numpy.geomspace", 1.0, 256.0, num, endpoint)
    same_as_numpy("numpy.geomspace", -8.0, -1.0, num, endpoint)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman", "bartlett"])
def test_windows(name: str, n: int) -> None:
    same_as_numpy(f"numpy.{name}", n)
    same_as_numpy("numpy.kaiser", n, 14.0)
