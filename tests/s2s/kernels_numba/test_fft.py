"""Fourier transforms, compiled: NumPy's results for every kind of length, along any axis."""

# ruff: noqa: E402

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("numba")

from s2s.kernels import fft as plain
from s2s.kernels_numba import fft
from tests.s2s.kernels_numba.test_linalg_solve import guarded, untouched

RNG = np.random.default_rng(3)
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 12, 13, 17, 30, 64, 97, 130)


@pytest.mark.parametrize("n", [1, 2, 6, 8, 16, 17, 60, 97])
def test_factors_and_roots(n) -> None:
    factors = fft._factors(n)
    assert np.prod(factors, dtype=int) == n and list(factors).count(2) <= 1
    assert n == 1 or factors[-1] == max(factors[factors > 4], default=factors[-1])
    for sign in (1.0, -1.0):
        expected = np.exp(sign * 2j * np.pi * np.arange(n) / n)
        np.testing.assert_allclose(fft._roots(n, sign), expected, atol=2e-15)


@pytest.mark.parametrize("n", LENGTHS)
def test_complex_transforms(n) -> None:
    for lines, wide in ((1, 1), (3, 1), (2, 3), (1, 20), (17, 2)):
        x = RNG.normal(size=(lines, n, wide)) + 1j * RNG.normal(size=(lines, n, wide))
        for inverse, scale in itertools.product((False, True), range(3)):
            out, around = guarded(x.shape, np.complex128)
            expected = np.empty_like(x)
            plain.fft(x, expected, inverse, scale)
            fft._fft(x, out, inverse, scale)
            assert untouched(around)
            np.testing.assert_allclose(out, expected, atol=1e-12 * n)
        same = x.copy()
        fft._fft(same, same, False, 0)  # in place
        np.testing.assert_allclose(same, np.fft.fft(x, axis=1), atol=1e-12 * n)


@pytest.mark.parametrize("n", LENGTHS)
def test_real_transforms(n) -> None:
    for lines, wide in ((1, 1), (3, 2), (1, 9)):
        x, half = RNG.normal(size=(lines, n, wide)), n // 2 + 1
        for scale in range(3):
            out, around = guarded((lines, half, wide), np.complex128)
            expected = np.empty((lines, half, wide), complex)
            plain.rfft(x, expected, scale)
            fft._rfft(x, out, scale)
            assert untouched(around)
            np.testing.assert_allclose(out, expected, atol=1e-12 * n)
            y = RNG.normal(size=expected.shape) + 1j * RNG.normal(size=expected.shape)
            back, around = guarded(x.shape)
            wanted = np.empty(x.shape)
            plain.irfft(y, wanted, scale)
            fft._irfft(y, back, scale)
            assert untouched(around)
            np.testing.assert_allclose(back, wanted, atol=1e-12 * n)


def test_lengths_are_cut_and_padded() -> None:
    x = RNG.normal(size=(2, 5, 3))
    for n in (0, 1, 4, 5, 9):
        out, around = guarded((2, n, 3))
        expected = np.empty((2, n, 3))
        plain.resize(x, expected)
        fft._resize(x, out)
        assert untouched(around)
        np.testing.assert_array_equal(out, expected)
