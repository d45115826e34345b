"""Differences, integrals, interpolation and convolution: spacings, axes, ends, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.transforms.rules.numeric import same_as_numpy

RNG = np.random.default_rng(3)
Y, M = RNG.normal(size=6), RNG.normal(size=(3, 5))
X = np.cumsum(RNG.uniform(0.5, 1.5, 6))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_integrals(axis: int) -> None:
    same_as_numpy("numpy.trapezoid", M, axis=axis)
    same_as_numpy("numpy.trapezoid", M, dx=0.5, axis=axis)
    same_as_numpy("numpy.trapezoid", M, X[: M.shape[axis]], axis=axis)
    same_as_numpy("scipy.integrate.cumulative_trapezoid", M, axis=axis)
    same_as_numpy("scipy.integrate.cumulative_trapezoid", M, axis=axis, initial=0)


def test_integrals_of_few_points() -> None:
    for n in (1, 2):
        same_as_numpy("numpy.trapezoid", Y[:n], X[:n])


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradients(edge_order: int) -> None:
    for spacing in ((), (0.5,), (X,)):
        same_as_numpy("numpy.gradient", Y, *spacing, edge_order=edge_order)
    same_as_numpy("numpy.gradient", M, edge_order=edge_order)
    same_as_numpy("numpy.gradient", M, 2.0, axis=1, edge_order=edge_order)
    same_as_numpy("numpy.gradient", M, 2.0, X[:5], edge_order=edge_order)


@pytest.mark.parametrize("n", [1, 2])
def test_gradients_of_too_few_points(n: int) -> None:
    for order in (1, 2):
        same_as_numpy("numpy.gradient", Y[:n], edge_order=order)


def test_differences_with_ends() -> None:
    same_as_numpy("numpy.ediff1d", M)
    same_as_numpy("numpy.ediff1d", Y, np.array([7.0, 8.0]), -1.0)
    same_as_numpy("numpy.ediff1d", Y[:1])


@pytest.mark.parametrize("options", [{}, {"discont": 4.0}, {"period": 2.0}, {"axis": 0}])
def test_unwrapping(options: Any) -> None:
    phases = RNG.uniform(-9, 9, (4, 5))
    same_as_numpy("numpy.unwrap", phases, **options)
    same_as_numpy("numpy.unwrap", np.array([0.0, np.pi, -np.pi, 3 * np.pi]))


@pytest.mark.parametrize("options", [{}, {"left": -9.0}, {"right": 9.0}, {"period": 3.0}], ids=str)
def test_interpolation(options: Any) -> None:
    at = np.concatenate([X, X + 0.1, [X[0] - 1, X[-1] + 1, np.nan]])
    same_as_numpy("numpy.interp", at, X, Y, **options)
    same_as_numpy("numpy.interp", X[2], X, Y, **options)


def test_interpolation_of_one_point() -> None:
    same_as_numpy("numpy.interp", X, X[:1], Y[:1])
    assert isinstance(same_as_numpy("numpy.interp", X, X[:0], Y[:0]), ValueError)


def interpolated(x):
    return np.interp(x, X, Y)


def test_at_a_knot_the_slope_is_that_to_its_right() -> None:
    f = s2s.grad(interpolated, backend="loops")
    for k in range(1, 5):
        want = (Y[k + 1] - Y[k]) / (X[k + 1] - X[k])
        assert f(X[k]) == pytest.approx(want, rel=1e-12)
    assert f(X[0] - 1.0) == 0.0 == f(X[-1] + 1.0)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("n", [1, 3, 6])
def test_convolutions(mode: str, n: int) -> None:
    for name in ("convolve", "correlate"):
        same_as_numpy(f"numpy.{name}", Y, X[:n], mode)
        same_as_numpy(f"numpy.{name}", X[:n], Y, mode)
    assert isinstance(same_as_numpy("numpy.convolve", Y, Y[:0], mode), ValueError)
