"""Passes of Fourier transforms: one pass is the transform of that length, with any width."""

# ruff: noqa: E402

from __future__ import annotations

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from s2s.kernels_numba.fft import _roots
from s2s.kernels_numba.fft_llvm import pass2, pass3, pass4, pass5

RNG = np.random.default_rng(4)


@numba.njit
def passed(radix, xr, xi, yr, yi, m, wide, step, w, sign):
    if radix == 2:
        pass2(xr, xi, yr, yi, m, wide, step, w, sign)
    elif radix == 3:
        pass3(xr, xi, yr, yi, m, wide, step, w, sign)
    elif radix == 4:
        pass4(xr, xi, yr, yi, m, wide, step, w, sign)
    else:
        pass5(xr, xi, yr, yi, m, wide, step, w, sign)


@pytest.mark.parametrize("radix", [2, 3, 4, 5])
@pytest.mark.parametrize("wide", [1, 3, 4, 7, 8, 16])
def test_a_pass_by_its_definition(radix, wide) -> None:
    """Rows p, p + m, … are combined, and multiplied by twiddle factors."""
    for m, sign in ((1, -1.0), (1, 1.0), (3, -1.0), (4, 1.0)):
        n = radix * m
        x = RNG.normal(size=(n, wide)) + 1j * RNG.normal(size=(n, wide))
        xr, xi = x.real.ravel().copy(), x.imag.ravel().copy()
        around = np.full((2, n * wide + 16), 7.0)
        yr, yi = (row[8 : 8 + n * wide] for row in around)
        w = _roots(n, sign)
        passed(radix, xr, xi, yr, yi, m, wide, 1, w, sign)
        roots = np.exp(sign * 2j * np.pi * np.outer(np.arange(radix), np.arange(radix)) / radix)
        expected = np.empty((m, radix, wide), complex)
        for p in range(m):
            expected[p] = roots @ x[p::m] * w[np.arange(radix) * p][:, None]
        np.testing.assert_allclose(yr + 1j * yi, expected.ravel(), atol=1e-13)
        assert (around[:, :8] == 7.0).all() and (around[:, -8:] == 7.0).all()
