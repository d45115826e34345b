"""What the tests of layers share: example arrays, and gradients against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np

import s2s

STEP = 1e-5


def numbers(*shape: int, phase: float = 0.3) -> Any:
    """Distinct float64 numbers between -1 and 1."""
    size = int(np.prod(shape))
    return np.sin(1.7 * np.arange(size) + phase).reshape(shape)


def spread_weights(layer: Any) -> None:
    """Give each weight values that are neither all zeros nor all ones.  Moving statistics get
    positive ones, since a variance is not negative."""
    for k, weight in enumerate(layer.weights):
        values = 0.6 * numbers(*weight.shape, phase=0.5 + k) + 0.1
        weight.assign(values if weight.trainable else np.abs(values) + 0.1)


def differences(f: Any, x: Any) -> Any:
    """The gradient of a scalar function of one array, by central differences."""
    gradient = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        values = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[index] += sign * STEP
            values.append(float(f(moved)))
        gradient[index] = (values[0] - values[1]) / (2.0 * STEP)
    return gradient


def check_gradients(layer: Any, x: Any, **options: Any) -> None:
    """Compare the gradients of a weighted sum of the outputs, for the inputs and each trainable
    weight, with finite differences of calls of the layer in plain Python.  The layer is of
    float64."""
    layer(x, **options)
    spread_weights(layer)
    probe = numbers(*np.shape(layer(x, **options)), phase=1.1)
    variables = layer.trainable_variables

    @s2s.function(backend="loops")
    def run(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch(x)
            loss = np.sum(layer(x, **options) * probe)
        return tape.gradient(loss, [x, *variables])

    def loss(x: Any) -> float:
        return float(np.sum(np.asarray(layer(x, **options)) * probe))

    by_x, *by_weights = run(x)
    np.testing.assert_allclose(by_x, differences(loss, x), rtol=1e-6, atol=1e-8)
    assert len(by_weights) == len(variables)
    for weight, gradient in zip(variables, by_weights):
        value = weight.numpy().copy()

        def of_weight(moved: Any, weight: Any = weight) -> float:
            weight.assign(moved)
            return loss(x)

        want = differences(of_weight, value)
        weight.assign(value)
        np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-8, err_msg=weight.name)
