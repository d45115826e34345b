"""Symbols: results of layers called on an `Input`, before there are data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.layers import LSTM, Add, BatchNormalization, Dense, Input, Lambda
from s2s.layers.symbolic_input import Symbol, examples, is_symbol
from s2s.models import Model


def test_a_layer_is_built_when_it_is_called_on_a_symbol() -> None:
    given, layer = Input((3,)), Dense(2)
    out = layer(given)
    assert isinstance(out, Symbol) and out.shape == (None, 2)
    assert layer.kernel.shape == (3, 2)
    assert out.made is not None and out.made.layer is layer and out.made.args == (given,)


def test_calls_are_numbered_in_topological_order() -> None:
    given = Input((3,))
    one, other = Dense(2)(given), Dense(2)(given)
    merged = Add()([one, other])
    assert one.made.number < other.made.number < merged.made.number


def test_several_results_are_symbols_of_one_call() -> None:
    outputs = LSTM(2, return_sequences=True, return_state=True)(Input((4, 3)))
    assert [s.part for s in outputs] == [0, 1, 2]
    assert [s.shape for s in outputs] == [(None, 4, 2), (None, 2), (None, 2)]
    assert len({id(s.made) for s in outputs}) == 1


X = np.array([[1.0, -2.0, 4.0], [0.5, 3.0, 8.0]], np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1.0,
        lambda x: 1.0 + x,
        lambda x: x - 3.0,
        lambda x: 3.0 - x,
        lambda x: x * 2.0,
        lambda x: 2.0 * x,
        lambda x: x / 4.0,
        lambda x: -x,
        lambda x: x[:, 1:],
        lambda x: x - x * x,
        lambda x: np.float32(2.0) * x,
    ],
)
def test_operators_compute_what_they_do_on_arrays(function: Any) -> None:
    given = Input((3,))
    np.testing.assert_allclose(Model(given, function(given))(X), function(X), rtol=1e-6)


def test_symbols_are_no_arrays() -> None:
    out = Dense(2)(Input((3,)))
    with pytest.raises(TypeError, match=r"is not an array; use a layer, or layers.Lambda"):
        np.asarray(out)
    with pytest.raises(TypeError):
        np.tanh(out)
    with pytest.raises(TypeError, match="cannot be iterated"):
        list(out)
    assert Lambda(np.tanh)(out).shape == (None, 2)


def test_is_symbol() -> None:
    given = Input((3,))
    assert is_symbol(given) and is_symbol([X, (given,)]) and is_symbol((given, X))
    assert not is_symbol(X) and not is_symbol([X, []]) and not is_symbol(None)


def test_examples_replace_symbols_only() -> None:
    given = Input((3,))
    got = examples([given, (X, 2)])
    assert got[0] is given.example and got[1][0] is X and got[1][1] == 2
    assert type(got[1]) is tuple


def test_examples_leave_moving_statistics_unchanged() -> None:
    inputs, layer = Input((3,)), BatchNormalization()
    model = Model(inputs, layer(inputs, training=True))
    np.testing.assert_array_equal(layer.moving_variance, np.ones(3))
    model(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    assert np.all(layer.moving_mean.numpy() > 0.0)
