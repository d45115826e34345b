"""Linear regression of one feature, 32 samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST
from ..training import BETA_1, BETA_2, EPSILON, RATES, training


def initial() -> list[np.ndarray]:
    return [np.full((1, 1), 0.4, np.float32), np.zeros(1, np.float32)]


def batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(42)
    x = np.linspace(-1.0, 1.0, 32, dtype=np.float32).reshape(-1, 1)
    return x, 2.0 * x - 1.0 + 0.2 * rng.standard_normal(x.shape, np.float32)


def ours() -> tuple[Any, Any]:
    from s2s.layers import Dense
    from s2s.losses import MeanSquaredError
    from s2s.models import Model

    class LinearModel(Model):
        def __init__(self):
            super().__init__()
            self.dense = Dense(1)

        def call(self, inputs):
            return self.dense(inputs)

    return LinearModel(), MeanSquaredError()


def in_jax():
    import jax.numpy as jnp

    def loss(weights, x, y):
        kernel, bias = weights
        return jnp.mean((x @ kernel + bias - y) ** 2)

    return loss


def in_torch():
    from torch.nn import functional

    def loss(weights, x, y):
        kernel, bias = weights
        return functional.mse_loss(x @ kernel + bias, y)

    return loss


def in_tf():
    import tensorflow as tf

    def loss(weights, x, y):
        kernel, bias = weights
        return tf.reduce_mean((x @ kernel + bias - y) ** 2)

    return loss


def by_hand(kind: str):
    from numba import njit

    rate = np.float32(RATES[kind])
    beta_1, beta_2, epsilon = np.float32(BETA_1), np.float32(BETA_2), np.float32(EPSILON)
    one = np.float32(1.0)

    @njit(**FAST)
    def differentiate(x, y, kernel, bias):
        loss = kernel_bar = bias_bar = np.float32(0.0)
        for i in range(x.shape[0]):
            apart = x[i, 0] * kernel[0, 0] + bias[0] - y[i, 0]
            loss += apart * apart
            kernel_bar += apart * x[i, 0]
            bias_bar += apart
        scale = one / np.float32(x.shape[0])
        return loss * scale, kernel_bar * 2 * scale, bias_bar * 2 * scale

    @njit(**FAST)
    def sgd_step(x, y, kernel, bias):
        loss, kernel_bar, bias_bar = differentiate(x, y, kernel, bias)
        kernel[0, 0] -= rate * kernel_bar
        bias[0] -= rate * bias_bar
        return loss

    @njit(**FAST)
    def adam_step(x, y, kernel, bias, m, v, count):
        count[0] += 1
        loss, kernel_bar, bias_bar = differentiate(x, y, kernel, bias)
        scale = rate * np.float32(np.sqrt(1 - BETA_2 ** count[0]) / (1 - BETA_1 ** count[0]))
        m[0] += (kernel_bar - m[0]) * (one - beta_1)
        m[1] += (bias_bar - m[1]) * (one - beta_1)
        v[0] += (kernel_bar * kernel_bar - v[0]) * (one - beta_2)
        v[1] += (bias_bar * bias_bar - v[1]) * (one - beta_2)
        kernel[0, 0] -= scale * m[0] / (np.sqrt(v[0]) + epsilon)
        bias[0] -= scale * m[1] / (np.sqrt(v[1]) + epsilon)
        return loss

    def prepare(weights, batch):
        m, v = np.zeros(2, np.float32), np.zeros(2, np.float32)
        count = np.zeros(1, np.int64)
        if kind == "sgd":
            return lambda: sgd_step(*batch, *weights)
        return lambda: adam_step(*batch, *weights, m, v, count)

    return prepare


ROWS = training(
    "linear",
    "linear regression, batch 32",
    initial,
    batch,
    ours=ours,
    jax=in_jax,
    torch=in_torch,
    tf=in_tf,
    by_hand=by_hand,
    ahead_of_jax=10.0,
)
