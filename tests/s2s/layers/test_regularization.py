"""Dropout, noise, layer and batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.layers import BatchNormalization, Dropout, GaussianNoise, LayerNormalization
from tests.s2s.layers.checks import check_gradients, numbers, spread_weights

X = numbers(5, 3)


# ---------------------------------------------------------------- random layers


@pytest.mark.parametrize("layer", [Dropout(0.5), GaussianNoise(1.0)], ids=lambda x: x.name)
def test_inputs_pass_unless_training(layer: Any) -> None:
    assert layer(X) is X and layer(X, training=False) is X
    assert np.any(layer(X, training=True) != X)


@pytest.mark.parametrize("make", [Dropout, GaussianNoise])
def test_a_seed_determines_the_draws(make: Any) -> None:
    one, other = make(0.4, seed=7), make(0.4, seed=7)
    first = one(X, training=True)
    np.testing.assert_array_equal(first, other(X, training=True))
    assert np.any(one(X, training=True) != first)  # the next draw differs


def test_dropout_keeps_the_mean() -> None:
    ones = np.ones((400, 50))
    dropped = Dropout(0.25, seed=0)(ones, training=True)
    assert set(np.unique(dropped)) == {0.0, 1.0 / 0.75}
    # 20,000 draws: the standard error of the mean is 0.0041.
    assert abs(dropped.mean() - 1.0) < 0.02


def test_noise_has_the_given_deviation() -> None:
    noise = GaussianNoise(0.5, seed=0)(np.zeros((400, 50)), training=True)
    assert abs(noise.std() - 0.5) < 0.015 and abs(noise.mean()) < 0.02


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_layers_keep_dtype_and_shape(dtype: str) -> None:
    for samples in (0, 1, 3):
        x = np.ones((samples, 2), dtype)
        for layer in (Dropout(0.5), GaussianNoise(0.5)):
            got = layer(x, training=True)
            assert got.shape == x.shape and got.dtype == dtype


def test_dropout_of_nothing() -> None:
    np.testing.assert_array_equal(Dropout(0.0)(X, training=True), X)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2.0, float("nan")])
def test_wrong_rates_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"the rate of Dropout lies in \[0, 1\), not"):
        Dropout(rate)


# ---------------------------------------------------------------- normalisation


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_layer_normalisation(center: bool, scale: bool) -> None:
    layer = LayerNormalization(0.01, center, scale, dtype="float64")
    x = numbers(2, 3, 4)
    layer(x)
    assert [w.name.split("/")[1] for w in layer.weights] == ["gamma"] * scale + ["beta"] * center
    spread_weights(layer)
    got = layer(x)
    for i, j in np.ndindex(2, 3):
        row = x[i, j]
        want = (row - sum(row) / 4) / np.sqrt(np.var(row) + 0.01)
        want = want * (layer.gamma.numpy() if scale else 1.0)
        want = want + (layer.beta.numpy() if center else 0.0)
        np.testing.assert_allclose(got[i, j], want, rtol=1e-12)


def test_batch_statistics() -> None:
    layer = BatchNormalization(momentum=0.75, epsilon=0.01, dtype="float64")
    x = numbers(2, 3, 4)
    got = layer(x, training=True)
    columns = x.reshape(6, 4)
    mean, variance = columns.mean(0), columns.var(0)
    np.testing.assert_allclose(got, (x - mean) / np.sqrt(variance + 0.01), rtol=1e-12)
    np.testing.assert_allclose(layer.moving_mean, 0.25 * mean, rtol=1e-12)
    np.testing.assert_allclose(layer.moving_variance, 0.75 + 0.25 * variance, rtol=1e-12)
    layer(x, training=True)
    np.testing.assert_allclose(layer.moving_mean, (0.25 * 0.75 + 0.25) * mean, rtol=1e-12)


def test_moving_statistics_are_used_outside_training() -> None:
    layer = BatchNormalization(epsilon=0.0, dtype="float64")
    layer(X)
    layer.moving_mean.assign([1.0, 2.0, 3.0])
    layer.moving_variance.assign([4.0, 1.0, 0.25])
    layer.gamma.assign([1.0, 2.0, 1.0])
    layer.beta.assign([0.0, 0.0, 5.0])
    want = (X - [1.0, 2.0, 3.0]) / [2.0, 0.5, 0.5] + [0.0, 0.0, 5.0]
    np.testing.assert_allclose(layer(X), want, rtol=1e-12)
    np.testing.assert_array_equal(layer.moving_mean, [1.0, 2.0, 3.0])


def test_a_frozen_layer_is_in_inference_mode() -> None:
    layer = BatchNormalization(epsilon=0.0, dtype="float64")
    layer(X)
    layer.trainable = False
    np.testing.assert_allclose(layer(X, training=True), X)
    np.testing.assert_array_equal(layer.moving_mean, np.zeros(3))


def test_statistics_are_not_trained() -> None:
    layer = BatchNormalization()
    layer(X)
    names = [w.name.split("/")[1] for w in layer.weights]
    assert names == ["gamma", "beta", "moving_mean", "moving_variance"]
    assert [w.name.split("/")[1] for w in layer.trainable_variables] == ["gamma", "beta"]


def test_one_sample_has_variance_zero() -> None:
    layer = BatchNormalization()
    np.testing.assert_array_equal(layer(np.full((1, 2), 3.0), training=True), [[0.0, 0.0]])


def test_gradients() -> None:
    check_gradients(LayerNormalization(dtype="float64"), numbers(2, 3))
    check_gradients(BatchNormalization(scale=False, dtype="float64"), X)


def test_gradients_through_batch_statistics() -> None:
    """The moving statistics, which each call changes, have no influence on the outputs."""
    layer = BatchNormalization(dtype="float64")
    check_gradients(layer, numbers(4, 2), training=True)


@pytest.mark.parametrize("layer", [LayerNormalization, BatchNormalization])
def test_small_batches_and_widths(layer: Any) -> None:
    made = layer(name="norm")
    assert made(np.ones((1, 2), np.float32)).dtype == np.float32
    assert made(np.ones((0, 2), np.float32)).shape == (0, 2)
    with pytest.raises(ValueError, match="norm was built for inputs of 2 features"):
        made(np.ones((1, 3)))
