"""Edge cases of layers and losses, compared with Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import BatchNormalization, Input, ReLU, Rescaling, TimeDistributed, activations
from s2s.losses.losses_rare import CosineSimilarity, KLDivergence
from s2s.models import Model

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
    layer, x = ReLU(**options), np.array([[at]], np.float32)
    np.testing.assert_allclose(layer(x), [[value]], rtol=1e-6)
    np.testing.assert_allclose(s2s.grad(lambda x: np.sum(layer(x)))(x), [[slope]], rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in activations.NAMES if n])
def test_activations_keep_precision_and_nan(name: str) -> None:
    given = np.array([[-8.0, NAN, 8.0]], np.float32)
    plain = activations.get(name)(given)
    assert plain.dtype == np.float32 and np.isnan(plain[0, 1])
    compiled = s2s.function(activations.get(name), backend="loops")(given)
    assert compiled.dtype == np.float32 and np.isnan(compiled[0, 1])


def test_pixels_become_floats_of_the_layer() -> None:
    pixels = np.array([[0, 51, 255]], np.uint8)
    for call in (layer := Rescaling(1.0 / 255.0), s2s.function(lambda x: layer(x))):
        got = call(pixels)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, [[0.0, 0.2, 1.0]], rtol=1e-6)


def test_directions_along_an_axis_and_of_short_vectors() -> None:
    x, y = np.array([[3.0, 0.0], [4.0, 1.0]]), np.array([[6.0, 1.0], [8.0, 0.0]])
    np.testing.assert_allclose(CosineSimilarity(axis=0, reduction=None)(x, y), [-1.0, 0.0])
    np.testing.assert_allclose(CosineSimilarity(reduction="none")(x, x * 1e-6), [-1.0, -1.0])
    assert KLDivergence("sum").reduction == "sum"


def test_an_example_teaches_nothing() -> None:
    inputs, layer = Input((3,)), BatchNormalization()
    model = Model(inputs, layer(inputs, training=True))
    np.testing.assert_array_equal(layer.moving_variance, np.ones(3))
    model(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    assert np.all(layer.moving_mean.numpy() > 0.0)


def test_steps_that_are_normalised_one_by_one_are_refused() -> None:
    with pytest.raises(ValueError, match="without BatchNormalization"):
        TimeDistributed(BatchNormalization())
