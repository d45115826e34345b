"""Gradients called in users' `@njit` code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import s2s

numba = pytest.importorskip("numba")

scale = 2.0
offsets = np.array([1.0, 2.0, 3.0])


class Params(NamedTuple):
    W: np.ndarray
    b: float


@s2s.grad
def loss(x, c=1.0):
    return (x * x).sum() * c * scale


@s2s.value_and_grad(wrt=("x", "y"))
def product(x, y):
    return (x * offsets).sum() * y


@s2s.grad
def affine(p, x):
    return (p.W * x).sum() + p.b


@s2s.function
def twice(x):
    return x * 2.0


def test_scalars_arrays_and_defaults():
    @numba.njit
    def user(x):
        return loss(x), loss(x, 3.0), loss(x, c=2.0), twice(1.5)

    a, b, c, d = user(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(a, [4.0, 8.0])
    np.testing.assert_array_equal(b, [12.0, 24.0])
    np.testing.assert_array_equal(c, [8.0, 16.0])
    assert d == 3.0


def test_values_and_tuples_of_gradients():
    @numba.njit
    def user(x, y):
        value, (x_bar, y_bar) = product(x, y)
        return value, x_bar, y_bar

    value, x_bar, y_bar = user(np.ones(3), 2.0)
    assert (value, y_bar) == (12.0, 6.0)
    np.testing.assert_array_equal(x_bar, [2.0, 4.0, 6.0])


def test_namedtuples():
    @numba.njit
    def user(p, x):
        g = affine(p, x)
        return g.W, g.b

    W_bar, b_bar = user(Params(np.ones(2), 1.0), np.array([3.0, 4.0]))
    np.testing.assert_array_equal(W_bar, [3.0, 4.0])
    assert b_bar == 1.0


def test_in_prange():
    @numba.njit(parallel=True)
    def user(xs):
        out = np.empty_like(xs)
        for i in numba.prange(xs.shape[0]):
            out[i] = loss(xs[i])
        return out

    xs = np.arange(40.0).reshape(10, 4)
    np.testing.assert_allclose(user(xs), 4 * xs)


def test_in_a_loop():
    @numba.njit
    def descend(x, steps):
        for _ in range(steps):
            x = x - 0.1 * loss(x)
        return x

    np.testing.assert_allclose(descend(np.ones(3), 50), np.zeros(3), atol=1e-10)


def test_a_refusal_names_what_is_wrong():
    @s2s.grad
    def bad(x):
        return open(x)

    @numba.njit
    def user(x):
        return bad(x)

    with pytest.raises(Exception, match="open"):
        user(1.0)


def test_integers_are_refused():
    @numba.njit
    def user(n):
        return loss(n)

    with pytest.raises(Exception, match="x is int"):
        user(3)
