"""Adam, AdamW, RMSprop and Adagrad: three steps by their formulas, slots, defaults."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.optimizers import Adagrad, Adam, AdamW, RMSprop
from tests.s2s.optimizers.steps import check_steps

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def adam(
    w: float, gradients: list[float], rate: float, b1: float, b2: float, eps: float,
    amsgrad: bool = False, decay: float = 0.0,
) -> float:  # fmt: skip
    m = v = largest = 0.0
    for t, g in enumerate(gradients, 1):
        w -= decay * rate * w
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        largest = max(largest, v)
        factor = rate * math.sqrt(1 - b2**t) / (1 - b1**t)
        w -= factor * m / (math.sqrt(largest if amsgrad else v) + eps)
    return w


def rmsprop(
    w: float, gradients: list[float], rate: float, rho: float, momentum: float, centered: bool
) -> float:
    v = average = step = 0.0
    for g in gradients:
        v = rho * v + (1 - rho) * g * g
        average = rho * average + (1 - rho) * g
        spread = v - average * average if centered else v
        step = momentum * step + rate * g / math.sqrt(spread + 1e-3)
        w -= step
    return w


def adagrad(w: float, gradients: list[float], rate: float, start: float) -> float:
    total = start
    for g in gradients:
        total += g * g
        w -= rate * g / math.sqrt(total + 1e-3)
    return w


@DTYPES
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam(dtype: str, amsgrad: bool) -> None:
    optimizer = Adam(0.1, 0.8, 0.5, 1e-3, amsgrad)
    check_steps(optimizer, lambda w, g: adam(w, g, 0.1, 0.8, 0.5, 1e-3, amsgrad), dtype)


def test_adam_by_default() -> None:
    check_steps(Adam(), lambda w, g: adam(w, g, 0.001, 0.9, 0.999, 1e-7))


@DTYPES
def test_adamw(dtype: str) -> None:
    check_steps(
        AdamW(0.1, 0.25, 0.8, 0.5, 1e-3),
        lambda w, g: adam(w, g, 0.1, 0.8, 0.5, 1e-3, decay=0.25),
        dtype,
    )
    assert AdamW().weight_decay == 0.004


@DTYPES
@pytest.mark.parametrize("momentum", [0.0, 0.7])
@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop(dtype: str, momentum: float, centered: bool) -> None:
    optimizer = RMSprop(0.1, 0.8, momentum, 1e-3, centered)
    check_steps(optimizer, lambda w, g: rmsprop(w, g, 0.1, 0.8, momentum, centered), dtype)


@DTYPES
def test_adagrad(dtype: str) -> None:
    check_steps(Adagrad(0.1, 0.5, 1e-3), lambda w, g: adagrad(w, g, 0.1, 0.5), dtype)


@pytest.mark.parametrize(
    "optimizer, names",
    [
        (Adam(), ["m", "v"]),
        (Adam(amsgrad=True), ["m", "v", "v_max"]),
        (RMSprop(), ["velocity"]),
        (RMSprop(momentum=0.1), ["velocity", "momentum"]),
        (RMSprop(momentum=0.1, centered=True), ["velocity", "momentum", "average"]),
        (Adagrad(), ["accumulator"]),
    ],
)
def test_slots(optimizer: Any, names: list[str]) -> None:
    assert list(optimizer.slots) == names
    optimizer.build([s2s.Variable(np.ones((2, 3), np.float32))])
    start = optimizer.initial_accumulator_value if names == ["accumulator"] else 0.0
    for (slot,) in optimizer.slots.values():
        np.testing.assert_array_equal(slot, np.full((2, 3), start, np.float32))
        assert slot.dtype == np.float32


def test_adam_takes_steps_of_the_rate_at_first() -> None:
    """The first step has the length of the rate, whatever the length of the gradient."""
    w = s2s.Variable(np.zeros(3))
    Adam(0.01).apply_gradients([(np.array([1e-3, 1.0, -1e6]), w)])
    np.testing.assert_allclose(w, [-0.01, -0.01, 0.01], rtol=1e-2)
