"""A classifier of sequences: an LSTM of 64 units over 32 steps, and a dense layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..training import training

BATCH, STEPS, FEATURES, UNITS = 32, 32, 16, 64


def initial() -> list[np.ndarray]:
    rng = np.random.default_rng(0)

    def kernel(rows: int, columns: int) -> np.ndarray:
        return (rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)

    bias = np.zeros(4 * UNITS, np.float32)
    bias[UNITS : 2 * UNITS] = 1.0
    gates = [kernel(FEATURES, 4 * UNITS), kernel(UNITS, 4 * UNITS), bias]
    return [*gates, kernel(UNITS, 10), np.zeros(10, np.float32)]


def batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((BATCH, STEPS, FEATURES), np.float32)
    return x, rng.integers(0, 10, BATCH)


def ours() -> tuple[Any, Any]:
    from s2s.layers import LSTM, Dense
    from s2s.losses import SparseCategoricalCrossentropy
    from s2s.models import Sequential

    return Sequential([LSTM(UNITS), Dense(10)]), SparseCategoricalCrossentropy(from_logits=True)


def in_jax():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(weights, x, y):
        kernel, recurrent, bias, w, b = weights

        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x + h @ recurrent, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((x.shape[0], UNITS), x.dtype)
        (h, _), _ = lax.scan(step, (zeros, zeros), jnp.swapaxes(x @ kernel + bias, 0, 1))
        scores = jax.nn.log_softmax(h @ w + b)
        return -jnp.mean(jnp.take_along_axis(scores, y[:, None], axis=1))

    return loss


def in_torch():
    import torch
    from torch.nn import functional as f

    def loss(weights, x, y):
        kernel, recurrent, bias, w, b = weights
        zeros = torch.zeros((1, BATCH, UNITS))
        params = [kernel.T, recurrent.T, bias, torch.zeros_like(bias)]
        params = [p.contiguous() for p in params]
        _, h, _ = torch.lstm(x, (zeros, zeros), params, True, 1, 0.0, True, False, True)
        return f.cross_entropy(h[0] @ w + b, y)

    return loss


def in_tf():
    import tensorflow as tf

    def loss(weights, x, y):
        kernel, recurrent, bias, w, b = weights
        h = c = tf.zeros((BATCH, UNITS))
        for z in tf.unstack(x @ kernel + bias, axis=1):
            i, f, g, o = tf.split(z + h @ recurrent, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        logits = h @ w + b
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    return loss


ROWS = training(
    "lstm",
    "LSTM 64, 32 steps, batch 32",
    initial,
    batch,
    ours=ours,
    jax=in_jax,
    torch=in_torch,
    tf=in_tf,
)
