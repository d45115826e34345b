"""Gradients and Jacobians requested in branches and loops, against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s

START = np.array([0.7, -0.4, 1.1])
LOOPS = [(0, 0.3), (1, -1.0), (3, 0.3)]


def slope(f: Callable[[Any], Any], at: Any, eps: float = 1e-6) -> Any:
    """The derivatives of `f`, of any shape, along a new last axis."""
    steps = eps * np.eye(at.size)
    return np.stack([(f(at + e) - f(at - e)) / (2 * eps) for e in steps], axis=-1)


def number(v: Any, n: int, c: float) -> Any:
    h, k = v * 1.0, 0
    while k < n:
        h = np.tanh(h * v) + 0.1 * k
        if h[0] > c:
            h = h * 1.5
            for j in range(2):
                h = h + v * j
        k += 1
    return np.sum(h * h)


def vector(v: Any, n: int) -> Any:
    h = v * 1.0
    for _ in range(n):
        h = np.tanh(h * v[0]) + v * h[1]
        if h[2] > 0.2:
            h = h * 0.9
    return h


@pytest.mark.parametrize(("n", "c"), LOOPS)
def test_first_derivatives(n: int, c: float) -> None:
    w = s2s.Variable(START)

    def f(n: int, c: float, times: int) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            y = number(w, n, c)
        once, often = np.zeros(3), np.zeros(3)
        if times > 0:
            once = tape.gradient(y, w)
        for _ in range(times):
            often = often + tape.gradient(y, w)
        return once, often, tape.gradient(y, w), tape.gradient(y, w)

    want = slope(lambda v: number(v, n, c), START)
    compiled = s2s.function(f, backend="loops")
    for times in (0, 2):
        once, often, third, fourth = compiled(n, c, times)
        np.testing.assert_allclose(once, want * (times > 0), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(often, want * times, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(third, want, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(fourth, want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("n", "c"), LOOPS)
def test_derivatives_of_them(n: int, c: float) -> None:
    w = s2s.Variable(START)

    def f(n: int, c: float, times: int) -> Any:
        with s2s.GradientTape() as outer:
            with s2s.GradientTape() as inner:
                y = number(w, n, c)
            z = 0.0
            for i in range(times):
                z = z + np.sum(inner.gradient(y, w) ** 2) * (i + 1.0)
            if times > 1:
                z = z + np.sum(inner.gradient(y, w) ** 3)
        return outer.gradient(z, w)

    gradient = s2s.grad(number, backend="loops")
    g = gradient(START, n, c)
    second = slope(lambda v: gradient(v, n, c), START)
    compiled = s2s.function(f, backend="loops")
    for times, factor in ((0, 0 * g), (1, 2 * g), (2, 6 * g + 3 * g**2)):
        np.testing.assert_allclose(compiled(n, c, times), factor @ second, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_jacobians(n: int) -> None:
    w = s2s.Variable(START)

    def f(n: int, times: int) -> Any:
        with s2s.GradientTape(persistent=True) as outer:
            with s2s.GradientTape(persistent=True) as tape:
                h = vector(w, n)
            first = tape.jacobian(h, w)
            z = np.sum(first * first)
        often = np.zeros((3, 3))
        for _ in range(times):
            often = often + tape.jacobian(h, w)
        return first, often, outer.gradient(z, w), outer.jacobian(first, w)

    jacobian = s2s.jacobian(vector, backend="loops")
    want = slope(lambda v: vector(v, n), START)
    second = slope(lambda v: jacobian(v, n), START)
    first, often, of_squares, third = s2s.function(f, backend="loops")(n, 2)
    np.testing.assert_allclose(first, want, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(often, 2 * want, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(third, second, rtol=1e-5, atol=1e-7)
    squares = 2 * np.einsum("ij,ijk->k", want, second)
    np.testing.assert_allclose(of_squares, squares, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("compiled", [True, False])
def test_variables_assigned_anywhere(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of a Variable sums over all reads, across assignments."""
    monkeypatch.setenv("S2S_BACKEND", "loops")
    w = s2s.Variable(START)

    def f(n: int, c: float) -> Any:
        with s2s.GradientTape() as tape:
            z = 0.0
            for k in range(n):
                z = z + np.sum(np.sin(w) * w)
                if z > c:
                    w.assign(w * 0.5 + k)
                else:
                    w.assign_sub(0.1 * w)
                for _ in range(k):
                    w.assign_add(0.01 * np.ones(3) * z)
                    z = z + np.sum(w**2)
        return tape.gradient(z, w, unconnected_gradients="zero"), z

    run = s2s.function(f) if compiled else f
    for n, c in ((0, 0.5), (2, 0.5), (4, 5.0)):
        v, total, want = START, 0.0, np.zeros(3)
        for k in range(n):
            total, want = total + np.sum(np.sin(v) * v), want + np.cos(v) * v + np.sin(v)
            v = v * 0.5 + k if total > c else v - 0.1 * v
            for _ in range(k):
                v = v + 0.01 * np.ones(3) * total
                total, want = total + np.sum(v**2), want + 2 * v
        w.assign(START)
        got, z = run(n, c)
        np.testing.assert_allclose(z, total)
        np.testing.assert_allclose(got, want)
        np.testing.assert_allclose(w.numpy(), v)


def test_what_was_drawn_is_not_drawn_again() -> None:
    w = s2s.Variable(START)

    def f(rng: Any, flag: bool) -> Any:
        with s2s.GradientTape() as tape:
            noise = rng.normal(size=3)
            y = np.sum(w * w * noise)
        g = np.zeros(3)
        if flag:
            g = tape.gradient(y, w)
        return g, noise, rng.normal()

    g, noise, after = s2s.function(f, backend="loops")(np.random.default_rng(0), True)
    np.testing.assert_allclose(g, 2 * START * noise)
    np.testing.assert_array_equal([*noise, after], np.random.default_rng(0).normal(size=4))

    def g_in_a_loop(rng: Any, flag: bool) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(w)
            for _ in range(3):
                y = y * rng.normal()
        g = np.zeros(3)
        if flag:
            g = tape.gradient(y, w)
        return g

    with pytest.raises(s2s.UnsupportedError, match="random"):
        s2s.function(g_in_a_loop, backend="loops")(np.random.default_rng(0), True)
