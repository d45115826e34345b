"""Compiled draws equal NumPy's, and leave the generator in the same state."""

from __future__ import annotations

import numpy as np
import pytest

import s2s

pytest.importorskip("numba")


def walk(x, rng):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * rng.normal(0.5, 2.0) + np.sum(x * rng.uniform(size=3))
    inner = np.random.default_rng(rng.integers(10))
    total += inner.gamma(1.5, 2.0) * x[inner.choice(3)]
    return total + inner.random() * x[0] + np.random.normal() * x[1]


def test_a_compiled_gradient_advances_the_generator() -> None:
    x = np.array([0.3, 0.7, 1.1])
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    np.random.seed(1)
    expected = walk(x, theirs)
    np.random.seed(1)
    value, gradient = s2s.value_and_grad(walk)(x, ours)
    assert np.isclose(value, expected, rtol=1e-13)
    assert np.isclose(gradient @ x, expected, rtol=1e-13)
    assert ours.bit_generator.state == theirs.bit_generator.state


def noisy(x, rng):
    return np.sum(x * rng.normal(size=2))


def test_a_generator_passes_through_njit() -> None:
    import numba

    gradient = s2s.grad(noisy)

    @numba.njit
    def inside(x, rng):
        return gradient(x, rng)

    expected = np.random.default_rng(1).normal(size=2)
    np.testing.assert_array_equal(inside(np.ones(2), np.random.default_rng(1)), expected)
