"""`Bidirectional` and `TimeDistributed`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.layers import (
    GRU,
    LSTM,
    BatchNormalization,
    Bidirectional,
    Dense,
    Dropout,
    SimpleRNN,
    TimeDistributed,
)
from s2s.models import Sequential
from tests.s2s.layers.checks import check_gradients, numbers

X = numbers(2, 4, 3)


def parts(layer: Any) -> tuple[Any, Any]:
    """The outputs of the two layers, by layers of the same weights outside the wrapper."""
    made = []
    for part in (layer.forward_layer, layer.backward_layer):
        alone = SimpleRNN(2, return_sequences=part.return_sequences, dtype="float64")
        x = X[:, ::-1] if part.go_backwards else X
        alone(x)
        alone.set_weights(part.get_weights())
        out = alone(x)
        made.append(out[:, ::-1] if part.go_backwards and part.return_sequences else out)
    return made[0], made[1]


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize(
    "mode, merge",
    [
        ("concat", lambda f, b: np.concatenate([f, b], -1)),
        ("sum", lambda f, b: f + b),
        ("mul", lambda f, b: f * b),
        ("ave", lambda f, b: (f + b) / 2),
    ],
)
def test_merge_modes(mode: str, merge: Any, sequences: bool) -> None:
    layer = Bidirectional(SimpleRNN(2, return_sequences=sequences, dtype="float64"), mode)
    got = layer(X)
    np.testing.assert_allclose(got, merge(*parts(layer)), rtol=1e-13)


def test_unmerged() -> None:
    layer = Bidirectional(SimpleRNN(2, dtype="float64"), None)
    forward, backward = layer(X)
    for got, want in zip((forward, backward), parts(layer)):
        np.testing.assert_allclose(got, want, rtol=1e-13)


def test_weights_of_the_two_layers_are_distinct() -> None:
    layer = Bidirectional(GRU(2, name="gru"))
    layer(X)
    assert len(layer.weights) == 6 and layer.backward_layer.name == "backward_gru"
    assert layer.backward_layer.go_backwards and not layer.forward_layer.go_backwards
    assert layer.forward_layer.kernel is not layer.backward_layer.kernel


def test_gradients() -> None:
    x = numbers(2, 3, 2)
    both = Bidirectional(SimpleRNN(2, return_sequences=True, dtype="float64"), "mul")
    check_gradients(both, x)
    check_gradients(TimeDistributed(Dense(2, "tanh", dtype="float64")), x)


def test_what_bidirectional_refuses() -> None:
    built = LSTM(2)
    built(X)
    for layer in (built, LSTM(2, return_state=True)):
        with pytest.raises(ValueError, match="a new layer, without return_state"):
            Bidirectional(layer)
    with pytest.raises(ValueError, match="no merge_mode 'max'; choose from .*concat"):
        Bidirectional(LSTM(2), "max")


def test_each_step_of_each_sample() -> None:
    inner = Dense(2, dtype="float64")
    got = TimeDistributed(inner)(X)
    assert got.shape == (2, 4, 2)
    for n, t in np.ndindex(2, 4):
        np.testing.assert_allclose(got[n, t], inner(X[n, t : t + 1])[0], rtol=1e-13)


@pytest.mark.parametrize("samples, steps", [(0, 3), (1, 1), (2, 0)])
def test_small_batches(samples: int, steps: int) -> None:
    x = np.ones((samples, steps, 3), np.float32)
    got = TimeDistributed(Dense(2))(x)
    assert got.shape == (samples, steps, 2) and got.dtype == np.float32


def test_training_reaches_the_inner_layer() -> None:
    layer = TimeDistributed(Dropout(0.5, seed=0))
    np.testing.assert_array_equal(layer(X), X)
    assert np.any(layer(X, training=True) == 0.0)


def test_statistics_over_samples_are_refused() -> None:
    for inner in (BatchNormalization(), Sequential([Dense(2), BatchNormalization()])):
        with pytest.raises(ValueError, match="without BatchNormalization"):
            TimeDistributed(inner)
