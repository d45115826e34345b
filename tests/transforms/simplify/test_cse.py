"""Common subexpressions of two derivatives of one function are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s

X = np.array([0.3, -0.7, 1.2])


def u(x: Any, y: Any) -> Any:
    return np.sum(np.tanh(x * y + x))


def squares(x: Any, y: Any) -> Any:
    return np.sum(np.tanh(x * y) ** 2)


by_x = s2s.grad(squares)


def by_both(x: Any, y: Any) -> Any:
    return s2s.grad(u, wrt="x")(x, y), s2s.grad(u, wrt="y")(x, y)


def slopes(x: Any, y: Any) -> Any:
    p, q = by_both(x, y)
    return np.sum((p - q) ** 2)


def tanhs(f: Any) -> int:
    code = [line for line in f.lowered.splitlines() if not line.lstrip().startswith("#")]
    return "".join(code).count("np.tanh(")


def test_the_function_itself_is_computed_once() -> None:
    f = s2s.function(by_both, backend="loops")
    p, q = f(X, 2.0 * X)
    assert tanhs(f) == 1
    slope = 1.0 - np.tanh(2.0 * X * X + X) ** 2
    np.testing.assert_allclose(p, slope * (2.0 * X + 1.0))
    np.testing.assert_allclose(q, slope * X)


def test_so_is_its_part_of_a_sweep() -> None:
    f = s2s.grad(slopes, wrt=("x", "y"), backend="loops")
    f(X, 2.0 * X)
    assert tanhs(f) == 1
    s2s.check_grads(slopes, X, 2.0 * X)


def test_other_arguments_are_other_computations() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(s2s.grad(u, wrt="x")(x, y) * s2s.grad(u, wrt="x")(y, x))

    g = s2s.grad(f, wrt=("x", "y"), backend="loops")
    g(X, 2.0 * X)
    assert tanhs(g) == 2
    s2s.check_grads(f, X, 2.0 * X)


def test_an_array_that_was_written_is_another() -> None:
    def f(x: Any) -> Any:
        a = x.copy()
        p = s2s.grad(u, wrt="x")(a, x)
        a[0] = 2.0 * x[1]
        return np.sum(p * s2s.grad(u, wrt="x")(a, x))

    g = s2s.grad(f, backend="loops")
    g(X)
    assert tanhs(g) == 2
    s2s.check_grads(f, X)


@pytest.mark.parametrize("backend", ["python", "loops", "numba"])
def test_one_of_two_that_are_alike_is_written_to(backend: str) -> None:
    def whole(x: Any) -> Any:
        y = 2.0 * x
        p = by_x(x, y)
        q = by_x(x, y)
        q *= 2.0
        return np.sum(p * q)

    def part(x: Any) -> Any:
        y = 2.0 * x
        p = by_x(x, y)
        q = by_x(x, y)
        if x[0] > 0.0:
            q[0] = x[1]
        for k in range(2):
            q[k] += p[k]
        return np.sum(p * q * x)

    for f in (whole, part):
        value, slope = s2s.value_and_grad(f, backend=backend)(X)
        assert value == pytest.approx(f(X))
        for k in range(len(X)):
            step = np.eye(len(X))[k] * 1e-6
            assert slope[k] == pytest.approx((f(X + step) - f(X - step)) / 2e-6, rel=1e-6)


def test_draws_are_made_as_often_as_the_program_says() -> None:
    def noisy(x: Any, rng: Any) -> Any:
        return np.sum(x * rng.normal(size=3))

    def f(x: Any, rng: Any) -> Any:
        return s2s.grad(noisy)(x, rng), s2s.grad(noisy)(x, rng)

    p, q = s2s.function(f, backend="loops")(X, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(p, rng.normal(size=3))
    np.testing.assert_array_equal(q, rng.normal(size=3))


def test_results_are_arrays_of_their_own() -> None:
    def f(x: Any) -> Any:
        return s2s.grad(u, wrt="x")(x, x), s2s.grad(u, wrt="x")(x, x)

    for backend in ("loops", "python"):
        p, q = s2s.function(f, backend=backend)(X)
        p[0] = 7.0
        assert q[0] != 7.0


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_in_loops_and_branches(n: int) -> None:
    def f(x: Any, n: Any) -> Any:
        total = 0.0
        for k in range(n):
            p = s2s.grad(u, wrt="x")(x, x * k)
            if k > 0:
                p = p * s2s.grad(u, wrt="y")(x, x * k)
            total += np.sum(p)
        return total + np.sum(x)

    s2s.check_grads(f, X, n, wrt="x")


def test_checkpointed_iterations_begin_with_what_they_are_given() -> None:
    def f(x: Any) -> Any:
        a, p = x, s2s.grad(u, wrt="x")(x, x)
        for _ in s2s.checkpoint(range(5), snapshots=2):
            a = a + 0.1 * s2s.grad(u, wrt="x")(x, x) * np.tanh(a)
        return np.sum(a * p)

    s2s.check_grads(f, X)


def test_programs_without_derivatives_are_left_alone() -> None:
    def helper(x: Any) -> Any:
        return np.tanh(x) * 2.0

    def f(x: Any) -> Any:
        return np.sum(helper(x) + helper(x))

    first = dict(s2s.function(f, backend="loops").passes(X))["specialise"]
    assert first.count("tanh(") == 2
