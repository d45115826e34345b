"""Tapes see Variables that are read in functions which are not inlined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.errors import UnsupportedError
from s2s.layers import Dense
from s2s.optimizers import SGD

W = s2s.Variable(np.array([1.0, -0.5, 2.0]))
V = s2s.Variable(np.array([0.5, 0.25, -1.0]))
FROZEN = s2s.Variable(np.array([1.0, 2.0, 3.0]), trainable=False)
X = np.array([0.3, 0.7, -0.2])


class Holder:
    def __init__(self) -> None:
        self.w = W
        self.parts = {"v": [V]}


HOLDER = Holder()
LAYER = Dense(3)
LAYER(np.ones((1, 3), np.float32))


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


# ---------------------------------------------------------------- recursive functions


def direct(x: Any, n: int) -> Any:
    if n <= 0:
        return x
    return direct(np.tanh(x * W), n - 1)


def by_attribute(x: Any, n: int) -> Any:
    if n <= 0:
        return x * HOLDER.parts["v"][0]
    return by_attribute(np.sin(x) + HOLDER.w, n - 1)


def even(x: Any, n: int) -> Any:
    return x if n <= 0 else odd(x * W, n - 1)


def odd(x: Any, n: int) -> Any:
    return x * V if n <= 0 else even(np.sin(x + V), n - 1)


def with_frozen(x: Any, n: int) -> Any:
    return x if n <= 0 else with_frozen(x * W + FROZEN, n - 1)


def helper(x: Any) -> Any:
    return x * W + V


def by_helper(x: Any, n: int) -> Any:
    return x if n <= 0 else by_helper(np.tanh(helper(x)), n - 1)


def two_paths(x: Any, n: int) -> Any:
    return x * W if n <= 0 else two_paths(x + HOLDER.w, n - 1)


def given(x: Any, w: Any, n: int) -> Any:
    return x if n <= 0 else given(x * w, w, n - 1)


def through_argument(x: Any, n: int) -> Any:
    return given(x, W, n) + given(x, V, n)


def numbers(x: Any, n: int) -> Any:
    return x if n <= 0 else numbers(x * W[n % 3] + V[0], n - 1)


def branching(x: Any, n: int) -> Any:
    if n <= 0:
        return x * V
    if n % 2 == 0:
        return branching(x * W, n - 1)
    return branching(x + 1.0, n - 2) + branching(x, n - 1)


FUNCTIONS = [
    direct, by_attribute, even, with_frozen, by_helper, two_paths, through_argument, numbers,
    branching,
]  # fmt: skip


def differences(function: Any, n: int, variable: Any, also: bool) -> Any:
    """The gradient by central differences."""

    def value() -> float:
        total = np.sum(np.asarray(function(X, n)))
        return float(total + np.sum(np.asarray(W) ** 2) * also)

    out = np.zeros(3)
    start = variable.numpy()
    for i in range(3):
        ends = []
        for step in (1e-6, -1e-6):
            moved = start.copy()
            moved[i] += step
            variable.assign(moved)
            ends.append(value())
        out[i] = (ends[0] - ends[1]) / 2e-6
    variable.assign(start)
    return out


def check(function: Any, n: int, also: bool, got: list[Any]) -> None:
    for variable, gradient in zip((W, V), got):
        want = differences(function, n, variable, also)
        have = np.zeros(3) if gradient is None else np.asarray(gradient)
        np.testing.assert_allclose(have, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("also", [False, True], ids=["", "read in the block"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_plain_tapes(function: Any, also: bool) -> None:
    n = 3
    with s2s.GradientTape(persistent=True) as tape:
        y = np.sum(function(X, n))
        if also:
            y = y + np.sum(W * W)
    got = tape.gradient(y, [W, V])
    assert got[0] is not None
    check(function, n, also, got)
    check(function, n, also, [tape.gradient(y, v) for v in (W, V)])  # persistent


@pytest.mark.parametrize("also", [False, True], ids=["", "read in the block"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_compiled_tapes(function: Any, also: bool) -> None:
    @s2s.function
    def step(x: Any, n: int) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(function(x, n))
            if also:
                y = y + np.sum(W * W)
        return tape.gradient(y, [W, V], unconnected_gradients="zero")

    for n in (3, 0, 1, 4):
        check(function, n, also, step(X, n))


def test_read_before_the_call() -> None:
    @s2s.function
    def step(x: Any, n: int) -> Any:
        scale = np.sum(V)
        with s2s.GradientTape() as tape:
            y = np.sum(W) * np.sum(even(x, n))
        return tape.gradient(y, [W, V]), scale

    (gw, gv), _ = step(X, 3)

    def whole(x: Any, n: int) -> Any:
        return np.sum(np.asarray(W)) * np.sum(np.asarray(even(x, n)))

    np.testing.assert_allclose(gw, differences(whole, 3, W, False), rtol=1e-6)
    np.testing.assert_allclose(gv, differences(whole, 3, V, False), rtol=1e-6)


def test_assigned_before_the_call() -> None:
    """The callee reads the current value, and the gradient refers to it."""
    start = W.numpy()

    @s2s.function
    def step(x: Any, n: int) -> Any:
        W.assign(W * 2.0)
        with s2s.GradientTape() as tape:
            y = np.sum(direct(x, n))
        return y, tape.gradient(y, W)

    try:
        y, g = step(X, 3)
        np.testing.assert_allclose(W, start * 2.0)
        np.testing.assert_allclose(y, np.sum(np.asarray(direct(X, 3))))
        np.testing.assert_allclose(g, differences(direct, 3, W, False), rtol=1e-6, atol=1e-8)
    finally:
        W.assign(start)


def test_watched_variables() -> None:
    @s2s.function
    def step(x: Any, n: int) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(with_frozen(x, n))
        return tape.gradient(y, tape.watched_variables())

    (got,) = step(X, 3)
    np.testing.assert_allclose(got, differences(with_frozen, 3, W, False), rtol=1e-6)


def test_frozen_variables_have_none_unless_watched() -> None:
    with s2s.GradientTape() as tape:
        y = np.sum(with_frozen(X, 3))
    assert tape.gradient(y, FROZEN) is None
    with s2s.GradientTape() as tape:
        tape.watch(FROZEN)
        y = np.sum(with_frozen(X, 3))
    want = differences(with_frozen, 3, FROZEN, False)
    np.testing.assert_allclose(tape.gradient(y, FROZEN), want, rtol=1e-6)


def test_nothing_is_watched_when_the_tape_says_so() -> None:
    with s2s.GradientTape(watch_accessed_variables=False) as tape:
        y = np.sum(direct(X, 3))
    assert tape.gradient(y, W) is None


# ---------------------------------------------------------------- closures, layers, nested tapes


def test_closures() -> None:
    w = s2s.Variable(np.array([0.5, -1.5, 1.0]))

    def rec(x: Any, n: int) -> Any:
        return x if n <= 0 else rec(np.sin(x * w), n - 1)

    def value(x: Any, n: int) -> Any:
        return rec(x, n)

    with s2s.GradientTape() as tape:
        y = np.sum(rec(X, 3))
    want = differences(value, 3, w, False)
    np.testing.assert_allclose(tape.gradient(y, w), want, rtol=1e-6)

    @s2s.function
    def step(x: Any, n: int) -> Any:
        def inner(x: Any, n: int) -> Any:
            return x if n <= 0 else inner(np.sin(x * w), n - 1)

        with s2s.GradientTape() as tape:
            y = np.sum(inner(x, n))
        return tape.gradient(y, w)

    np.testing.assert_allclose(step(X, 3), want, rtol=1e-6)


def layered(x: Any, n: int) -> Any:
    return x if n <= 0 else layered(np.tanh(LAYER(x)), n - 1)


def test_layers() -> None:
    x = X[None].astype(np.float32)

    def unrolled(x: Any) -> Any:
        return np.tanh(LAYER(np.tanh(LAYER(x))))

    with s2s.GradientTape() as tape:
        y = np.sum(unrolled(x))
    want = tape.gradient(y, LAYER.trainable_variables)
    with s2s.GradientTape() as tape:
        y = np.sum(layered(x, 2))
    got = tape.gradient(y, LAYER.trainable_variables)

    @s2s.function
    def step(x: Any, n: int) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(layered(x, n))
        return tape.gradient(y, LAYER.trainable_variables)

    for a, b, c in zip(want, got, step(x, 2)):
        np.testing.assert_allclose(b, a, rtol=1e-5)
        np.testing.assert_allclose(c, a, rtol=1e-5)


def test_nested_tapes() -> None:
    with s2s.GradientTape() as outer:
        with s2s.GradientTape() as inner:
            y = np.sum(direct(X, 3))
        g = inner.gradient(y, W)
        z = np.sum(g * g)
    got = outer.gradient(z, W)

    def slope(x: Any, n: int) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(np.tanh(np.tanh(np.tanh(x * W) * W) * W))
        return np.asarray(tape.gradient(y, W)) ** 2

    np.testing.assert_allclose(got, differences(slope, 3, W, False), rtol=1e-5)


def tape_inside(x: Any, w: Any, n: int) -> Any:
    with s2s.GradientTape() as tape:
        y = np.sum(np.sin(x * w))
    g = tape.gradient(y, w)
    return x + g if n <= 0 else tape_inside(x + g, w, n - 1)


def test_tapes_inside_recursive_functions() -> None:
    x = X
    for _ in range(3):
        x = x + np.cos(x * np.asarray(W)) * x
    np.testing.assert_allclose(s2s.function(lambda x, n: tape_inside(x, W, n))(X, 2), x)

    def by_name(x: Any, n: int) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(np.sin(x * W))
        g = tape.gradient(y, W)
        return x + g if n <= 0 else by_name(x + g, n - 1)

    np.testing.assert_allclose(s2s.function(by_name)(X, 2), x)


def test_jacobians() -> None:
    with s2s.GradientTape() as tape:
        y = direct(X, 2)
    with s2s.GradientTape() as flat:
        z = np.tanh(np.tanh(X * W) * W)
    np.testing.assert_allclose(tape.jacobian(y, W), flat.jacobian(z, W), rtol=1e-6)


def test_forward_mode() -> None:
    """`jvp` treats a Variable as a constant, wherever it is read."""
    tangent = np.array([1.0, 2.0, 3.0])

    def flat(x: Any) -> Any:
        return np.tanh(np.tanh(x * W) * W)

    want = s2s.jvp(flat)(X, tangent)
    got = s2s.jvp(direct)(X, tangent, 2)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-6)


OPTIMIZER = SGD(0.1)


def trains(x: Any, n: int) -> Any:
    with s2s.GradientTape() as tape:
        y = np.sum(x * V)
    OPTIMIZER.apply_gradients([(tape.gradient(y, V), V)])
    return y if n <= 0 else trains(x, n - 1)


def test_updates_inside_recursive_functions_are_refused_or_right() -> None:
    start = V.numpy()
    try:
        with pytest.raises(UnsupportedError, match=r"\.py:\d+:\d+: a recursive function") as e:
            s2s.function(trains)(X, 2)
        assert "^^^" in str(e.value)
    finally:
        V.assign(start)


# ---------------------------------------------------------------- what the caller has set


class Settings:
    scale = 2.0


SETTINGS = Settings()
TABLE = {"scale": 2.0}
ARRAY = np.array([2.0])


def by_settings(x: Any, n: int) -> Any:
    return x if n <= 0 else by_settings(x * SETTINGS.scale, n - 1)


def by_table(x: Any, n: int) -> Any:
    return x if n <= 0 else by_table(x * TABLE["scale"], n - 1)


def by_array(x: Any, n: int) -> Any:
    return x if n <= 0 else by_array(x * ARRAY[0], n - 1)


def test_what_was_set_before_the_call_is_refused() -> None:
    @s2s.function
    def sets_an_attribute(x: Any, n: int) -> Any:
        first = by_settings(x, n)
        SETTINGS.scale = 5.0
        return first + by_settings(x, n)

    @s2s.function
    def sets_an_item(x: Any, n: int) -> Any:
        TABLE["scale"] = 5.0
        return by_table(x, n)

    for step, text in ((sets_an_attribute, "SETTINGS.*scale"), (sets_an_item, "TABLE")):
        with pytest.raises(UnsupportedError, match=f"reads .*{text}.*, which was set before") as e:
            step(1.0, 2)
        assert "^^^" in str(e.value)


def test_arrays_that_were_written_before_the_call_are_refused() -> None:
    @s2s.function
    def writes(x: Any, n: int) -> Any:
        ARRAY[0] = 5.0
        return by_array(x, n)

    with pytest.raises(ValueError, match="overlap in memory, and writes writes into ARRAY"):
        writes(1.0, 2)
    assert ARRAY[0] == 2.0


def test_setting_what_is_there_already_changes_nothing() -> None:
    @s2s.function
    def sets_the_same(x: Any, n: int) -> Any:
        SETTINGS.scale = SETTINGS.scale
        return by_settings(x, n)

    assert sets_the_same(1.0, 2) == 4.0
