"""Complex numbers: the convention, every operation in reverse, forward and second order."""

# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.transforms.rules.numeric import call

Z = np.array([0.3 + 0.2j, -0.7 + 0.4j, 0.1 - 1.1j])


def ascent(f: Any, z: Any, h: float = 1e-6) -> Any:
    """dL/dx + i dL/dy by finite differences."""
    z = np.asarray(z)
    out = np.zeros(z.shape, np.complex128)
    for i in np.ndindex(z.shape):
        for unit in (1.0, 1j):
            step = np.zeros(z.shape, np.complex128)
            step[i] = h * unit
            ends = [f(z + s * step if z.ndim else complex(z + s * step)) for s in (1.0, -1.0)]
            out[i] += unit * (ends[0] - ends[1]) / (2 * h)
    return out


PROGRAMS = {
    "arithmetic": lambda z: np.sum(((z * z - 1j) / (z + 2.0) - 3.0 * z).imag),
    "powers": lambda z: np.sum((z**3 + z**-2 + z**0.5 + 2.0**z + z**z).real),
    "exponentials": lambda z: np.sum((np.exp(z) * np.expm1(z) + np.exp2(z)).imag),
    "logarithms": lambda z: np.sum((np.log(z) + np.log2(z) * np.log10(z) + np.log1p(z)).real),
    "circular": lambda z: np.sum((np.sin(z) * np.cos(z) + np.tan(z)).imag),
    "hyperbolic": lambda z: np.sum((np.sinh(z) * np.cosh(z) + np.tanh(z)).imag),
    "inverse circular": lambda z: np.sum((np.arcsin(z) + np.arccos(z) * np.arctan(z)).imag),
    "inverse hyperbolic": lambda z: np.sum((np.arcsinh(z) * np.arctanh(z)).real),
    "parts": lambda z: np.sum(z.real**2 * z.imag) + np.sum(np.conj(z).imag * np.real(z)),
    "absolute value": lambda z: np.sum(np.abs(z) ** 3) + np.sum(np.square(z).real),
    "angle": lambda z: np.sum(np.angle(z) * np.abs(np.reciprocal(z))),
    "sums": lambda z: abs(np.sum(z)) + np.abs(np.mean(z * z)) + np.sum(np.cumsum(z).imag ** 2),
    "products": lambda z: (z @ z).real + np.vdot(z, z * z).imag + np.sum(np.outer(z, z).imag),
    "indices": lambda z: (z[0] * z[::-1][0]).imag + np.sum(z[np.array([0, 0, 2])] ** 2).real,
    "choice": lambda z: np.sum(np.where(z.real > 0.0, z, z * 1j).imag * np.abs(z)),
    "transform": lambda z: np.sum(np.abs(np.fft.fft(z)) ** 3) + np.sum(np.fft.ifft(z).imag ** 3),
    "half a transform": lambda z: np.sum(np.fft.irfft(z) ** 3) + np.sum(np.fft.irfft(z, 5) ** 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_is_the_direction_of_steepest_ascent(name: str) -> None:
    f = PROGRAMS[name]
    for backend in ("loops", "python"):
        value, gradient = s2s.value_and_grad(f, backend=backend)(Z)
        assert np.isclose(value, f(Z))
        np.testing.assert_allclose(gradient, ascent(f, Z), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_mode_and_second_order(name: str) -> None:
    """The change of the loss is the real part of conj(gradient) times the change of the
    argument."""
    f = PROGRAMS[name]
    v = np.array([1.0 - 0.5j, 0.3 + 0.2j, -0.6 + 1.0j])
    gradient = s2s.grad(f, backend="loops")
    _, tangent = s2s.jvp(f, backend="loops")(Z, v)
    assert np.isclose(tangent, np.sum(np.conj(gradient(Z)) * v).real)
    product = s2s.hvp(f, backend="loops")(Z, v)
    h = 1e-6
    expected = (gradient(Z + h * v) - gradient(Z - h * v)) / (2 * h)
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-6)


def test_jax_gives_the_conjugate() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    for name, f in PROGRAMS.items():
        if name in ("indices", "powers"):  # written differently there
            continue
        scope = {**f.__globals__, "np": jnp}
        theirs = jax.grad(type(f)(f.__code__, scope))(jnp.asarray(Z))
        ours = s2s.grad(f, backend="loops")(Z)
        np.testing.assert_allclose(ours, np.conj(theirs), rtol=1e-10, atol=1e-12, err_msg=name)


def descent(z):
    return np.sum(np.abs(z - (1.0 + 2.0j)) ** 2)


def test_a_step_against_the_gradient_descends() -> None:
    z = Z - 0.5 * s2s.grad(descent, backend="loops")(Z)
    np.testing.assert_allclose(z, 1.0 + 2.0j)


def number(z, c):
    return abs(z * z + c) ** 2 + (z * 1j).real


def test_complex_scalars() -> None:
    z, c = 0.5 - 0.3j, 1.0 + 0.2j
    for backend in ("loops", "python"):
        dz, dc = s2s.grad(number, wrt=(0, 1), backend=backend)(z, c)
        np.testing.assert_allclose(dz, ascent(lambda t: number(t, c), z), rtol=1e-6)
        np.testing.assert_allclose(dc, ascent(lambda t: number(z, t), c), rtol=1e-6)


def single(z, x):
    return np.sum(np.abs(np.fft.fft(z * x)) ** 2)


def test_single_precision_stays_single() -> None:
    z, x = Z.astype(np.complex64), np.ones(3, np.float32)
    dz, dx = s2s.grad(single, wrt=(0, 1), backend="loops")(z, x)
    assert dz.dtype == np.complex64 and dx.dtype == np.float32
    np.testing.assert_allclose(dz, 6.0 * Z, rtol=1e-5)


def at_zero(z):
    return np.sum(np.abs(z))


def test_absolute_value_at_zero_has_derivative_zero() -> None:
    assert np.array_equal(s2s.grad(at_zero, backend="loops")(np.zeros(2) * 1j), np.zeros(2))


def helper(z, n):
    if n > abs(z):
        return z * z
    return helper(z * 0.5, n) * 1j


def recursive(z):
    return helper(z, 0.3).real


def test_recursion_keeps_the_convention() -> None:
    z = 0.9 + 0.4j
    gradient = s2s.grad(recursive, backend="loops")(z)
    np.testing.assert_allclose(gradient, ascent(recursive, z), rtol=1e-6)


@pytest.mark.parametrize("name", ["exp", "add", "multiply", "power"])
def test_a_dtype_that_would_discard_the_imaginary_part_raises(name):
    z = np.array([1.0 + 2.0j])
    args = (z,) * getattr(np, name).nin
    with pytest.raises(TypeError, match="Cannot cast"):
        getattr(np, name)(*args, dtype=np.float64)
    with pytest.raises(TypeError, match="Cannot cast"):
        call(f"numpy.{name}", *args, dtype=np.float64)
