"""Compiled steps with objects in plain Python: no value is frozen, and no memory leaks."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense
from s2s.losses import MeanSquaredError
from s2s.models import Sequential
from s2s.optimizers import SGD, Adam

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3)).astype(np.float32)
Y = (X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3).astype(np.float32)


def compiled(function: Any) -> int:
    """The number of compilations of a step."""
    return sum(len(entries) for entries in function._specialiser("primal").entries.values())


def batches(size: int) -> list[tuple[Any, Any]]:
    return [(X[i : i + size], Y[i : i + size]) for i in range(0, 100, size)]


# ---------------------------------------------------------------- a user's own classes


class Linear:
    """A model that uses nothing of s2s but Variables."""

    def __init__(self) -> None:
        self.w = s2s.Variable(np.zeros((3, 1), np.float32), name="w")
        self.b = s2s.Variable(np.zeros(1, np.float32), name="b")

    def __call__(self, x: Any) -> Any:
        return x @ self.w + self.b

    def parameters(self) -> list[Any]:
        return [self.w, self.b]


@dataclasses.dataclass
class Settings:
    rate: float
    decay: float
    clip: float | None = None


class MyAdam:
    """Counters on itself, slots in dicts, in plain Python."""

    def __init__(self, settings: Settings, variables: list[Any]) -> None:
        self.settings = settings
        self.t = 0
        self.m = {v.name: np.zeros(v.shape, np.float32) for v in variables}
        self.v = {v.name: np.zeros(v.shape, np.float32) for v in variables}

    def step(self, gradients: Any, variables: Any) -> None:
        self.t += 1
        for g, w in zip(gradients, variables):
            m = 0.9 * self.m[w.name] + 0.1 * g
            v = 0.999 * self.v[w.name] + 0.001 * g * g
            self.m[w.name], self.v[w.name] = m, v
            rate = self.settings.rate * np.sqrt(1.0 - 0.999**self.t) / (1.0 - 0.9**self.t)
            w.assign_sub(rate * m / (np.sqrt(v) + 1e-7) + self.settings.decay * w)


def my_loss(y: Any, p: Any) -> Any:
    return np.mean(np.where(np.abs(p - y) < 1.0, 0.5 * (p - y) ** 2, np.abs(p - y) - 0.5))


def my_step(backend: str) -> tuple[Any, Any, Any]:
    model = Linear()
    optimizer = MyAdam(Settings(0.05, 1e-3), model.parameters())

    @s2s.function(backend=backend)
    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = my_loss(y, model(x))
        optimizer.step(tape.gradient(loss, model.parameters()), model.parameters())
        return loss

    return model, optimizer, step


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_a_users_own_model_loss_and_optimizer(backend: str) -> None:
    model, optimizer, step = my_step(backend)
    w, b = np.zeros((3, 1)), np.zeros(1)
    m, v = [np.zeros((3, 1)), np.zeros(1)], [np.zeros((3, 1)), np.zeros(1)]
    t = 0
    for size in (32, 7):
        for x, y in batches(size):
            error = x @ w + b - y
            d = np.clip(error, -1, 1) / error.size
            inside = np.abs(error) < 1
            want = np.mean(np.where(inside, 0.5 * error**2, np.abs(error) - 0.5))
            np.testing.assert_allclose(step(x, y), want, rtol=1e-4)
            t += 1
            for k, (g, p) in enumerate(((x.T @ d, w), (d.sum(0), b))):
                m[k] = 0.9 * m[k] + 0.1 * g
                v[k] = 0.999 * v[k] + 0.001 * g * g
                rate = optimizer.settings.rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
                p -= rate * m[k] / (np.sqrt(v[k]) + 1e-7) + 1e-3 * p
        optimizer.settings.rate = 0.02
    np.testing.assert_allclose(model.w.numpy(), w, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(optimizer.m["b"], m[1], rtol=1e-3, atol=1e-6)
    # Batches of 32, 4, 7 and 2, the counter and the rate do not cause recompilation.
    assert optimizer.t == t == 19 and compiled(step) == 1


class Momentum:
    """Slots that are created lazily."""

    def __init__(self) -> None:
        self.velocity: dict[str, Any] = {}

    def step(self, gradients: Any, variables: Any) -> None:
        for g, w in zip(gradients, variables):
            if w.name not in self.velocity:
                self.velocity[w.name] = np.zeros(w.shape, np.float32)
            self.velocity[w.name] = 0.9 * self.velocity[w.name] - 0.1 * g
            w.assign_add(self.velocity[w.name])


def test_slots_that_are_made_in_the_first_step() -> None:
    model, optimizer, reference, known = Linear(), Momentum(), Linear(), SGD(0.1, momentum=0.9)

    @s2s.function(backend="loops")
    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((model(x) - y) ** 2)
            other = np.mean((reference(x) - y) ** 2)
        optimizer.step(tape.gradient(loss, model.parameters()), model.parameters())
        gradients = tape.gradient(other, reference.parameters())
        known.apply_gradients(zip(gradients, reference.parameters()))
        return loss

    for x, y in batches(32):
        step(x, y)
    np.testing.assert_allclose(model.w.numpy(), reference.w.numpy(), rtol=1e-5)
    assert list(optimizer.velocity) == ["w", "b"] and compiled(step) == 2


# ---------------------------------------------------------------- compiled once


def test_batch_sizes_rates_and_counters_compile_once() -> None:
    model = Sequential([Dense(4, activation="tanh"), Dense(1)])
    optimizer, loss_fn = Adam(0.01, weight_decay=0.01, global_clipnorm=1.0), MeanSquaredError()

    @s2s.function(backend="loops")
    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for size, rate in ((32, 0.1), (33, 0.05), (99, 0.2), (1, 0.001)):
        optimizer.learning_rate = rate
        for x, y in batches(size)[-3:]:  # the last holds 4, 1, 1 and 1 samples
            step(x, y)
    assert optimizer.iterations == 11 and compiled(step) == 1


def test_the_first_batch_may_be_the_one_of_a_single_sample() -> None:
    model, optimizer, step = my_step("loops")
    for n in (1, 5, 1, 100):
        step(X[:n], Y[:n])
    assert compiled(step) == 1


def test_after_eight_times_a_warning_names_what_keeps_changing() -> None:
    class Config:
        mode = "a"

    config, w = Config(), s2s.Variable(np.ones(2))

    @s2s.function(backend="loops")
    def step(x: Any) -> Any:
        scale = 2.0 if config.mode == "a" else 1.0
        w.assign_sub(0.1 * scale * x)
        return np.sum(w)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(14):
            config.mode = "abcdefghijklmn"[k]
            step(np.ones(2))
    told = [w for w in caught if w.category is s2s.RecompilationWarning]
    assert len(told) == 1 and "config.mode" in str(told[0].message)


# ---------------------------------------------------------------- memory


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_does_not_grow() -> None:
    """A short form of benchmarks/memory_steps.py."""
    model, loss_fn, optimizer = Sequential([Dense(1)]), MeanSquaredError(), SGD(0.1)

    @s2s.function
    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    parts = [*batches(32), (X[:1], Y[:1])]
    for k in range(500):
        step(*parts[k % len(parts)])
    before = resident()
    for k in range(5000):
        step(*parts[k % len(parts)])
    assert resident() - before < 500_000  # one leaked array per call would take more
    assert optimizer.iterations == 5500 and compiled(step) == 1
