"""`SGD`: three steps by its formulas, slots."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.optimizers import SGD
from tests.s2s.optimizers.steps import START, check_steps

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def momentum(w: float, gradients: list[float], rate: float, m: float, nesterov: bool) -> float:
    v = 0.0
    for g in gradients:
        v = m * v - rate * g
        w = w + m * v - rate * g if nesterov else w + v
    return w


@DTYPES
def test_plain(dtype: str) -> None:
    check_steps(SGD(0.1), lambda w, g: w - 0.1 * sum(g), dtype)


@DTYPES
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum(dtype: str, nesterov: bool) -> None:
    optimizer = SGD(0.1, momentum=0.9, nesterov=nesterov)
    check_steps(optimizer, lambda w, g: momentum(w, g, 0.1, 0.9, nesterov), dtype)


def test_slots() -> None:
    assert SGD(0.1).slots == {}
    optimizer, w = SGD(0.1, momentum=0.9), s2s.Variable(np.array(START), name="w")
    optimizer.apply_gradients([(np.ones(3), w)])
    (velocity,) = optimizer.slots["momentum"]
    np.testing.assert_allclose(velocity, np.full(3, -0.1))
    assert velocity.name == "sgd/w/momentum" and not velocity.trainable


def test_momentum_continues_without_a_gradient_of_its_own() -> None:
    optimizer, w = SGD(1.0, momentum=0.5), s2s.Variable(np.zeros(1))
    for gradient in (1.0, 0.0, 0.0):
        optimizer.apply_gradients([(np.array([gradient]), w)])
    np.testing.assert_allclose(w, [-1.75])


def test_default_rate() -> None:
    assert SGD().learning_rate == 0.01
