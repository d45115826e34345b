"""The derivative of a power is computed from the power itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s

X = np.array([0.3, 0.7, 1.2])


def pull(x: Any, y: Any) -> Any:
    return np.sum(y * (x * x + 0.1) ** -1.5)


def pulls(x: Any, y: Any, n: Any) -> Any:
    total = 0.0
    for _ in range(n):
        strength = (x * x + 0.1) ** -2.7
        x = x + 0.1 * y * strength
        total += np.sum(x * strength)
    return total


def test_at_the_top() -> None:
    f = s2s.grad(pull, wrt=("x", "y"), backend="loops")
    f(X, X)
    sweep = f.source.split("adjoint sweep ----")[1]
    assert "** -2.5" not in sweep and "np.abs(" in sweep
    s2s.check_grads(pull, X, 2.0 * X)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_in_a_loop(n: int) -> None:
    f = s2s.grad(pulls, wrt=("x", "y"), backend="loops")
    f(X, X, n)
    assert "-3.7" not in f.source.split("adjoint sweep ----")[1]
    s2s.check_grads(pulls, X, 2.0 * X, n, wrt=("x", "y"))


def test_of_numbers_in_a_loop() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            s = x[i] ** -0.5
            total += s * x[i] * np.sin(s)
        return total

    s2s.check_grads(f, X)


def test_a_power_that_is_not_needed_is_not_kept() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            total += (x[i] * x[i]) ** -1.5
        return total

    g = s2s.grad(f, backend="loops")
    g(X)
    assert "** -2.5" in g.source
    s2s.check_grads(f, X)


@pytest.mark.parametrize("n", [-3, 0.5, 1.5, 2.5])
def test_other_exponents_are_left_alone(n: float) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(y * x**n)

    g = s2s.grad(f, wrt=("x", "y"), backend="loops")
    g(X, X)
    assert "abs" not in g.source


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("backend", ["loops", "python", "numba"])
def test_special_values(dtype: Any, backend: str) -> None:
    """Special values are those of the power."""

    def f(x: Any, y: Any) -> Any:
        return np.sum(y * x**-1.5)

    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    x = np.array([0.0, -0.0, np.inf, np.nan, -1.0, tiny, huge, 1e-30, 1e30, 0.7], dtype)
    got, _ = s2s.grad(f, wrt=("x", "y"), backend=backend)(x, np.ones_like(x))
    with np.errstate(all="ignore"):
        want = dtype(-1.5) * x ** dtype(-2.5)
    np.testing.assert_allclose(got, want, rtol=4 * float(np.finfo(dtype).eps), atol=0)
    zero, _ = s2s.grad(f, wrt=("x", "y"), backend=backend)(x, np.zeros_like(x))
    assert not zero.any()


def test_second_derivatives() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(s2s.grad(pull, wrt="x")(x, y) ** 2)

    s2s.check_grads(f, X, 2.0 * X)
