"""Layers and optimizers that are compared with Keras: how each is made, in either library.

`keras` is `tf.keras` or the namespace `s2s.tf.keras`; both have the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def numbers(shape: tuple[int, ...], phase: float = 0.0) -> Any:
    """The same numbers everywhere, between -0.8 and 0.8."""
    size = int(np.prod(shape))
    return (0.8 * np.sin(1.3 * np.arange(size) + phase + len(shape))).reshape(shape)


def image(*shape: int) -> Any:
    return numbers(shape, 0.5).astype(np.float32)


LAYERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "dense": (lambda k: k.layers.Dense(4, activation="tanh"), image(5, 3)),
    "dense_relu": (lambda k: k.layers.Dense(4, activation="relu"), image(5, 3)),
    "dense_sigmoid": (lambda k: k.layers.Dense(4, activation="sigmoid"), image(5, 3)),
    "dense_softmax": (lambda k: k.layers.Dense(4, activation="softmax"), image(5, 3)),
    "dense_of_sequences": (lambda k: k.layers.Dense(4), image(2, 3, 3)),
    "conv": (lambda k: k.layers.Conv2D(3, 3, activation="tanh"), image(2, 6, 5, 2)),
    "conv_same": (lambda k: k.layers.Conv2D(3, (3, 2), padding="same"), image(2, 5, 5, 2)),
    "conv_strided": (lambda k: k.layers.Conv2D(2, 3, strides=2, padding="same"), image(2, 6, 7, 1)),
    "max_pool": (lambda k: k.layers.MaxPool2D(), image(2, 5, 6, 2)),
    "max_pool_same": (lambda k: k.layers.MaxPool2D(3, 2, padding="same"), image(1, 5, 6, 2)),
    "flatten": (lambda k: k.layers.Flatten(), image(2, 3, 4)),
    "layer_norm": (lambda k: k.layers.LayerNormalization(), image(4, 6)),
    "batch_norm": (lambda k: k.layers.BatchNormalization(), image(6, 3)),
    "embedding": (lambda k: k.layers.Embedding(5, 3), np.array([[0, 4, 2], [4, 1, 1]])),
    "simple_rnn": (lambda k: k.layers.SimpleRNN(4), image(3, 5, 2)),
    "lstm": (lambda k: k.layers.LSTM(4, return_sequences=True), image(3, 5, 2)),
    "gru": (lambda k: k.layers.GRU(4), image(3, 5, 2)),
    "attention": (lambda k: k.layers.MultiHeadAttention(2, 3), image(2, 4, 5)),
}

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda k: k.optimizers.SGD(0.1),
    "momentum": lambda k: k.optimizers.SGD(0.05, momentum=0.9),
    "nesterov": lambda k: k.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    "adam": lambda k: k.optimizers.Adam(0.05),
    "adamw": lambda k: k.optimizers.AdamW(0.05),
    "rmsprop": lambda k: k.optimizers.RMSprop(0.02),
    "rmsprop_full": lambda k: k.optimizers.RMSprop(0.02, momentum=0.5, centered=True),
    "adagrad": lambda k: k.optimizers.Adagrad(0.1),
    "clipnorm": lambda k: k.optimizers.SGD(0.1, clipnorm=0.5),
    "clipvalue": lambda k: k.optimizers.SGD(0.1, clipvalue=0.2),
    "global_clipnorm": lambda k: k.optimizers.Adam(0.05, global_clipnorm=0.3),
    "weight_decay": lambda k: k.optimizers.SGD(0.1, weight_decay=0.05),
    "exponential": lambda k: k.optimizers.SGD(
        k.optimizers.schedules.ExponentialDecay(0.2, 5, 0.7, staircase=True)
    ),
    "cosine": lambda k: k.optimizers.SGD(k.optimizers.schedules.CosineDecay(0.2, 15, alpha=0.1)),
}

STEPS = 20
TARGET = numbers((3, 2), 2.0).astype(np.float32)


def flat(arrays: Any) -> list[list[float]]:
    return [np.asarray(a, np.float64).ravel().tolist() for a in arrays]
