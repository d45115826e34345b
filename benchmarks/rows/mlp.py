"""A classifier with one hidden layer: 784-128-10 on 32 samples, 784-512-10 on 256."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST
from ..training import BETA_1, BETA_2, EPSILON, RATES, training


def initial(hidden: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)

    def kernel(rows: int, columns: int) -> np.ndarray:
        limit = np.sqrt(6.0 / (rows + columns))
        return rng.uniform(-limit, limit, (rows, columns)).astype(np.float32)

    return [
        kernel(784, hidden),
        np.zeros(hidden, np.float32),
        kernel(hidden, 10),
        np.zeros(10, np.float32),
    ]


def batch(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.random((count, 784), np.float32), rng.integers(0, 10, count)


def ours(hidden: int) -> tuple[Any, Any]:
    from s2s.layers import Dense
    from s2s.losses import SparseCategoricalCrossentropy
    from s2s.models import Sequential

    model = Sequential([Dense(hidden, activation="relu"), Dense(10)])
    return model, SparseCategoricalCrossentropy(from_logits=True)


def in_jax():
    import jax
    import jax.numpy as jnp

    def loss(weights, x, y):
        w1, b1, w2, b2 = weights
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
        return -jnp.mean(chosen)

    return loss


def in_torch():
    from torch.nn import functional

    def loss(weights, x, y):
        w1, b1, w2, b2 = weights
        return functional.cross_entropy(functional.relu(x @ w1 + b1) @ w2 + b2, y)

    return loss


def in_tf():
    import tensorflow as tf

    def loss(weights, x, y):
        w1, b1, w2, b2 = weights
        logits = tf.nn.relu(x @ w1 + b1) @ w2 + b2
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    return loss


def by_hand(kind: str):
    from numba import njit

    rate, one = np.float32(RATES[kind]), np.float32(1.0)
    beta_1, beta_2, epsilon = np.float32(BETA_1), np.float32(BETA_2), np.float32(EPSILON)

    @njit(**FAST)
    def differentiate(x, y, w1, b1, w2, b2, h, z, h_bar, w1_bar, b1_bar, w2_bar, b2_bar):
        count, classes = z.shape
        np.dot(x, w1, h)
        for i in range(count):
            for j in range(h.shape[1]):
                h[i, j] = max(h[i, j] + b1[j], np.float32(0.0))
        np.dot(h, w2, z)
        b1_bar[:] = 0
        b2_bar[:] = 0
        loss = np.float32(0.0)
        for i in range(count):
            largest = z[i, 0] + b2[0]
            for j in range(classes):
                z[i, j] += b2[j]
                largest = max(largest, z[i, j])
            right = z[i, y[i]] - largest
            total = np.float32(0.0)
            for j in range(classes):
                z[i, j] = np.exp(z[i, j] - largest)
                total += z[i, j]
            loss += np.log(total) - right
            scale = one / (total * np.float32(count))
            for j in range(classes):
                z[i, j] *= scale
            z[i, y[i]] -= one / np.float32(count)
            for j in range(classes):
                b2_bar[j] += z[i, j]
        np.dot(h.T, z, w2_bar)
        np.dot(z, w2.T, h_bar)
        for i in range(count):
            for j in range(h.shape[1]):
                if h[i, j] <= 0:
                    h_bar[i, j] = 0
                b1_bar[j] += h_bar[i, j]
        np.dot(x.T, h_bar, w1_bar)
        return loss / np.float32(count)

    @njit(**FAST)
    def descend(w, g):
        for i in range(w.size):
            w[i] -= rate * g[i]

    @njit(**FAST)
    def descend_adam(w, g, m, v, scale):
        for i in range(w.size):
            m[i] += (g[i] - m[i]) * (one - beta_1)
            v[i] += (g[i] * g[i] - v[i]) * (one - beta_2)
            w[i] -= scale * m[i] / (np.sqrt(v[i]) + epsilon)

    @njit(**FAST)
    def sgd_step(x, y, w, room, g):
        loss = differentiate(x, y, *w, *room, *g)
        descend(w[0].reshape(-1), g[0].reshape(-1))
        descend(w[1], g[1])
        descend(w[2].reshape(-1), g[2].reshape(-1))
        descend(w[3], g[3])
        return loss

    @njit(**FAST)
    def adam_step(x, y, w, room, g, m, v, count):
        count[0] += 1
        loss = differentiate(x, y, *w, *room, *g)
        scale = rate * np.float32(np.sqrt(1 - BETA_2 ** count[0]) / (1 - BETA_1 ** count[0]))
        descend_adam(w[0].reshape(-1), g[0].reshape(-1), m[0].ravel(), v[0].ravel(), scale)
        descend_adam(w[1], g[1], m[1], v[1], scale)
        descend_adam(w[2].reshape(-1), g[2].reshape(-1), m[2].ravel(), v[2].ravel(), scale)
        descend_adam(w[3], g[3], m[3], v[3], scale)
        return loss

    def prepare(weights, batch):
        x, y = batch
        count, hidden = len(x), weights[0].shape[1]
        w = tuple(weights)
        shapes = ((count, hidden), (count, 10), (count, hidden))
        room = tuple(np.empty(shape, np.float32) for shape in shapes)
        g, m, v = (tuple(np.zeros_like(a) for a in w) for _ in range(3))
        steps = np.zeros(1, np.int64)
        if kind == "sgd":
            return lambda: sgd_step(x, y, w, room, g)
        return lambda: adam_step(x, y, w, room, g, m, v, steps)

    return prepare


def rows(name: str, hidden: int, count: int, ahead_of_best: float):
    return training(
        name,
        f"MLP 784-{hidden}-10, batch {count}",
        lambda: initial(hidden),
        lambda: batch(count),
        ours=lambda: ours(hidden),
        jax=in_jax,
        torch=in_torch,
        tf=in_tf,
        by_hand=by_hand,
        ahead_of_best=ahead_of_best,
    )


ROWS = rows("mlp32", 128, 32, ahead_of_best=1.8) + rows("mlp256", 512, 256, ahead_of_best=1.05)
