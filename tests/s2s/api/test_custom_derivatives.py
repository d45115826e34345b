"""User-defined derivatives, in every mode and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s

X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, -0.5, 0.3])
BACKENDS = ("loops", "python")


@s2s.custom_gradient
def softplus(x: Any) -> Any:
    e = np.exp(x)

    def grad(out_bar: Any) -> Any:
        return out_bar * (1.0 - 1.0 / (1.0 + e))

    return np.log(1.0 + e), grad


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_custom_gradient_in_every_mode(backend: str) -> None:
    def f(x: Any) -> Any:
        return np.sum(softplus(2.0 * x) ** 2)

    p, s = np.log1p(np.exp(2 * X)), sigmoid(2 * X)
    slope = 2 * s * (1 - s)
    np.testing.assert_allclose(s2s.function(f, backend=backend)(X), np.sum(p**2))
    np.testing.assert_allclose(s2s.grad(f, backend=backend)(X), 4 * p * s)
    np.testing.assert_allclose(s2s.jvp(f, backend=backend)(X, V)[1], 4 * p * s @ V)
    want = (8 * s * s + 4 * p * slope) * V
    np.testing.assert_allclose(s2s.hvp(f, backend=backend)(X, V), want)


def test_in_plain_python_it_is_the_value() -> None:
    np.testing.assert_allclose(softplus(X), np.log1p(np.exp(X)))


def test_gradient_of_the_function_itself() -> None:
    np.testing.assert_allclose(s2s.grad(softplus, backend="loops")(0.3), sigmoid(0.3))
    second = s2s.grad(s2s.grad(softplus), backend="loops")
    np.testing.assert_allclose(second(0.3), sigmoid(0.3) * (1 - sigmoid(0.3)))


def test_what_is_given_counts_and_not_what_is_right() -> None:
    @s2s.custom_gradient
    def halved(x: Any) -> Any:
        def grad(out_bar: Any) -> Any:
            return out_bar * 0.5

        return x * 3.0, grad

    assert s2s.grad(lambda x: halved(x) * x, backend="loops")(2.0) == 6.0 + 1.0


@s2s.custom_gradient
def polar(x: Any, y: Any, mode: str, scale: float) -> Any:
    """Two results, a static argument, and no adjoint for one of the arguments."""
    r = np.sqrt(x * x + y * y) * scale if mode == "scaled" else np.sqrt(x * x + y * y)
    t = np.arctan2(y, x)

    def grad(bars: Any) -> Any:
        r_bar, t_bar = bars
        q = x * x + y * y
        x_bar = r_bar * scale * x / np.sqrt(q) - t_bar * y / q
        y_bar = r_bar * scale * y / np.sqrt(q) + t_bar * x / q
        return x_bar, y_bar, None, None

    return (r, t), grad


def test_several_arguments_and_results() -> None:
    def f(x: Any, y: Any) -> Any:
        total = 0.0
        for i in range(3):
            r, t = polar(x[i], y[i], "scaled", 2.0)
            total += r * t
        return total

    def plain(x: Any, y: Any) -> Any:
        return np.sum(2 * np.hypot(x, y) * np.arctan2(y, x))

    x, y = np.abs(X) + 0.5, V
    got = s2s.grad(f, wrt=("x", "y"), backend="loops")(x, y)
    np.testing.assert_allclose(s2s.function(f, backend="loops")(x, y), plain(x, y))
    want = s2s.grad(plain, wrt=("x", "y"), backend="loops")(x, y)
    np.testing.assert_allclose(got, want)
    both = s2s.jvp(f, wrt=("x", "y"), backend="loops")(x, (V, X), y)[1]
    np.testing.assert_allclose(both, want[0] @ V + want[1] @ X)


def test_too_few_adjoints() -> None:
    @s2s.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x * y, lambda out_bar: out_bar * y

    with pytest.raises(TypeError, match="returns 1 adjoints, and the function has 2"):
        s2s.grad(lambda x: f(x, x), backend="loops")(2.0)


def test_adjoint_of_the_wrong_shape() -> None:
    @s2s.custom_gradient
    def f(x: Any) -> Any:
        return x.sum(), lambda out_bar: out_bar

    with pytest.raises(ValueError, match="the adjoint has 0 dimensions, where 1 are needed"):
        s2s.grad(lambda x: f(x), backend="loops")(X)


# ---------------------------------------------------------------- checkpoint


def block(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = np.tanh(w * x + 0.1)
    return x


@pytest.mark.parametrize("backend", BACKENDS)
def test_checkpoint_changes_nothing_but_what_is_saved(backend: str) -> None:
    def plain(x: Any, w: Any) -> Any:
        for _ in range(4):
            x = block(x, w)
        return np.sum(x * x)

    def thrifty(x: Any, w: Any) -> Any:
        for _ in range(4):
            x = s2s.checkpoint(block)(x, w)
        return np.sum(x * x)

    one = s2s.grad(plain, wrt=("x", "w"), backend=backend)
    two = s2s.grad(thrifty, wrt=("x", "w"), backend=backend)
    np.testing.assert_allclose(two(X, V), one(X, V))
    np.testing.assert_allclose(
        s2s.hvp(thrifty, backend=backend)(X, V, V), s2s.hvp(plain, backend=backend)(X, V, V)
    )
    # Only the state at the start of each block is saved: one array instead of three per step.
    assert two.source.count("np.empty((4,") < one.source.count("np.empty((4,") or (
        "np.empty((4, 3" in one.source
    )


def test_checkpoint_sees_closures() -> None:
    def f(w: Any) -> Any:
        @s2s.checkpoint
        def inner(x: Any) -> Any:
            return np.sin(x * w)

        return np.sum(inner(inner(w)))

    def plain(w: Any) -> Any:
        return np.sum(np.sin(np.sin(w * w) * w))

    got = s2s.grad(f, backend="loops")(X)
    np.testing.assert_allclose(got, s2s.grad(plain, backend="loops")(X))


# ---------------------------------------------------------------- adjoint


def test_adjoint_block_clips() -> None:
    def f(x: Any) -> Any:
        h = x * 3.0
        with s2s.adjoint(h) as h_bar:
            h_bar = np.clip(h_bar, -1.0, 1.0)
        return np.sum(h * h)

    np.testing.assert_allclose(s2s.grad(f, backend="loops")(X), 3 * np.clip(6 * X, -1, 1))
    np.testing.assert_allclose(s2s.grad(f, backend="python")(X), 3 * np.clip(6 * X, -1, 1))
    assert f(X) == s2s.function(f, backend="loops")(X) == np.sum(9 * X * X)


def test_adjoint_block_in_a_loop_prints_and_writes_in_place(capsys: Any) -> None:
    def f(x: Any) -> Any:
        h = x
        for i in range(3):
            h = h * 2.0
            with s2s.adjoint(h) as g:
                print("step", i, g[0])
                g[0] = 0.0
        return np.sum(h)

    got = s2s.grad(f, backend="loops")(X)
    np.testing.assert_allclose(got, [0.0, 8.0, 8.0])
    assert capsys.readouterr().out == "step 2 1.0\nstep 1 0.0\nstep 0 0.0\n"


def test_assertions_about_adjoints() -> None:
    def f(x: float) -> float:
        h = np.sqrt(x)
        with s2s.adjoint(h) as h_bar:
            assert h_bar < 10.0, "the adjoint exploded"
        return 20.0 * h

    with pytest.raises(AssertionError, match="the adjoint exploded"):
        s2s.grad(f, backend="loops")(2.0)
    assert s2s.function(f, backend="loops")(4.0) == 40.0


# ---------------------------------------------------------------- implicit


@s2s.implicit(residual=lambda x, a: x * x * x - a)
def cube_root(a: float) -> float:
    x = 1.0
    while abs(x * x * x - a) > 1e-12:
        x = x - (x * x * x - a) / (3.0 * x * x)
    return x


def test_implicit_root_in_every_mode() -> None:
    first, second = 2 ** (-2 / 3) / 3, -2 * 2 ** (-5 / 3) / 9
    assert cube_root(8.0) == pytest.approx(2.0)
    np.testing.assert_allclose(s2s.grad(cube_root, backend="loops")(2.0), first)
    np.testing.assert_allclose(s2s.jvp(cube_root, backend="loops")(2.0, 1.0)[1], first)
    np.testing.assert_allclose(s2s.grad(s2s.grad(cube_root), backend="loops")(2.0), second)
    text = s2s.grad(cube_root).source_for(2.0)
    assert text.count("while") == 1 and "append" not in text


def equilibrium(x: Any, a: Any, b: Any, n: int) -> Any:
    return np.tanh(b - 0.1 * a @ x)


def iterated(a: Any, b: Any, n: int) -> Any:
    x = np.zeros_like(b)
    for _ in range(n):
        x = np.tanh(b - 0.1 * a @ x)
    return x


@pytest.mark.parametrize("backend", BACKENDS)
def test_implicit_fixed_point_of_an_array(backend: str) -> None:
    solve = s2s.implicit(iterated, fixed_point=equilibrium)
    a, b = np.outer(X, X) + 2 * np.eye(3), V

    def f(a: Any, b: Any) -> Any:
        return np.sum(solve(a, b, 40) ** 2)

    def plain(a: Any, b: Any) -> Any:
        return np.sum(iterated(a, b, 40) ** 2)

    got = s2s.grad(f, wrt=("a", "b"), backend=backend)(a, b)
    want = s2s.grad(plain, wrt=("a", "b"), backend=backend)(a, b)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


def test_implicit_needs_one_equation() -> None:
    with pytest.raises(TypeError, match="one of residual= and fixed_point="):
        s2s.implicit(iterated)


# ---------------------------------------------------------------- defrule


def test_defrule_for_a_function_of_another_library() -> None:
    special = pytest.importorskip("scipy.special")

    def f(x: float) -> float:
        return special.expi(x) * 2.0

    with pytest.raises(s2s.UnsupportedError, match=r"expi has no rule"):
        s2s.grad(f, backend="loops")(1.3)

    @s2s.defrule(special.expi)
    @s2s.custom_gradient
    def expi(x: float) -> Any:
        total = 0.5772156649015329 + np.log(np.abs(x))
        term = 1.0
        for k in range(1, 40):
            term = term * x / k
            total = total + term / k
        return total, lambda out_bar: out_bar * np.exp(x) / x

    value, slope = s2s.value_and_grad(f, backend="loops")(1.3)
    np.testing.assert_allclose(value, 2 * special.expi(1.3))
    np.testing.assert_allclose(slope, 2 * np.exp(1.3) / 1.3)
    second = s2s.grad(s2s.grad(f), backend="loops")(1.3)
    np.testing.assert_allclose(second, 2 * np.exp(1.3) * (1 / 1.3 - 1 / 1.3**2))


# ---------------------------------------------------------------- complex numbers


def test_complex_adjoints_follow_the_convention() -> None:
    """The argument and the result of a pullback are directions of steepest ascent."""

    def squared(z: Any) -> Any:
        return z * z * 0.3 + 1j * z

    @s2s.custom_gradient
    def by_hand(z: Any) -> Any:
        return squared(z), lambda z_bar: z_bar * np.conj(0.6 * z + 1j)

    def total(x: Any, f: Any) -> Any:
        z = f(f(x + 0.1j))
        return np.sum(z.real) + np.sum(np.abs(z))

    for transform, args in ((s2s.grad, ()), (s2s.jvp, (V,)), (s2s.hvp, (V,))):
        made = transform(total, backend="loops")
        for f in (by_hand, s2s.checkpoint(squared)):
            np.testing.assert_allclose(made(X, *args, f), made(X, *args, squared))


def test_implicit_from_zeros_of_a_fixed_size() -> None:
    @s2s.implicit(fixed_point=lambda x, b: np.tanh(0.5 * x) + b)
    def settle(b: Any) -> Any:
        x = np.zeros(2)
        for _ in range(60):
            x = np.tanh(0.5 * x) + b
        return x

    b = np.array([0.3, -0.2])
    x = settle(b)
    slope = 1.0 / (1.0 - 0.5 * (1.0 - np.tanh(0.5 * x) ** 2))
    got = s2s.grad(lambda b: np.sum(settle(b)), backend="loops")(b)
    np.testing.assert_allclose(got, slope, rtol=1e-6)


def test_product_of_an_array_whose_size_depends_on_a_branch() -> None:
    def f(b: Any, v: Any) -> Any:
        x = np.zeros(2)
        if b[0] > 0:
            x = b * 1.0
        return s2s.vjp(lambda y: np.sin(y))(x, v)[1]

    b = np.array([0.3, -0.2])
    np.testing.assert_allclose(s2s.function(f, backend="loops")(b, b), np.cos(b) * b)
    np.testing.assert_allclose(s2s.function(f, backend="loops")(-b, b), b)


def test_a_pullback_may_call_a_recursion() -> None:
    def steps(x, n):
        return x if n <= 0 else steps(np.sin(x), n - 1)

    def f(x, n):
        @s2s.custom_gradient
        def square(x):
            def grad(g):
                return g * steps(x, n)

            return x * x, grad

        return square(x)

    got = s2s.grad(f, backend="loops")(0.5, 3)
    assert got == pytest.approx(np.sin(np.sin(np.sin(0.5))))
