"""Jacobians, Hessians and vmap: many directions or elements in one compiled call."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import s2s
from s2s.errors import S2STypeError, S2SValueError, UnsupportedError

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

BACKENDS = ("loops", "python")
MODES = ("forward", "reverse", None)
X = np.array([0.3, -0.7, 1.1])
Y = np.array([1.2, 0.4, -0.5, 0.9])
W = np.array([[0.3, -0.8, 1.4], [0.9, 0.1, -0.4]])


def close(got: Any, want: Any) -> None:
    """Assert equal structure, shapes and values."""
    if isinstance(want, dict):
        assert set(got) == set(want)
        for k in want:
            close(got[k], want[k])
    elif isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want):
            close(g, w)
    else:
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- Jacobians


def outer(x, y, np=np):
    return np.tanh(x[:, None] * y) @ y * np.sum(x)


def matrix(x, y, np=np):
    return np.outer(x, np.sin(y)) * x[0]


def of_matrix(w, x, np=np):
    return np.exp(w @ x) / (1.0 + np.sum(w**2))


def number(x, y, np=np):
    return np.sum(np.sin(x)) * np.prod(y)


def of_number(t, y, np=np):
    return np.cos(t * y)


CASES = [
    (outer, (X, Y)),
    (matrix, (X, Y)),
    (of_matrix, (W, X)),
    (number, (X, Y)),
    (of_number, (0.7, Y)),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f, args", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_jacobian(f: Any, args: Any, mode: str | None, backend: str) -> None:
    got = s2s.jacobian(lambda a, b: f(a, b), mode=mode, backend=backend)(*args)
    close(got, jax.jacobian(lambda a, b: f(a, b, jnp))(*args))


@pytest.mark.parametrize("mode", MODES)
def test_blocks_of_containers(mode: str | None) -> None:
    def f(p, t, np=np):
        return {"a": p["w"] @ p["b"] * t, "b": (np.sum(p["b"] ** 2), t * p["w"])}

    args = ({"w": W, "b": X}, 1.3)
    want = jax.jacobian(lambda p, t: f(p, t, jnp), argnums=(0, 1))(*args)
    got = s2s.jacobian(lambda p, t: f(p, t), wrt=(0, 1), mode=mode, backend="loops")(*args)
    close(got, want)
    want = jax.jacobian(lambda p, t: f(p, t, jnp))(*args)
    close(s2s.jacobian(lambda p, t: f(p, t), mode=mode, backend="loops")(*args), want)


def iterated(x, n):
    """Branches, a loop with writes, a while loop: control flow depends on the primal only."""
    y = np.zeros(3)
    s = 1.0
    for i in range(n):
        if x[i % 3] > 0.0:
            y[i % 3] += np.sin(x[i % 3]) * s
        else:
            y[(i + 1) % 3] = y[i % 3] * x[i % 3]
        s = s * 0.5 + y[0]
    while s > 0.1:
        s = s * x[0]
        y = y + s * x
    return y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_control_flow(n: int, mode: str | None, backend: str) -> None:
    got = s2s.jacobian(iterated, mode=mode, backend=backend)(X, n)
    step = 1e-6
    columns = [
        (iterated(X + step * e, n) - iterated(X - step * e, n)) / (2 * step) for e in np.eye(3)
    ]
    np.testing.assert_allclose(got, np.stack(columns, 1), rtol=1e-6, atol=1e-8)


def test_the_mode_with_fewer_directions_is_chosen() -> None:
    def long(x):
        return np.outer(x, x).ravel()

    def short(x):
        return x[:2] * x[0]

    forward, reverse = (s2s.jacobian(f, backend="python") for f in (long, short))
    assert "adjoint sweep" not in forward.source_for(X)
    assert "adjoint sweep" in reverse.source_for(X)


def test_float32_stays_float32() -> None:
    x = X.astype(np.float32)
    for mode in MODES:
        got = s2s.jacobian(lambda x: np.sin(x) * 2.0, mode=mode, backend="loops")(x)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, np.diag(2.0 * np.cos(x)), rtol=1e-6)


def test_no_dimensions() -> None:
    for mode in MODES:
        f = s2s.jacobian(lambda x: np.array(x * x), mode=mode, backend="loops")
        np.testing.assert_allclose(f(np.array(3.0)), 6.0)
        g = s2s.jacobian(lambda x: X * x, mode=mode, backend="loops")
        np.testing.assert_allclose(g(np.array(3.0)), X)


def test_no_entries() -> None:
    for mode in MODES:
        f = s2s.jacobian(lambda x: np.sin(x), mode=mode, backend="loops")
        assert f(np.zeros(0)).shape == (0, 0)


# ---------------------------------------------------------------- Hessians


def rosenbrock(x, a, np=np):
    return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_hessian(backend: str) -> None:
    want = jax.hessian(lambda x, a: rosenbrock(x, a, jnp), argnums=(0, 1))(Y, 100.0)
    h = s2s.hessian(rosenbrock, backend=backend)
    close(h(Y, 100.0), want[0][0])
    close(s2s.hessian(rosenbrock, wrt=(0, 1), backend=backend)(Y, 100.0), want)
    product = s2s.hvp(rosenbrock, backend=backend)(Y, X[0] * Y, 100.0)
    np.testing.assert_allclose(h(Y, 100.0) @ (X[0] * Y), product)


def test_hessian_of_products_of_matrices() -> None:
    """Only one factor of the product has the axis of directions."""

    def f(a, b, np=np):
        return np.sum((a @ b) ** 2) + np.sum(np.dot(a, b)) + np.sum(np.matmul(a, b) * 3.0)

    args = (W, W.T[:, :1] * 0.5)
    got = s2s.hessian(lambda a, b: f(a, b), wrt=(0, 1), backend="loops")(*args)
    close(got, jax.hessian(lambda a, b: f(a, b, jnp), argnums=(0, 1))(*args))


def test_hessian_of_a_loop_is_symmetric() -> None:
    def f(x, n):
        return np.sum(iterated(x, n) ** 2)

    h = s2s.hessian(f, backend="loops")(X, 5)
    np.testing.assert_allclose(h, h.T, rtol=1e-9)
    g = s2s.grad(f, backend="loops")
    step = 1e-6
    columns = [(g(X + step * e, 5) - g(X - step * e, 5)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(h, np.stack(columns, 1), rtol=1e-5)


# ---------------------------------------------------------------- vmap


def branchy(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            s += math.sin(x[i]) * y[i]
        else:
            s -= x[i] ** 3
    while s > 1.0:
        s *= 0.5
    return s


XS = np.stack([X, X + 1.0, -X, 2.0 * X])
YS = np.stack([X[::-1], X, X * X, X + 0.5])


@pytest.mark.parametrize("backend", BACKENDS)
def test_vmap(backend: str) -> None:
    def one(f: Any, *args: Any) -> Any:
        return np.stack([f(*a) for a in zip(*args)])

    f = s2s.vmap(branchy, backend=backend)
    np.testing.assert_allclose(f(XS, YS), one(branchy, XS, YS))
    f = s2s.vmap(branchy, in_axes=(0, None), backend=backend)
    np.testing.assert_allclose(f(XS, X), [branchy(x, X) for x in XS])
    f = s2s.vmap(branchy, in_axes=(1, 0), backend=backend)
    np.testing.assert_allclose(f(XS.T.copy(), YS), one(branchy, XS, YS))
    f = s2s.vmap(branchy, in_axes={"y": -1}, backend=backend)
    np.testing.assert_allclose(f(X, YS.T), [branchy(X, y) for y in YS])
    g = s2s.vmap(s2s.grad(branchy, backend=backend), backend=backend)
    np.testing.assert_allclose(g(XS, YS), one(s2s.grad(branchy, backend=backend), XS, YS))


def test_vmap_of_containers_and_out_axes() -> None:
    def f(p, t):
        return {"u": p["w"] @ p["b"], "v": (p["b"] * t, t)}

    p = {"w": np.stack([W, 2 * W, W + 1], 1), "b": X}
    axes = {"in_axes": ({"w": 1, "b": None}, 0), "out_axes": {"u": 1, "v": (0, 0)}}
    t = np.array([0.5, 1.5, 2.5])
    want = jax.vmap(f, **axes)(p, t)
    close(s2s.vmap(f, backend="loops", **axes)(p, t), want)


def test_numbers_are_common_to_all_elements() -> None:
    f = s2s.vmap(lambda x, n=2: x * n, backend="loops")
    np.testing.assert_array_equal(f(X), X * 2)
    np.testing.assert_array_equal(f(X, 3), X * 3)


def test_what_does_not_depend_on_elements_is_repeated() -> None:
    f = s2s.vmap(lambda x, y: (x, y * 2.0), in_axes=(0, None), backend="loops")
    np.testing.assert_array_equal(f(XS, Y)[1], np.stack([Y * 2.0] * 4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_elements_draw_one_after_another(backend: str) -> None:
    def f(x, rng):
        a = rng.normal()
        for _ in range(2):
            a += x * rng.uniform(-1.0, 1.0)
        return a * x + rng.normal()

    rng, other = np.random.default_rng(7), np.random.default_rng(7)
    got = s2s.vmap(f, in_axes=(0, None), backend=backend)(X, rng)
    np.testing.assert_allclose(got, [f(x, other) for x in X])
    assert rng.normal() == other.normal()
    # the noise of one draw, differentiated
    noisy = s2s.jacobian(lambda x, rng: x * rng.normal(size=3), backend=backend)(X, rng)
    np.testing.assert_allclose(noisy, np.diag(other.normal(size=3)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_of_vmap(backend: str) -> None:
    def loss(w, xs):
        return np.sum(s2s.vmap(lambda x: np.tanh(w @ x), in_axes=0)(xs) ** 2)

    def jax_loss(w, xs):
        return jnp.sum(jax.vmap(lambda x: jnp.tanh(w @ x))(xs) ** 2)

    close(s2s.grad(loss, backend=backend)(W, XS), jax.grad(jax_loss)(W, XS))
    close(s2s.hessian(loss, backend=backend)(W, XS), jax.hessian(jax_loss)(W, XS))


@s2s.custom_gradient
def clipped(x, scale):
    """A custom derivative: twice the true one."""

    def grad(out_bar):
        return out_bar * 2.0 * np.cos(x) * scale, np.sum(out_bar * np.sin(x))

    return np.sin(x) * scale, grad


@pytest.mark.parametrize("backend", BACKENDS)
def test_given_derivatives(backend: str) -> None:
    def loss(xs, scale):
        return np.sum(s2s.vmap(clipped, in_axes=(0, None))(xs, scale) ** 2)

    got = s2s.grad(loss, wrt=(0, 1), backend=backend)(XS, 0.7)
    out = np.sin(XS) * 0.7
    np.testing.assert_allclose(got[0], 4.0 * out * np.cos(XS) * 0.7)
    np.testing.assert_allclose(got[1], np.sum(2.0 * out * np.sin(XS)))
    got = s2s.vmap(s2s.grad(lambda x: np.sum(clipped(x, 0.7))), backend=backend)(XS)
    np.testing.assert_allclose(got, 1.4 * np.cos(XS))


def test_vmap_of_vmap_and_jacobian_of_each_element() -> None:
    f = s2s.vmap(s2s.vmap(lambda x, y: x * y + x, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_allclose(s2s.function(f, backend="loops")(X, Y), X[:, None] * (Y + 1.0))
    g = s2s.vmap(s2s.jacobian(lambda x: np.outer(x, x)), backend="loops")
    close(g(XS), jax.vmap(jax.jacobian(lambda x: jnp.outer(x, x)))(XS))


def test_inside_a_compiled_function() -> None:
    """Newton's method, with the Jacobian taken in the loop."""

    def residual(x):
        return np.array([x[0] ** 2 + x[1] - 3.0, x[0] - x[1] ** 2 + 1.0])

    @s2s.function(backend="loops")
    def solve(x):
        for _ in range(6):
            x = x - np.linalg.solve(s2s.jacobian(residual)(x), residual(x))
        return x

    x = solve(np.array([1.5, 1.5]))
    np.testing.assert_allclose(residual(x), 0.0, atol=1e-12)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Model:
    w: Any

    @s2s.vmap(backend="loops")
    def of_method(self, x):
        return self.w @ x


def test_methods_and_named_tuples() -> None:
    np.testing.assert_allclose(Model(W).of_method(XS), XS @ W.T)
    f = s2s.jacobian(lambda p: p.x * p.y, backend="loops")
    got = f(Point(X, 2.0))
    assert isinstance(got, Point)
    close(tuple(got), (2.0 * np.eye(3), X))


def test_it_pickles() -> None:
    f = pickle.loads(pickle.dumps(s2s.vmap(branchy, in_axes=(0, None), backend="loops")))
    np.testing.assert_allclose(f(XS, X), [branchy(x, X) for x in XS])


def test_numba_and_calls_from_njit() -> None:
    numba = pytest.importorskip("numba")
    jacobian, many = s2s.jacobian(iterated), s2s.vmap(branchy, in_axes=(0, None))

    @numba.njit
    def both(x, xs):
        return jacobian(x, 4), many(xs, x)

    got = both(X, XS)
    np.testing.assert_allclose(got[0], s2s.jacobian(iterated, backend="loops")(X, 4))
    np.testing.assert_allclose(got[1], [branchy(x, X) for x in XS])


# ---------------------------------------------------------------- refusals


def writer(x, y):
    y[0] = x
    return y[0] * 2.0


class Counter:
    last = 0.0


counter = Counter()


def setter(x):
    counter.last = x
    return x


REFUSALS = [
    (
        lambda: s2s.vmap(setter, backend="loops")(X),
        UnsupportedError,
        "writes into Counter for every element",
    ),
    (
        lambda: s2s.jacobian(lambda x: (x > 0.0, x), backend="loops")(X),
        S2STypeError,
        "needs floats",
    ),
    (lambda: s2s.jacobian(outer, mode="sideways"), S2SValueError, "there is no mode"),
    (
        lambda: s2s.jacobian(lambda x: np.fft.fft(x), backend="loops")(X),
        UnsupportedError,
        "complex",
    ),
    (lambda: s2s.vmap(branchy, backend="loops")(XS, YS[:2]), ValueError, "different sizes"),
    (
        lambda: s2s.vmap(branchy, in_axes=(0,), backend="loops")(XS, YS),
        UnsupportedError,
        "in_axes has 1 entries for 2 arguments",
    ),
    (
        lambda: s2s.vmap(branchy, in_axes=(2, 0), backend="loops")(XS, YS),
        S2SValueError,
        "axis 2 of x",
    ),
    (lambda: s2s.vmap(branchy, in_axes=None, backend="loops")(X, X), S2SValueError, "no array"),
    (
        lambda: s2s.vmap(writer, in_axes=(0, None), backend="loops")(X, Y.copy()),
        UnsupportedError,
        "writes into y for every element",
    ),
    (
        lambda: s2s.vmap(lambda x: x, out_axes=2, backend="loops")(X),
        S2SValueError,
        "out_axes has 2",
    ),
]


@pytest.mark.parametrize("call, error, message", REFUSALS)
def test_refusals(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
