"""Elementwise layers: values, gradients, options, dtypes."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import ELU, Activation, Lambda, LeakyReLU, ReLU, Rescaling, Softmax
from s2s.layers.elementwise import Operation
from tests.s2s.layers.checks import check_gradients, numbers

X = np.array([[-2.0, -0.5, 0.25], [0.75, 1.5, 8.0]])


def relu(x: float, most: float | None, slope: float, threshold: float) -> float:
    """The definition in the documentation of Keras."""
    if most is not None and x >= most:
        return most
    return x if x >= threshold else slope * (x - threshold)


@pytest.mark.parametrize("most", [None, 1.0, 6.0])
@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_relu(most: float | None, slope: float, threshold: float) -> None:
    layer = ReLU(most, slope, threshold)
    want = [[relu(float(x), most, slope, threshold) for x in row] for row in X]
    np.testing.assert_allclose(layer(X), want, rtol=1e-12)
    assert layer(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "layer",
    [
        ReLU(1.0, 0.1, 0.5), ReLU(), LeakyReLU(), ELU(0.7), Softmax(), Softmax(axis=0),
        Rescaling(3.0, 1.0),
    ],
    ids=lambda layer: layer.name,
)  # fmt: skip
def test_gradients(layer: Any) -> None:
    check_gradients(layer, X)


NAN = float("nan")


@pytest.mark.parametrize(
    "options, at, value, slope",
    [
        ({"max_value": 1.0}, 1.0, 1.0, 1.0),
        ({"max_value": 6.0}, 6.0, 6.0, 0.0),
        ({"max_value": 6.0, "threshold": 0.5}, 6.0, 6.0, 1.0),
        ({"negative_slope": 0.2}, 0.0, 0.0, 0.2),
        ({"negative_slope": 0.2, "max_value": 1.0}, 0.0, 0.0, 0.0),
        ({"negative_slope": 0.2, "threshold": 0.5}, 0.5, 0.0, 0.0),
        ({"negative_slope": 0.2, "threshold": 0.5}, 0.0, -0.1, 0.2),
        ({"negative_slope": 0.2, "max_value": 1.0}, 3.0, 1.0, 0.0),
        ({"max_value": 1.0}, NAN, NAN, 1.0),
        ({"max_value": 6.0}, NAN, NAN, 1.0),
    ],
)
def test_relu_at_its_corners(options: Any, at: float, value: float, slope: float) -> None:
    """The derivatives are those of Keras."""
    layer, x = ReLU(**options), np.array([[at]], np.float32)
    np.testing.assert_allclose(layer(x), [[value]], rtol=1e-6)
    gradient = s2s.grad(lambda x: np.sum(layer(x)), backend="loops")(x)
    np.testing.assert_allclose(gradient, [[slope]], rtol=1e-6)


def test_leaky_relu() -> None:
    x = np.array([[-2.0, 3.0]])
    np.testing.assert_allclose(LeakyReLU()(x), [[-0.6, 3.0]])
    np.testing.assert_allclose(LeakyReLU(0.1)(x), [[-0.2, 3.0]])
    np.testing.assert_allclose(LeakyReLU(alpha=0.5)(x), [[-1.0, 3.0]])


def test_elu() -> None:
    np.testing.assert_allclose(ELU(2.0)(np.array([-1.0, 3.0])), [2 * math.expm1(-1.0), 3.0])


def test_softmax_along_an_axis() -> None:
    x = numbers(2, 3, 4)
    for axis in (0, 1, 2, -1):
        got = Softmax(axis)(x)
        np.testing.assert_allclose(got, np.exp(x) / np.exp(x).sum(axis, keepdims=True))


def test_rescaling_of_integers_gives_floats_of_the_layer() -> None:
    got = Rescaling(2.0, -1.0, dtype="float64")(np.array([[0, 3]]))
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, [[-1.0, 5.0]])
    assert Rescaling(2)(np.ones(1, np.float64)).dtype == np.float64
    pixels, layer = np.array([[0, 51, 255]], np.uint8), Rescaling(1.0 / 255.0)
    for call in (layer, s2s.function(lambda x: layer(x), backend="loops")):
        got = call(pixels)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, [[0.0, 0.2, 1.0]], rtol=1e-6)


def test_activation_by_name_or_function() -> None:
    np.testing.assert_allclose(Activation("tanh")(X), np.tanh(X))
    np.testing.assert_allclose(Activation(np.cos)(X), np.cos(X))
    with pytest.raises(ValueError, match="no activation"):
        Activation("tan")


def test_functions_as_layers() -> None:
    np.testing.assert_array_equal(Lambda(lambda x: x * x)(X), X * X)
    np.testing.assert_array_equal(Operation(operator.sub)(X, 1.0), X - 1.0)
    assert Operation(operator.sub).name == "sub"


@pytest.mark.parametrize("samples", [0, 1])
def test_small_batches(samples: int) -> None:
    x = np.ones((samples, 3))
    for layer in (ReLU(1.0, 0.1, 0.5), LeakyReLU(), ELU(), Softmax(), Rescaling(2.0)):
        assert layer(x).shape == (samples, 3)
