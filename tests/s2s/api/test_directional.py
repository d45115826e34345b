"""Derivatives of every mode and order, requested outside and inside of compiled functions."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import s2s

BACKENDS = ("loops", "python")
X = np.array([0.3, -0.7, 1.1])
Y = np.array([1.2, 0.4, -0.5])
V = np.array([1.0, -0.5, 0.3])


def loopy(x: Any, y: Any) -> Any:
    z = x * x * y
    s = 0.0
    for i in range(3):
        s = s + np.sum(np.sin(z) * x) * s
        s += z[i]
        if s > 0.5:
            s = s * y[0]
    return s


def vector(x: Any, y: Any) -> Any:
    return np.tanh(x[:, None] * y) @ x


def quartic(x: float) -> float:
    return x**4 * np.sin(x)


def directional(f: Any, x: Any, v: Any, eps: float = 1e-6) -> Any:
    return (f(x + eps * v) - f(x - eps * v)) / (2 * eps)


# ---------------------------------------------------------------- in a direction


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [loopy, vector])
def test_jvp(f: Any, backend: str) -> None:
    value, tangent = s2s.jvp(f, backend=backend)(X, V, Y)
    np.testing.assert_allclose(value, f(X, Y))
    np.testing.assert_allclose(tangent, directional(lambda x: f(x, Y), X, V), rtol=1e-6)


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_adjoints_of_several_arguments_share_no_memory(backend: str) -> None:
    """They may be written to, one by one."""

    def summed(x, y):
        return x + y

    seed = np.ones(3)
    _, adjoint = s2s.vjp(summed, wrt=("x", "y"), backend=backend)(np.ones(3), seed, np.ones(3))
    _, pullback = s2s.vjp(summed, np.ones(3), np.ones(3), backend=backend)
    for first, second in (adjoint, pullback(seed)):
        first *= 2.0
        np.testing.assert_array_equal(second, np.ones(3))
    np.testing.assert_array_equal(seed, np.ones(3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_vjp_is_the_transpose_of_jvp(backend: str) -> None:
    seed = np.array([0.2, -1.0, 0.6])
    value, adjoint = s2s.vjp(vector, backend=backend)(X, seed, Y)
    tangent = s2s.jvp(vector, backend=backend)(X, V, Y)[1]
    np.testing.assert_allclose(value, vector(X, Y))
    np.testing.assert_allclose(adjoint @ V, seed @ tangent)


@pytest.mark.parametrize("backend", BACKENDS)
def test_hvp(backend: str) -> None:
    got = s2s.hvp(loopy, backend=backend)(X, V, Y)
    gradient = s2s.grad(loopy, backend=backend)
    np.testing.assert_allclose(got, directional(lambda x: gradient(x, Y), X, V), rtol=1e-6)


def test_hvp_by_several_arguments() -> None:
    got = s2s.hvp(loopy, wrt=("x", "y"), backend="loops")(X, (V, -V), Y)
    gradient = s2s.grad(loopy, wrt=("x", "y"), backend="loops")

    def both(t: Any) -> Any:
        return np.concatenate(gradient(X + t * V, Y - t * V))

    np.testing.assert_allclose(np.concatenate(got), directional(both, 0.0, 1.0), rtol=1e-6)


def test_the_forms_with_arguments_at_once() -> None:
    value, tangent = s2s.jvp(vector, (X, Y), (V, -V), backend="loops")
    want = directional(lambda t: vector(X + t * V, Y - t * V), 0.0, 1.0)
    np.testing.assert_allclose(tangent, want, rtol=1e-6)
    again, pullback = s2s.vjp(vector, X, Y, backend="loops")
    np.testing.assert_allclose(again, value)
    x_bar, y_bar = pullback(np.ones(3))
    np.testing.assert_allclose(x_bar @ V - y_bar @ V, tangent.sum())


def test_pullback_keeps_what_was_passed() -> None:
    x = X.copy()
    _, pullback = s2s.vjp(vector, x, Y, backend="loops")
    before = pullback(np.ones(3))
    x[:] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(3))[0], before[0])


def test_results_and_arguments_in_containers() -> None:
    class Pair(NamedTuple):
        a: Any
        b: Any

    def f(p: dict[str, Any], k: float) -> Any:
        return Pair(p["u"] * k, (p["w"] ** 2).sum()), 3

    p = {"u": X, "w": Y}
    v = {"u": V, "w": 2 * V}
    (value, three), (dot, nothing) = s2s.jvp(f, backend="loops")(p, v, 2.0)
    assert (type(dot), three, nothing) == (Pair, 3, None)
    np.testing.assert_allclose(dot.a, 2.0 * V)
    np.testing.assert_allclose(dot.b, 4 * Y @ V)
    _, bar = s2s.vjp(f, backend="loops")(p, (Pair(np.ones(3), 0.5), 0), 2.0)
    np.testing.assert_allclose(bar["u"], 2.0)
    np.testing.assert_allclose(bar["w"], Y)


def test_float32_stays() -> None:
    x, v = X.astype(np.float32), V.astype(np.float32)
    y = Y.astype(np.float32)
    value, tangent = s2s.jvp(vector, backend="loops")(x, v, y)
    assert value.dtype == tangent.dtype == np.float32
    assert s2s.hvp(loopy, backend="loops")(x, v, y).dtype == np.float32
    # A direction takes the dtype of its argument.
    assert s2s.jvp(vector, backend="loops")(x, V, y)[1].dtype == np.float32


def test_direction_of_the_wrong_shape() -> None:
    with pytest.raises(ValueError, match="the direction has the wrong shape"):
        s2s.jvp(vector, backend="loops")(X, np.ones(2), Y)
    with pytest.raises(ValueError, match="2 dimensions, where 1 are needed"):
        s2s.jvp(vector, backend="loops")(X, np.ones((2, 2)), Y)
    with pytest.raises(TypeError, match="structure"):
        s2s.jvp(vector, backend="loops")(X, (V, V), Y)


def test_sizes_do_not_recompile() -> None:
    product = s2s.hvp(lambda x: np.sum(np.sin(x) * x), backend="loops")
    for n in (3, 1, 0, 5):
        product(np.ones(n), np.ones(n))
    assert len(product._specialiser("primal").entries) == 1


# ---------------------------------------------------------------- higher order


def test_third_derivative() -> None:
    third = s2s.grad(s2s.grad(s2s.grad(quartic)), backend="loops")
    x = 0.7
    want = 24 * x * np.sin(x) + 36 * x**2 * np.cos(x) - 12 * x**3 * np.sin(x) - x**4 * np.cos(x)
    np.testing.assert_allclose(third(x), want, rtol=1e-13)


def test_orders_of_both_modes_agree() -> None:
    ways = [
        s2s.grad(lambda x: s2s.jvp(quartic)(x, 1.0)[1], backend="loops"),
        lambda x: s2s.jvp(s2s.grad(quartic), backend="loops")(x, 1.0)[1],
        lambda x: s2s.jvp(lambda t: s2s.jvp(quartic)(t, 1.0)[1], backend="loops")(x, 1.0)[1],
        lambda x: s2s.hvp(quartic, backend="loops")(x, 1.0),
        s2s.grad(s2s.grad(quartic), backend="loops"),
    ]
    values = [way(0.7) for way in ways]
    np.testing.assert_allclose(values, values[0], rtol=1e-13)


def test_value_and_grad_of_grad() -> None:
    value, slope = s2s.value_and_grad(s2s.grad(quartic), backend="loops")(0.7)
    np.testing.assert_allclose(value, s2s.grad(quartic, backend="loops")(0.7))
    np.testing.assert_allclose(slope, s2s.hvp(quartic, backend="loops")(0.7, 1.0))


def test_gradient_of_a_vector_gradient_is_refused() -> None:
    with pytest.raises(TypeError, match="array of 1 dimension"):
        s2s.grad(s2s.grad(loopy), backend="loops")(X, Y)


# ---------------------------------------------------------------- inside functions


def inner_loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(w * x) ** 2)


inner_gradient = s2s.grad(inner_loss)


def adapted(w: Any, x: Any) -> Any:
    """An inner step of gradient descent, as in MAML."""
    for _ in range(2):
        w = w - 0.1 * inner_gradient(w, x)
    return inner_loss(w, x)


def adapted_by_hand(w: Any, x: Any) -> Any:
    for _ in range(2):
        t = np.tanh(w * x)
        w = w - 0.1 * 2 * t * (1 - t**2) * x
    return inner_loss(w, x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient_through_a_gradient_step_in_a_loop(backend: str) -> None:
    got = s2s.grad(adapted, backend=backend)(X, Y)
    want = [directional(lambda w: adapted_by_hand(w, Y), X, e) for e in np.eye(3)]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_gradient_penalty() -> None:
    """The norm of a gradient with respect to the input, differentiated with respect to the
    weights."""

    def critic(x: Any, w: Any) -> Any:
        return np.sum(np.sin(x * w) * w)

    def penalty(w: Any, x: Any) -> Any:
        g = s2s.grad(critic)(x, w)
        return (np.sqrt(np.sum(g * g)) - 1.0) ** 2

    def by_hand(w: Any, x: Any) -> Any:
        g = np.cos(x * w) * w * w
        return (np.sqrt(np.sum(g * g)) - 1.0) ** 2

    got = s2s.grad(penalty, backend="loops")(X, Y)
    want = [directional(lambda w: by_hand(w, Y), X, e) for e in np.eye(3)]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_residual_of_a_differential_equation() -> None:
    """Second derivatives with respect to the input, per point; then the gradient with respect to
    the parameters."""

    def u(t: float, p: Any) -> float:
        return p[0] * np.sin(p[1] * t) + p[2] * t

    def residual(p: Any, ts: Any) -> Any:
        total = 0.0
        for t in ts:
            second = s2s.grad(s2s.grad(u))(t, p)
            total += (second + u(t, p)) ** 2
        return total

    def by_hand(p: Any, ts: Any) -> Any:
        second = -p[0] * p[1] ** 2 * np.sin(p[1] * ts)
        return np.sum((second + u(ts, p)) ** 2)

    got = s2s.grad(residual, backend="loops")(X, Y)
    want = [directional(lambda p: by_hand(p, Y), X, e) for e in np.eye(3)]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_only_the_argument_counts() -> None:
    """Values that the function reads from outside are constants to the inner derivative."""

    def f(x: Any) -> Any:
        return s2s.grad(lambda w: np.sum(w * x))(x).sum()

    np.testing.assert_allclose(s2s.grad(f, backend="loops")(X), 1.0)
    assert s2s.function(f, backend="loops")(X) == X.sum()


def test_tangents_inside_a_while_loop() -> None:
    def newton(a: float) -> float:
        def f(x: float) -> float:
            return x * x * x - a

        x = 1.0
        step = 1.0
        while abs(step) > 1e-12:
            value, slope = s2s.jvp(f)(x, 1.0)
            step = value / slope
            x = x - step
        return x

    np.testing.assert_allclose(s2s.grad(newton, backend="loops")(2.0), 2.0 ** (-2 / 3) / 3)


def test_pullback_inside() -> None:
    def f(x: Any, y: Any) -> Any:
        value, pullback = s2s.vjp(vector, x, y)
        x_bar, y_bar = pullback(value)
        return np.sum(x_bar * y_bar)

    def by_hand(x: Any, y: Any) -> Any:
        _, pullback = s2s.vjp(vector, x, y, backend="loops")
        x_bar, y_bar = pullback(vector(x, y))
        return np.sum(x_bar * y_bar)

    np.testing.assert_allclose(s2s.function(f, backend="loops")(X, Y), by_hand(X, Y))
    got = s2s.grad(f, backend="loops")(X, Y)
    want = [directional(lambda x: by_hand(x, Y), X, e) for e in np.eye(3)]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_inner_aux_and_several_arguments() -> None:
    def f(a: float, b: float) -> Any:
        return a * a * b, a + b

    def g(a: float, b: float) -> Any:
        ((value, aux), (da, db)) = s2s.value_and_grad(f, wrt=("a", "b"), has_aux=True)(a, b)
        return value + 2.0 * aux + 3.0 * da + 5.0 * db

    a, b = 1.5, -0.5
    want = a * a * b + 2 * (a + b) + 6 * a * b + 5 * a * a
    np.testing.assert_allclose(s2s.function(g, backend="loops")(a, b), want)
    got = s2s.grad(g, wrt=("a", "b"), backend="loops")(a, b)
    np.testing.assert_allclose(got, (2 * a * b + 2 + 6 * b + 10 * a, a * a + 2 + 6 * a))


def power(x: float, n: int) -> float:
    return x * power(x, n - 1) if n > 0 else 1.0


def test_derivatives_of_a_recursive_function() -> None:
    value, tangent = s2s.jvp(power, backend="loops")(1.3, 1.0, 5)
    np.testing.assert_allclose((value, tangent), (1.3**5, 5 * 1.3**4))
    np.testing.assert_allclose(s2s.hvp(power, backend="loops")(1.3, 1.0, 5), 20 * 1.3**3)
    second = s2s.grad(s2s.grad(power), backend="loops")
    np.testing.assert_allclose(second(1.3, 5), 20 * 1.3**3)


def test_writing_into_what_is_differentiated_by_is_refused() -> None:
    def scale(x: Any) -> Any:
        x *= 2.0
        return x.sum()

    def f(x: Any) -> Any:
        return s2s.grad(scale)(x).sum()

    with pytest.raises(s2s.UnsupportedError, match="writes into x") as error:
        s2s.function(f, backend="loops")(X.copy())
    assert "x.copy()" in error.value.advice


def test_integers_are_refused() -> None:
    def f(n: int) -> Any:
        return s2s.grad(lambda k: k * 2.0)(n)

    with pytest.raises(TypeError, match="no derivative with respect to it"):
        s2s.function(f, backend="loops")(3)


# ---------------------------------------------------------------- stop_gradient


def test_stop_gradient() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * s2s.stop_gradient(np.sin(x)))

    np.testing.assert_allclose(s2s.grad(f, backend="loops")(X), np.sin(X))
    np.testing.assert_allclose(s2s.grad(f, backend="python")(X), np.sin(X))
    np.testing.assert_allclose(s2s.hvp(f, backend="loops")(X, V), 0.0)
    assert "stop_gradient" in s2s.grad(f).source_for(X)


# ---------------------------------------------------------------- good objects


class Model:
    scale = 2.0

    def energy(self, x: Any, k: float) -> Any:
        return self.scale * k * np.sum(x**3)

    @s2s.hvp
    def curvature(self, x: Any, k: float) -> Any:
        return self.scale * k * np.sum(x**3)


def test_methods() -> None:
    model = Model()
    want = 6 * model.scale * 1.5 * X * V
    np.testing.assert_allclose(s2s.hvp(model.energy, backend="loops")(X, V, 1.5), want)
    np.testing.assert_allclose(model.curvature(X, V, 1.5), want)
    slope = s2s.jvp(model.energy, wrt="k", backend="loops")(X, 1.0, 1.5)[1]
    np.testing.assert_allclose(slope, model.scale * np.sum(X**3))


product = s2s.hvp(loopy)


def test_pickle_and_repr() -> None:
    again = pickle.loads(pickle.dumps(product))
    assert again.python is loopy
    assert repr(product) == "<s2s.hvp of loopy(x: 'Any', v, y: 'Any') -> 'Any'>"


def test_source_reads_well() -> None:
    text = s2s.jvp(vector).source_for(X, V, Y)
    assert "hvp" not in text and "jvp of vector(x, v, y)" in text


def test_compiled_by_numba_and_inside_njit() -> None:
    numba = pytest.importorskip("numba")
    curvature = s2s.hvp(quartic)
    np.testing.assert_allclose(curvature(0.7, 1.0), s2s.hvp(quartic, backend="loops")(0.7, 1.0))

    @numba.njit
    def total(xs: Any) -> Any:
        out = 0.0
        for x in xs:
            out += curvature(x, 1.0)
        return out

    want = sum(s2s.hvp(quartic, backend="loops")(x, 1.0) for x in X)
    np.testing.assert_allclose(total(X), want)
    np.testing.assert_allclose(
        s2s.grad(adapted)(X, Y), s2s.grad(adapted, backend="loops")(X, Y), rtol=1e-12
    )


def test_scipy_takes_it() -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def rosen(x: Any, a: float) -> Any:
        return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = optimize.minimize(
        s2s.value_and_grad(rosen, backend="loops"), np.array([-1.0, 1.2, 0.8]), args=(100.0,),
        jac=True, hessp=s2s.hvp(rosen, backend="loops"), method="Newton-CG",
    )  # fmt: skip
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
