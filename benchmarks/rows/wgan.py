"""The critic's step of a Wasserstein GAN with gradient penalty, with Adam: the gradient of a loss
that contains the gradient of the critic with respect to its input."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import row as r
from ..row import Maker, Row, Runner
from ..training import RATES, stepping, with_jax, with_tf, with_torch

BATCH, UNITS, WEIGHT = 256, 64, 10.0


def initial() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = []
    for rows, columns in ((2, UNITS), (UNITS, UNITS), (UNITS, 1)):
        made.append((rng.normal(size=(rows, columns)) * np.sqrt(2.0 / rows)).astype(np.float32))
        made.append(np.zeros(columns, np.float32))
    return made


def batch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    real, made = rng.standard_normal((2, BATCH, 2), np.float32)
    return real + np.float32(1.0), made, rng.random((BATCH, 1), np.float32)


def ours() -> Runner:
    import s2s
    from s2s.layers import Dense

    critic = s2s.Sequential([Dense(UNITS, activation="relu") for _ in range(2)] + [Dense(1)])
    real, made, part = batch()
    critic(real)
    critic.set_weights(initial())
    optimizer = s2s.optimizers.Adam(RATES["adam"])

    @s2s.function
    def step(real: Any, made: Any, part: Any) -> Any:
        between = made + part * (real - made)
        with s2s.GradientTape() as tape:
            with s2s.GradientTape() as inner:
                inner.watch(between)
                scores = critic(between)
            slope = np.sqrt(np.sum(inner.gradient(scores, between) ** 2, axis=1) + 1e-12)
            penalty = np.mean((slope - 1.0) ** 2)
            loss = WEIGHT * penalty - np.mean(critic(real)) + np.mean(critic(made))
        gradients = tape.gradient(loss, critic.trainable_variables)
        optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
        return loss

    return stepping(partial(step, real, made, part), critic.get_weights, initial())


def in_jax():
    import jax
    import jax.numpy as jnp

    def critic(weights, x):
        w1, b1, w2, b2, w3, b3 = weights
        return jax.nn.relu(jax.nn.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3

    def loss(weights, real, made, part):
        between = made + part * (real - made)
        slopes = jax.grad(lambda x: jnp.sum(critic(weights, x)))(between)
        steep = jnp.sqrt(jnp.sum(slopes**2, axis=1) + 1e-12)
        apart = jnp.mean(critic(weights, real)) - jnp.mean(critic(weights, made))
        return WEIGHT * jnp.mean((steep - 1.0) ** 2) - apart

    return loss


def in_torch():
    import torch

    def critic(weights, x):
        w1, b1, w2, b2, w3, b3 = weights
        return torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3

    def loss(weights, real, made, part):
        between = (made + part * (real - made)).requires_grad_()
        total = critic(weights, between).sum()
        (slopes,) = torch.autograd.grad(total, between, create_graph=True)
        steep = torch.sqrt(torch.sum(slopes**2, dim=1) + 1e-12)
        apart = torch.mean(critic(weights, real)) - torch.mean(critic(weights, made))
        return WEIGHT * torch.mean((steep - 1.0) ** 2) - apart

    return loss


def in_tf():
    import tensorflow as tf

    def critic(weights, x):
        w1, b1, w2, b2, w3, b3 = weights
        return tf.nn.relu(tf.nn.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3

    def loss(weights, real, made, part):
        between = made + part * (real - made)
        with tf.GradientTape() as inner:
            inner.watch(between)
            scores = critic(weights, between)
        slopes = inner.gradient(scores, between)
        steep = tf.sqrt(tf.reduce_sum(slopes**2, axis=1) + 1e-12)
        apart = tf.reduce_mean(critic(weights, real)) - tf.reduce_mean(critic(weights, made))
        return WEIGHT * tf.reduce_mean((steep - 1.0) ** 2) - apart

    return loss


MAKERS: dict[str, Maker] = {
    r.OURS: ours,
    r.JAX: partial(with_jax, in_jax, "adam", initial, batch),
    r.TORCH: partial(with_torch, in_torch, "adam", initial, batch, False),
    r.TF_EAGER: partial(with_tf, in_tf, "adam", initial, batch, "eager"),
    r.TF_FUNCTION: partial(with_tf, in_tf, "adam", initial, batch, "function"),
    r.TF_XLA: partial(with_tf, in_tf, "adam", initial, batch, "xla"),
}

ROWS = [
    Row(
        "wgan-gp",
        "second order",
        "WGAN-GP critic step, 2-64-64-1, batch 256",
        MAKERS,
        "float32",
        0.1,
        reverse=False,
    )
]
