"""Adamax, Nadam, Adadelta, Ftrl and Lion: three steps by their formulas, slots, arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.optimizers import Adadelta, Adamax, Ftrl, Lion, Nadam
from tests.s2s.optimizers.steps import check_steps

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def adamax(w: float, gradients: list[float]) -> float:
    m = u = 0.0
    for t, g in enumerate(gradients, 1):
        m = 0.8 * m + 0.2 * g
        u = max(0.5 * u, abs(g))
        w -= 0.1 / (1 - 0.8**t) * m / (u + 1e-3)
    return w


def nadam(w: float, gradients: list[float]) -> float:
    """Dozat (2016), with the momentum schedule 0.8 * (1 - 0.96**t / 2)."""
    m = v = 0.0
    product = 1.0
    for t, g in enumerate(gradients, 1):
        now, then = 0.8 * (1 - 0.5 * 0.96**t), 0.8 * (1 - 0.5 * 0.96 ** (t + 1))
        product *= now
        m = 0.8 * m + 0.2 * g
        v = 0.5 * v + 0.5 * g * g
        ahead = then * m / (1 - product * then) + (1 - now) * g / (1 - product)
        w -= 0.1 * ahead / (math.sqrt(v / (1 - 0.5**t)) + 1e-3)
    return w


def adadelta(w: float, gradients: list[float]) -> float:
    seen = taken = 0.0
    for g in gradients:
        seen = 0.8 * seen + 0.2 * g * g
        step = math.sqrt(taken + 1e-3) / math.sqrt(seen + 1e-3) * g
        taken = 0.8 * taken + 0.2 * step * step
        w -= 0.5 * step
    return w


def ftrl(
    w: float, gradients: list[float], l1: float, l2: float, shrinkage: float, beta: float,
    power: float,
) -> float:  # fmt: skip
    """McMahan et al. (2013): the weight that minimises the regularised sum of the losses."""
    n, z = 0.1, 0.0
    for g in gradients:
        sigma = ((n + g * g) ** power - n**power) / 0.1
        z += g + 2 * shrinkage * w - sigma * w
        n += g * g
        if abs(z) <= l1:
            w = 0.0
        else:
            w = -(z - math.copysign(l1, z)) / ((beta + n**power) / 0.1 + 2 * l2)
    return w


def lion(w: float, gradients: list[float]) -> float:
    m = 0.0
    for g in gradients:
        direction = 0.7 * m + 0.3 * g
        w -= 0.1 * (direction > 0) - 0.1 * (direction < 0)
        m = 0.8 * m + 0.2 * g
    return w


@DTYPES
def test_adamax(dtype: str) -> None:
    check_steps(Adamax(0.1, 0.8, 0.5, 1e-3), adamax, dtype)


@DTYPES
def test_nadam(dtype: str) -> None:
    check_steps(Nadam(0.1, 0.8, 0.5, 1e-3), nadam, dtype)


@DTYPES
def test_adadelta(dtype: str) -> None:
    check_steps(Adadelta(0.5, 0.8, 1e-3), adadelta, dtype)


@DTYPES
@pytest.mark.parametrize(
    "l1, l2, shrinkage, beta, power",
    [
        (0.0, 0.0, 0.0, 0.0, 0.5), (0.4, 0.2, 0.0, 0.0, 0.5), (0.4, 0.0, 0.1, 0.0, 0.5),
        (0.0, 0.1, 0.0, 0.3, 0.7),
    ],
)  # fmt: skip
def test_ftrl(
    dtype: str, l1: float, l2: float, shrinkage: float, beta: float, power: float
) -> None:
    optimizer = Ftrl(
        0.1,
        learning_rate_power=-power,
        l1_regularization_strength=l1,
        l2_regularization_strength=l2,
        l2_shrinkage_regularization_strength=shrinkage,
        beta=beta,
    )
    check_steps(optimizer, lambda w, g: ftrl(w, g, l1, l2, shrinkage, beta, power), dtype)


@DTYPES
def test_lion(dtype: str) -> None:
    check_steps(Lion(0.1, 0.7, 0.8), lion, dtype)


def test_l1_regularization_makes_small_weights_zero() -> None:
    w = s2s.Variable(np.array([0.01, -0.02]))
    optimizer = Ftrl(0.1, l1_regularization_strength=10.0)
    optimizer.apply_gradients([(np.array([0.1, 0.1]), w)])
    np.testing.assert_array_equal(w, [0.0, 0.0])


@pytest.mark.parametrize(
    "optimizer, starts",
    [
        (Adamax(), {"m": 0.0, "u": 0.0}),
        (Nadam(), {"m": 0.0, "v": 0.0, "product": 1.0}),
        (Adadelta(), {"gradients": 0.0, "steps_taken": 0.0}),
        (Ftrl(initial_accumulator_value=0.5), {"accumulator": 0.5, "linear": 0.0}),
        (Lion(), {"momentum": 0.0}),
    ],
)
def test_slots(optimizer: Any, starts: dict[str, float]) -> None:
    optimizer.build([s2s.Variable(np.ones((2, 3), np.float32))])
    assert list(optimizer.slots) == list(starts)
    for (slot,), start in zip(optimizer.slots.values(), starts.values()):
        assert np.all(slot.numpy() == start) and slot.dtype == np.float32
    product = optimizer.slots.get("product", [])
    assert [p.shape for p in product] == [()] * len(product)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="initial_accumulator_value must not be negative"):
        Ftrl(initial_accumulator_value=-0.1)
    with pytest.raises(ValueError, match="learning_rate_power must not be positive"):
        Ftrl(learning_rate_power=0.5)
    for beta in (0.0, -0.5, 1.5):
        with pytest.raises(ValueError, match=r"beta_1 must be in \]0, 1\]"):
            Lion(beta_1=beta)
