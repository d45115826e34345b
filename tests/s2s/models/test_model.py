"""Functional models (`Input`), and models that are built for a shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import (
    LSTM,
    Add,
    Bidirectional,
    Concatenate,
    Dense,
    Dropout,
    Embedding,
    Input,
    Lambda,
    MultiHeadAttention,
)
from s2s.losses import Huber, SparseCategoricalCrossentropy
from s2s.models import Model, Sequential

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def gradients(model: Any, data: Any, backend: str = "loops") -> Any:
    @s2s.function(backend=backend)
    def run(data: Any) -> Any:
        with s2s.GradientTape() as tape:
            out = model(data)
            loss = np.sum(out**2)
        return out, tape.gradient(loss, model.trainable_variables)

    return run(data)


def test_layers_one_after_another() -> None:
    inputs = Input(shape=(4,))
    hidden = Dense(5, activation="tanh")(inputs)
    outputs = Dense(2)(hidden)
    model = Model(inputs=inputs, outputs=outputs, name="two")
    assert model.name == "two" and outputs.shape == (None, 2)
    assert [w.shape for w in model.weights] == [(4, 5), (5,), (5, 2), (2,)]
    assert model.count_params() == 37
    same = Sequential(model.layers)
    for got, want in zip(gradients(model, X)[1], gradients(same, X)[1]):
        np.testing.assert_array_equal(got, want)


def test_branches_shared_layers_and_operators() -> None:
    inputs = Input((4,))
    shared = Dense(4, activation="tanh")
    a = shared(inputs)
    b = shared(a)
    sides = Concatenate()([Add()([a, b]), a * 2.0, 1.0 - b, (a - b) / 2.0, -a[:, :2]])
    model = Model(inputs, Dense(1)(sides) + Lambda(lambda x: x[:, :1])(inputs))
    assert len(model.trainable_variables) == 4

    def by_hand(x: Any) -> Any:
        a = np.tanh(x @ shared.kernel + shared.bias)
        b = np.tanh(a @ shared.kernel + shared.bias)
        sides = np.concatenate([a + b, a * 2.0, 1.0 - b, (a - b) / 2.0, -a[:, :2]], axis=1)
        last = model.trainable_variables[2:]
        return sides @ last[0] + last[1] + x[:, :1]

    np.testing.assert_allclose(model(X), by_hand(X), rtol=1e-5, atol=1e-6)
    out, grads = gradients(model, X, backend="numba")
    np.testing.assert_allclose(out, by_hand(X), rtol=1e-5, atol=1e-6)

    @s2s.function(backend="loops")
    def run(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum(by_hand(x) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    for got, want in zip(grads, run(X)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_several_inputs_and_parts_of_outputs() -> None:
    left, right = Input((4,)), Input((None, 4))
    outputs, state, _ = LSTM(3, return_sequences=True, return_state=True)(right)
    mixed = MultiHeadAttention(1, 2)(outputs, outputs)
    model = Model([left, right], [Dense(3)(left) + state, mixed])
    sequences = np.stack([X, X[::-1], 2 * X[:, ::-1], X, X, X]).astype(np.float32)
    one, two = model([X, sequences])
    assert one.shape == (6, 3) and two.shape == (6, 6, 3)
    compiled = s2s.function(backend="loops")(lambda a, b: model([a, b]))(X, sequences)
    np.testing.assert_allclose(compiled[1], two, rtol=1e-5, atol=1e-6)
    hidden = Model(model.inputs, model.layers[0](right)[1])
    np.testing.assert_array_equal(hidden([X, sequences]), model.layers[0](sequences)[1])


def test_training_is_passed_on() -> None:
    inputs = Input((4,))
    model = Model(inputs, Dropout(0.5, seed=1)(inputs))
    np.testing.assert_array_equal(model(X), X)
    assert np.any(model(X, training=True) == 0.0)


def test_complaints() -> None:
    inputs, other = Input((4,)), Input((4,))
    with pytest.raises(ValueError, match="not among the inputs"):
        Model(inputs, Add()([inputs, other]))
    with pytest.raises(TypeError, match="Input"):
        Model(inputs=X, outputs=Dense(1)(inputs))
    with pytest.raises(TypeError, match="is not an array"):
        np.tanh(np.asarray(Dense(1)(inputs)))


def test_models_are_built_for_a_shape(capsys: pytest.CaptureFixture[str]) -> None:
    model = Sequential([Dense(3), Dense(2)])
    model.build((None, 4))
    assert [w.shape for w in model.get_weights()] == [(4, 3), (3,), (3, 2), (2,)]
    model.summary()
    assert "Total params: 23" in capsys.readouterr().out

    class Own(Model):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Dense(2)

        def call(self, x: Any) -> Any:
            return self.inner(x)

    own = Own()
    own.build((None, 4))
    assert own.count_params() == 10

    class Scaled(Own):
        def build(self, input_shape: tuple[int, ...]) -> None:
            self.gain = self.add_weight((input_shape[-1],), "ones")
            super().build(input_shape)

        def call(self, x: Any) -> Any:
            return self.inner(x * self.gain)

    assert Scaled()(X).shape == (6, 2)


def test_a_model_of_indices_is_built_for_a_shape() -> None:
    model = Sequential([Embedding(5, 3), Bidirectional(LSTM(2)), Dense(1)])
    model.build((None, 7))
    assert model(np.array([[0, 4, 2]])).shape == (1, 1)


def test_a_loss_made_in_a_step() -> None:
    w = s2s.Variable(np.ones((4, 2), np.float32))
    labels = np.array([0, 1, 1, 0, 1, 0])

    def loss_of(x: Any) -> Any:
        made = SparseCategoricalCrossentropy(from_logits=True)
        return made(labels, x @ w) + Huber(delta=0.5, reduction="sum")(x[:, :2], x @ w)

    @s2s.function(backend="loops")
    def step(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_of(x)
        return loss, tape.gradient(loss, w)

    loss, gradient = step(X)
    np.testing.assert_allclose(loss, loss_of(X), rtol=1e-5)
    assert gradient.shape == (4, 2) and np.all(gradient != 0.0)
