"""The compiled Fourier transform against NumPy's, and a gradient through it."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.kernels import fft

pytest.importorskip("numba")

# All passes and kinds of lengths: factors 4, 2, 3, 5, other primes, and primes too large for a
# pass.
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 22, 32, 60, 64, 97, 143)


# One line, several lines, and more than one batch of lines, along the first, the last and a middle
# axis.
@pytest.mark.parametrize(("lines", "wide"), [(1, 1), (2, 3), (9, 1), (1, 21), (3, 8)])
def test_transforms_are_numpys(lines: int, wide: int) -> None:
    from s2s.kernels_numba import fft as compiled

    rng = np.random.default_rng(0)
    for n in LENGTHS:
        z = rng.normal(size=(lines, n, wide)) + 1j * rng.normal(size=(lines, n, wide))
        x, y = np.ascontiguousarray(z.real), z[:, : n // 2 + 1].copy()
        for scale in (0, 1, 2):
            for inverse in (False, True):
                _compare(compiled._fft, fft.fft, z, z.shape, complex, inverse, scale)
            _compare(compiled._rfft, fft.rfft, x, y.shape, complex, scale)
            _compare(compiled._irfft, fft.irfft, y, x.shape, float, scale)
        _compare(compiled._resize, fft.resize, z, (lines, n + 2, wide), complex)


def _compare(ours, theirs, source, shape, dtype, *options):  # type: ignore[no-untyped-def]
    one, other = np.empty(shape, dtype), np.empty(shape, dtype)
    ours(source, one, *options)
    theirs(source, other, *options)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * max(1.0, np.abs(other).max()))


def test_long_lines_and_none() -> None:
    from s2s.kernels_numba import fft as compiled

    rng = np.random.default_rng(0)
    for shape in ((9, 256, 1), (3, 331, 2), (1, 17, 40), (0, 4, 1), (2, 4, 0), (2, 0, 3)):
        z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        one, other = np.empty_like(z), z.copy()
        compiled._fft(z, one, False, 1)
        compiled._fft(other, other, False, 1)
        np.testing.assert_array_equal(one, other)  # in place, too
        if z.size:
            np.testing.assert_allclose(one, np.fft.fft(z, axis=1, norm="forward"), atol=1e-15)


def test_single_precision() -> None:
    from s2s.kernels_numba import fft as compiled

    rng = np.random.default_rng(0)
    for n in LENGTHS:
        z = rng.normal(size=(9, n, 1)).astype(np.complex64)
        out = np.empty_like(z)
        compiled._fft(z, out, False, 0)
        np.testing.assert_allclose(out, np.fft.fft(z, axis=1), atol=1e-5 * n)


def filtered(x, h):
    z = np.fft.fft(x * np.exp(1j * h))
    return np.sum(np.abs(z) ** 2 * np.fft.fftfreq(6))


def test_a_compiled_gradient_through_transforms() -> None:
    rng = np.random.default_rng(1)
    x, h = rng.normal(size=6), rng.normal(size=6)
    value, gradients = s2s.value_and_grad(filtered, wrt=(0, 1))(x, h)
    other, expected = s2s.value_and_grad(filtered, wrt=(0, 1), backend="loops")(x, h)
    assert np.isclose(value, other) and np.isclose(value, filtered(x, h))
    for one, two in zip(gradients, expected):
        np.testing.assert_allclose(one, two, rtol=1e-10)
