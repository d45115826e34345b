"""Layers that merge a list of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Add, Average, Concatenate, Maximum, Minimum, Multiply, Subtract
from s2s.layers.merge import Merging
from tests.s2s.layers.checks import differences, numbers

A, B, C = (numbers(2, 3, phase=p) for p in (0.1, 1.3, 2.2))


@pytest.mark.parametrize(
    "layer, want",
    [
        (Add(), A + B + C),
        (Subtract(), A - B - C),
        (Multiply(), A * B * C),
        (Average(), (A + B + C) / 3.0),
        (Maximum(), np.max([A, B, C], axis=0)),
        (Minimum(), np.min([A, B, C], axis=0)),
        (Concatenate(), np.hstack([A, B, C])),
        (Concatenate(axis=0), np.vstack([A, B, C])),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_values_and_gradients(layer: Any, want: Any) -> None:
    np.testing.assert_allclose(layer([A, B, C]), want, rtol=1e-15)
    np.testing.assert_allclose(layer((A, B, C)), want, rtol=1e-15)
    probe = numbers(*want.shape, phase=0.7)

    def loss(a: Any, b: Any) -> Any:
        return np.sum(layer([a, b, C]) * probe)

    by_a, by_b = s2s.grad(loss, wrt=("a", "b"), backend="loops")(A, B)
    np.testing.assert_allclose(by_a, differences(lambda a: loss(a, B), A), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(by_b, differences(lambda b: loss(A, b), B), rtol=1e-6, atol=1e-9)


def test_inputs_broadcast() -> None:
    np.testing.assert_array_equal(Add()([A, B[:1]]), A + B[:1])


def test_one_input_is_returned() -> None:
    for layer in (Add(), Multiply(), Maximum(), Average(), Concatenate()):
        np.testing.assert_array_equal(layer([A]), A)


@pytest.mark.parametrize("samples", [0, 1])
def test_small_batches(samples: int) -> None:
    x = np.ones((samples, 2), np.float32)
    assert Average()([x, x]).shape == (samples, 2) and Average()([x, x]).dtype == np.float32
    assert Concatenate()([x, x]).shape == (samples, 4)


def test_nan_propagates() -> None:
    x, y = np.array([np.nan, 1.0]), np.array([0.0, np.nan])
    assert np.isnan(Maximum()([x, y])).all() and np.isnan(Minimum()([x, y])).all()


def test_a_subclass_defines_the_operation() -> None:
    with pytest.raises(NotImplementedError):
        Merging()([A, B])
