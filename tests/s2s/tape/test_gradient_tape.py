"""Tapes in compiled functions: regions of source, differentiated where a gradient is requested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s

BACKENDS = ("loops", "python")
X = np.array([[0.5, -1.0], [2.0, 0.3], [-0.4, 1.5]])
Y = np.array([1.0, -2.0, 0.5])


def run(f: Any, *args: Any, backend: str = "loops") -> Any:
    return s2s.function(f, backend=backend)(*args)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_training_step(backend: str) -> None:
    w, b = s2s.Variable(np.array([0.1, 0.2]), name="w"), s2s.Variable(np.array(0.3), name="b")

    def step(x: Any, y: Any, rate: float) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((x @ w + b - y) ** 2)
        gw, gb = tape.gradient(loss, [w, b])
        w.assign_sub(rate * gw)
        b.assign_sub(rate * gb)
        return loss

    v, c = w.numpy(), float(b)
    compiled = s2s.function(step, backend=backend)
    for rate in (0.1, 0.2, 0.05):
        r = X @ v + c - Y
        np.testing.assert_allclose(compiled(X, Y, rate), np.mean(r**2))
        v, c = v - rate * 2 * X.T @ r / 3, c - rate * 2 * r.mean()
        np.testing.assert_allclose(w.numpy(), v)
        np.testing.assert_allclose(b.numpy(), c)
    assert len(compiled._specialiser("primal").entries) == 1
    assert "w -= " in compiled.source or "w[...] = " in compiled.source


def test_structure_of_sources_and_list_of_targets() -> None:
    def f(x: float, y: float) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch((x, y))
            z = x * x + x * y - 3.0 * y
            q = x * y
        one = tape.gradient(z, {"x": x, "y": y})
        both = tape.gradient([z, q], (x, y))
        return one, both

    one, both = run(f, 3.0, 2.0)
    assert one == {"x": 8.0, "y": 0.0}
    assert both == (10.0, 3.0)


def test_only_trainable_variables_and_what_is_watched() -> None:
    w = s2s.Variable(2.0)
    fixed = s2s.Variable(3.0, trainable=False)

    def f(x: float) -> Any:
        with s2s.GradientTape() as tape:
            z = w * fixed * x
        return tape.gradient(z, [w, fixed, x])

    slope, *rest = run(f, 5.0)
    assert slope == 15.0 and rest == [None, None]

    def g(x: float) -> Any:
        with s2s.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(fixed)
            z = w * fixed * x
        return tape.gradient(z, [w, fixed])

    assert run(g, 5.0) == [None, 10.0]


def test_unconnected() -> None:
    w, v = s2s.Variable(np.ones(2)), s2s.Variable(np.ones(3))

    def f() -> Any:
        with s2s.GradientTape() as tape:
            z = np.sum(w * 2.0)
        none = tape.gradient(z, v)
        zero = tape.gradient(z, v, unconnected_gradients="zero")
        return none, zero

    none, zero = run(f)
    assert none is None
    np.testing.assert_array_equal(zero, np.zeros(3))


def test_values_the_block_saw() -> None:
    w = s2s.Variable(np.array(3.0))

    def after() -> Any:
        with s2s.GradientTape() as tape:
            y = w**3
        w.assign(100.0 * w)
        return tape.gradient(y, w)

    assert run(after) == 27.0 and w.numpy() == 300.0
    w.assign(3.0)

    def inside() -> Any:
        with s2s.GradientTape() as tape:
            y = w**2
            w.assign_add(np.ones_like(w))
            z = y + w**2
        return tape.gradient(z, w)

    assert run(inside) == 14.0 and w.numpy() == 4.0


def test_a_target_after_the_block_is_not_connected() -> None:
    w = s2s.Variable(2.0)

    def f() -> Any:
        with s2s.GradientTape() as tape:
            y = w * 3.0
        z = y * y
        return tape.gradient(z, w), tape.gradient(y, w)

    assert run(f) == (None, 3.0)


def test_nested_tapes() -> None:
    x = s2s.Variable(np.array(3.0))

    def f() -> Any:
        with s2s.GradientTape() as outer:
            with s2s.GradientTape() as inner:
                y = x**3
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    assert run(f) == (27.0, 18.0)

    def inside_its_own_block() -> Any:
        with s2s.GradientTape() as tape:
            y = x * x
            slope = tape.gradient(y, x)
            z = slope * x
        return tape.gradient(z, x)

    assert run(inside_its_own_block) == 12.0

    def two_at_once() -> Any:
        with s2s.GradientTape() as one, s2s.GradientTape() as two:
            y = x * x
            z = x * x * x
        return one.gradient(y, x), two.gradient(z, x)

    assert run(two_at_once) == (6.0, 27.0)


def test_intermediates_as_sources() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f() -> Any:
        with s2s.GradientTape() as tape:
            h = w * 3.0
            z = np.sum(h * h)
        return tape.gradient(z, [h, w])

    h_bar, w_bar = run(f)
    np.testing.assert_allclose(h_bar, [6.0, 12.0])
    np.testing.assert_allclose(w_bar, [18.0, 36.0])


def test_targets_of_any_shape_and_seeds() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f(seed: Any) -> Any:
        with s2s.GradientTape() as tape:
            y = w * w
        return tape.gradient(y, w), tape.gradient(y, w, output_gradients=seed)

    plain, seeded = run(f, np.array([10.0, 100.0]))
    np.testing.assert_allclose(plain, [2.0, 4.0])
    np.testing.assert_allclose(seeded, [20.0, 400.0])


def test_loops_and_branches_in_the_block() -> None:
    w = s2s.Variable(np.array([0.5, -0.3]))

    def f(n: int) -> Any:
        with s2s.GradientTape() as tape:
            h = np.ones(2)
            for _ in range(n):
                h = np.tanh(h * w)
                if h[0] > 0.2:
                    h = h * 1.5
            loss = np.sum(h * h)
        return tape.gradient(loss, w)

    def plain(w: Any, n: int) -> Any:
        h = np.ones(2)
        for _ in range(n):
            h = np.tanh(h * w)
            if h[0] > 0.2:
                h = h * 1.5
        return np.sum(h * h)

    want = s2s.grad(plain, backend="loops")
    for n in (0, 1, 3):
        got = run(f, n)
        np.testing.assert_allclose(0.0 if got is None else got, want(w.numpy(), n))


def test_steps_in_a_loop() -> None:
    """The tape inside a run-time loop: many steps in one call."""
    w = s2s.Variable(np.array([1.0, -2.0]))

    def descend(n: int) -> Any:
        for _ in range(n):
            with s2s.GradientTape() as tape:
                loss = np.sum(w * w)
            w.assign_sub(0.25 * tape.gradient(loss, w))
        return w.numpy()

    np.testing.assert_allclose(run(descend, 3), [0.125, -0.25])
    np.testing.assert_allclose(w.numpy(), [0.125, -0.25])


class Adam:
    """A user-defined Adam: counters on self, slots in lists of arrays."""

    def __init__(self, variables: list[Any]) -> None:
        self.t = 0
        self.m = [np.zeros(v.shape) for v in variables]
        self.v = [np.zeros(v.shape) for v in variables]

    def apply(self, pairs: Any) -> None:
        self.t += 1
        for i, (g, w) in enumerate(pairs):
            self.m[i] = 0.9 * self.m[i] + 0.1 * g
            self.v[i] = 0.999 * self.v[i] + 0.001 * g * g
            m, v = self.m[i] / (1.0 - 0.9**self.t), self.v[i] / (1.0 - 0.999**self.t)
            w.assign_sub(0.01 * m / (np.sqrt(v) + 1e-7))


def test_an_optimizer_of_the_users_own() -> None:
    def train(compiled: bool) -> Any:
        w = s2s.Variable(np.array([0.1, 0.2]))
        adam = Adam([w])

        def step(x: Any, y: Any) -> Any:
            with s2s.GradientTape() as tape:
                loss = np.mean((x @ w - y) ** 2)
            adam.apply(zip(tape.gradient(loss, [w]), [w]))
            return loss

        if compiled:
            f = s2s.function(step, backend="loops")
            return [float(f(X, Y)) for _ in range(6)], w.numpy(), adam.t
        losses = []
        for _ in range(6):
            r = X @ w.numpy() - Y
            losses.append(float(np.mean(r**2)))
            adam.apply([(2 * X.T @ r / 3, w)])
        return losses, w.numpy(), adam.t

    got, want = train(True), train(False)
    np.testing.assert_allclose(got[0], want[0])
    np.testing.assert_allclose(got[1], want[1])
    assert got[2] == want[2] == 6


def test_variables_are_arrays() -> None:
    w = s2s.Variable([1.0, 2.0], name="weights")
    assert w.dtype == np.float32 and w.shape == (2,) and len(w) == 2
    np.testing.assert_array_equal(np.sin(w) + w * 2 - w[0], np.sin(w.numpy()) + w.numpy() * 2 - 1)
    assert isinstance(w + 1.0, np.ndarray) and w.mean() == 1.5
    kept = w.numpy()
    w.assign_add([1.0, 1.0])
    w -= 0.5
    w[0] = 9.0
    np.testing.assert_array_equal(w.numpy(), [9.0, 2.5])
    np.testing.assert_array_equal(kept, [1.0, 2.0])
    with pytest.raises(ValueError, match="weights has shape"):
        w.assign([1.0])
    assert "weights" in repr(w) and w.dtype == np.float32


def test_zeros_for_what_is_not_trained() -> None:
    w, c = s2s.Variable(np.ones(2)), s2s.Variable(np.ones(3), trainable=False)

    def f() -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(w) * np.sum(c)
        return tape.gradient(y, [w, c], unconnected_gradients="zero")

    slope, zero = run(f)
    np.testing.assert_array_equal(slope, [3.0, 3.0])
    np.testing.assert_array_equal(zero, np.zeros(3))
