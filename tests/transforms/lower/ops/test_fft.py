"""Transforms along any axis: views with three axes, and the runtime's results against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.lower.harness import check, lowered, run

X = np.random.default_rng(0).normal(size=(2, 3, 4))
TOL = 1e-12


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_complex(axis, norm):
    z = X + 1j * X[::-1]
    for inverse in (False, True):

        def f(b, x):
            return b.emit("fft", x, axis=axis, norm=norm, inverse=inverse)

        reference = np.fft.ifft if inverse else np.fft.fft
        for x in (z, z[..., ::2], X):
            got = run(f, x)
            np.testing.assert_allclose(got, reference(x, axis=axis, norm=norm), atol=TOL)
            assert got.dtype == np.complex128


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("norm", ["backward", "ortho"])
def test_real_and_back(n, norm):
    x = np.random.default_rng(n).normal(size=(2, n))

    def there(b, x):
        return b.emit("rfft", x, axis=1, norm=norm)

    spectrum = np.fft.rfft(x, axis=1, norm=norm)
    check(there, lambda x: spectrum, x, tol=TOL)
    np.testing.assert_allclose(run(there, x), spectrum, atol=TOL)

    def back(b, z, n):
        return b.emit("irfft", z, n, axis=1, norm=norm)

    np.testing.assert_allclose(run(back, spectrum, n), x, atol=TOL)


@pytest.mark.parametrize("n", [1, 3, 4, 6])
@pytest.mark.parametrize("axis", [0, 1])
def test_resize(n, axis):
    """Truncation, or zeros appended."""
    x = np.arange(12.0).reshape(3, 4)
    widths = [(0, 0), (0, 0)]
    widths[axis] = (0, n)
    want = np.take(np.pad(x, widths), range(n), axis)
    check(lambda b, x, n: b.emit("resize", x, n, axis=axis), lambda x, n: want, x, n)


@pytest.mark.parametrize(
    ("axis", "view"),
    [(0, "(1, 2, 12)"), (1, "(2, 3, 4)"), (2, "(6, 4, 1)")],
)
def test_the_other_axes_are_collapsed(axis, view):
    text = lowered(
        lambda b, x: b.emit("fft", x * 1.0, axis=axis, norm="backward", inverse=False), X
    ).text
    space = {"a": X}
    shapes = [
        eval(line.split(".reshape(", 1)[1][:-1], space)
        for line in text.splitlines()
        if ".reshape(" in line
    ]
    assert [str(shape) for shape in shapes] == [view, view]


def test_a_contiguous_argument_is_not_copied():
    z = X + 0j

    def f(b, x):
        return b.emit("fft", x, axis=1, norm="backward", inverse=False)

    assert lowered(f, z).text.count("np.empty") == 1
    assert lowered(f, z[..., ::2]).text.count("np.empty") == 2
    assert lowered(f, X).text.count("np.empty") == 2  # converted to complex numbers
