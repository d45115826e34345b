"""A convolutional classifier of 28×28 images, two convolutions and three dense layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..training import training

SHAPES = (
    (5, 5, 1, 6),
    (6,),
    (5, 5, 6, 16),
    (16,),
    (400, 120),
    (120,),
    (120, 84),
    (84,),
    (84, 10),
    (10,),
)


def initial() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = []
    for shape in SHAPES:
        scale = np.sqrt(2.0 / np.prod(shape[:-1])) if len(shape) > 1 else 0.0
        made.append((scale * rng.normal(size=shape)).astype(np.float32))
    return made


def batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.random((32, 28, 28, 1), np.float32), rng.integers(0, 10, 32)


def ours() -> tuple[Any, Any]:
    from s2s.layers import Conv2D, Dense, Flatten, MaxPool2D
    from s2s.losses import SparseCategoricalCrossentropy
    from s2s.models import Sequential

    model = Sequential(
        [
            Conv2D(6, 5, padding="same", activation="relu"),
            MaxPool2D(),
            Conv2D(16, 5, activation="relu"),
            MaxPool2D(),
            Flatten(),
            Dense(120, activation="relu"),
            Dense(84, activation="relu"),
            Dense(10),
        ]
    )
    return model, SparseCategoricalCrossentropy(from_logits=True)


def in_jax():
    import jax
    import jax.numpy as jnp
    from jax import lax

    layout = ("NHWC", "HWIO", "NHWC")

    def convolved(x, w, b, padding):
        made = lax.conv_general_dilated(x, w, (1, 1), padding, dimension_numbers=layout)
        window = (1, 2, 2, 1)
        return lax.reduce_window(jax.nn.relu(made + b), -jnp.inf, lax.max, window, window, "VALID")

    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = weights
        x = convolved(x, w1, b1, "SAME")
        x = convolved(x, w2, b2, "VALID").reshape(len(x), -1)
        x = jax.nn.relu(x @ w3 + b3)
        logits = jax.nn.relu(x @ w4 + b4) @ w5 + b5
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
        return -jnp.mean(chosen)

    return loss


def in_torch():
    from torch.nn import functional as f

    def convolved(x, w, b, padding):
        # Kernels are kept as in the other libraries; PyTorch has the channels first.
        x = f.relu(f.conv2d(x, w.permute(3, 2, 0, 1), b, padding=padding))
        return f.max_pool2d(x, 2)

    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = weights
        x = convolved(x.permute(0, 3, 1, 2), w1, b1, 2)
        x = convolved(x, w2, b2, 0).permute(0, 2, 3, 1).reshape(len(y), -1)
        x = f.relu(x @ w3 + b3)
        return f.cross_entropy(f.relu(x @ w4 + b4) @ w5 + b5, y)

    return loss


def in_tf():
    import tensorflow as tf

    def convolved(x, w, b, padding):
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, padding), b))
        return tf.nn.max_pool2d(x, 2, 2, "VALID")

    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = weights
        x = convolved(x, w1, b1, "SAME")
        x = tf.reshape(convolved(x, w2, b2, "VALID"), (32, -1))
        x = tf.nn.relu(x @ w3 + b3)
        logits = tf.nn.relu(x @ w4 + b4) @ w5 + b5
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    return loss


ROWS = training(
    "cnn",
    "CNN (LeNet), batch 32",
    initial,
    batch,
    ours=ours,
    jax=in_jax,
    torch=in_torch,
    tf=in_tf,
)
