"""Programs whose emitted code is compared with golden files: steps with tapes, models, objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import s2s
import s2s.tf as tf

# ---------------------------------------------------------------- a list of layers


def dense(x, W, b):
    # one layer
    return np.tanh(x @ W + b)


def mse(guess, y):
    d = guess - y  # residual
    return np.mean(d * d)


def list_of_layers(params, x, y, decay):
    h = x
    for W, b in params:
        h = dense(h, W, b)
    # weights should stay small
    penalty = 0.0
    for W, _ in params:
        penalty += np.sum(W * W)
    return mse(h, y) + decay * penalty


def _list_of_layers() -> str:
    r = np.random.default_rng(0)
    params = [(r.normal(size=(a, b)), r.normal(size=b)) for a, b in ((4, 5), (5, 3))]
    args = params, r.normal(size=(7, 4)), r.normal(size=(7, 3)), 0.01
    return s2s.value_and_grad(list_of_layers, wrt="params").source_for(*args)


# ---------------------------------------------------------------- a step with a tape


@s2s.function
def step_with_tape(W, b, x, y, lr):
    with s2s.GradientTape() as tape:
        tape.watch([W, b])
        # linear model
        guess = x @ W + b
        error = np.mean(np.abs(guess - y) ** 1.5)  # between l1 and l2
    dW, db = tape.gradient(error, [W, b])
    # plain descent
    W -= lr * dW
    b -= lr * db
    return error


def _step_with_tape() -> str:
    x, y = np.ones((20, 5)), np.zeros((20, 3))
    return step_with_tape.source_for(np.ones((5, 3)), np.zeros(3), x, y, 0.1)


# ---------------------------------------------------------------- layers and an optimizer


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(12, activation="tanh")
        self.out = tf.keras.layers.Dense(2)

    def call(self, inputs):
        hidden = self.first(inputs)
        return self.out(hidden + inputs)  # residual


net = Net()
opt = tf.keras.optimizers.Adam(0.01)


@tf.function
def keras_step(images, labels):
    with tf.GradientTape() as tape:
        # predictions of the network
        scores = net(images, training=True)
        cost = tf.reduce_mean(tf.square(scores - labels))
    grads = tape.gradient(cost, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return cost


def _keras_step() -> str:
    images, labels = np.ones((8, 12), np.float32), np.zeros((8, 2), np.float32)
    return keras_step.source_for(images, labels)


# ---------------------------------------------------------------- a class over time


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@dataclasses.dataclass
class Cell:
    kernel: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray

    def step(self, x, h, c):
        n = h.shape[1]
        # gates: input, forget, new, output
        z = x @ self.kernel + h @ self.recurrent + self.bias
        i, f = sigmoid(z[:, :n]), sigmoid(z[:, n : 2 * n])
        g, o = np.tanh(z[:, 2 * n : 3 * n]), sigmoid(z[:, 3 * n :])
        c = f * c + i * g
        return o * np.tanh(c), c


def lstm_cell(cell, W, xs, y):
    h = np.zeros((xs.shape[1], W.shape[0]))
    c = np.zeros_like(h)
    for t in range(xs.shape[0]):
        h, c = cell.step(xs[t], h, c)
    d = h @ W - y
    return np.mean(d * d)


def _lstm_cell() -> str:
    cell = Cell(np.ones((3, 20)), np.ones((5, 20)), np.ones(20))
    args = cell, np.ones((5, 2)), np.ones((6, 4, 3)), np.zeros((4, 2))
    return s2s.value_and_grad(lstm_cell, wrt=("cell", "W")).source_for(*args)


# ---------------------------------------------------------------- state in an object


class Filter:
    """A running mean with momentum, which counts its calls."""

    def __init__(self) -> None:
        self.mean = np.zeros(3)
        self.count = 0
        self.rate = 0.9


smooth = Filter()


@s2s.function
def object_with_state(x):
    smooth.count += 1
    # exponential moving average
    smooth.mean = smooth.rate * smooth.mean + (1.0 - smooth.rate) * x
    return np.sum((x - smooth.mean) ** 2)


def _object_with_state() -> str:
    object_with_state(np.ones(3))
    return object_with_state.source_for(np.ones(3))


PROGRAMS: dict[str, Callable[[], Any]] = {
    "list_of_layers": _list_of_layers,
    "step_with_tape": _step_with_tape,
    "keras_step": _keras_step,
    "lstm_cell": _lstm_cell,
    "object_with_state": _object_with_state,
}
