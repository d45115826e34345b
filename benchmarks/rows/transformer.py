"""A small transformer over 32 tokens, of one layer and of twelve."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..training import training

BATCH, LENGTH, VOCABULARY = 8, 32, 64
WIDTH, HEADS, WIDE = 64, 4, 256
SIZE = WIDTH // HEADS
EPSILON = 1e-3
# Two normalisations, four projections and two dense layers, each with two arrays.
PER_BLOCK = 16


def initial(layers: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)

    def kernel(*shape: int, inputs: int) -> np.ndarray:
        return (rng.normal(size=shape) / np.sqrt(inputs)).astype(np.float32)

    def constant(value: float, *shape: int) -> np.ndarray:
        return np.full(shape, value, np.float32)

    weights = [kernel(VOCABULARY, WIDTH, inputs=1)]
    for _ in range(layers):
        weights += [constant(1.0, WIDTH), constant(0.0, WIDTH)]
        for _ in range(3):
            weights += [kernel(WIDTH, HEADS, SIZE, inputs=WIDTH), constant(0.0, HEADS, SIZE)]
        weights += [kernel(HEADS, SIZE, WIDTH, inputs=WIDTH), constant(0.0, WIDTH)]
        weights += [constant(1.0, WIDTH), constant(0.0, WIDTH)]
        weights += [kernel(WIDTH, WIDE, inputs=WIDTH), constant(0.0, WIDE)]
        weights += [kernel(WIDE, WIDTH, inputs=WIDE), constant(0.0, WIDTH)]
    weights += [constant(1.0, WIDTH), constant(0.0, WIDTH)]
    return [*weights, kernel(WIDTH, VOCABULARY, inputs=WIDTH), constant(0.0, VOCABULARY)]


def batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    tokens = rng.integers(0, VOCABULARY, (2, BATCH, LENGTH))
    return tokens[0], tokens[1]


def ours(layers: int) -> tuple[Any, Any]:
    from s2s.layers import Dense, Embedding, Layer, LayerNormalization, MultiHeadAttention
    from s2s.losses import SparseCategoricalCrossentropy
    from s2s.models import Model

    class Block(Layer):
        def __init__(self):
            super().__init__()
            self.before = LayerNormalization()
            self.attention = MultiHeadAttention(HEADS, SIZE)
            self.between = LayerNormalization()
            self.wide = Dense(WIDE, activation="relu")
            self.narrow = Dense(WIDTH)

        def call(self, inputs):
            x = inputs + self.attention(self.before(inputs))
            return x + self.narrow(self.wide(self.between(x)))

    class Transformer(Model):
        def __init__(self):
            super().__init__()
            self.embedding = Embedding(VOCABULARY, WIDTH)
            self.blocks = [Block() for _ in range(layers)]
            self.last = LayerNormalization()
            self.head = Dense(VOCABULARY)

        def call(self, inputs):
            x = self.embedding(inputs)
            for block in self.blocks:
                x = block(x)
            return self.head(self.last(x))

    return Transformer(), SparseCategoricalCrossentropy(from_logits=True)


def split(weights: Any) -> tuple[Any, list[Any], Any]:
    """The table of the embedding, the weights of each block, the rest."""
    inside = weights[1:-4]
    blocks = [inside[k : k + PER_BLOCK] for k in range(0, len(inside), PER_BLOCK)]
    return weights[0], blocks, weights[-4:]


def in_jax():
    import jax
    import jax.numpy as jnp

    def normal(x, gamma, beta):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.var(x, axis=-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + EPSILON) * gamma + beta

    def block(x, weights):
        g1, o1, wq, bq, wk, bk, wv, bv, wo, bo, g2, o2, w1, b1, w2, b2 = weights
        z = normal(x, g1, o1)
        q, k, v = (jnp.einsum("btc,chs->bths", z, w) + b for w, b in ((wq, bq), (wk, bk), (wv, bv)))
        scores = jnp.einsum("bqhs,bkhs->bhqk", q, k) / SIZE**0.5
        mixed = jnp.einsum("bhqk,bkhs->bqhs", jax.nn.softmax(scores), v)
        x = x + jnp.einsum("bths,hsc->btc", mixed, wo) + bo
        return x + jax.nn.relu(normal(x, g2, o2) @ w1 + b1) @ w2 + b2

    def loss(weights, x, y):
        table, blocks, (gamma, beta, w, b) = split(weights)
        x = table[x]
        for block_weights in blocks:
            x = block(x, block_weights)
        scores = jax.nn.log_softmax(normal(x, gamma, beta) @ w + b)
        return -jnp.mean(jnp.take_along_axis(scores, y[..., None], axis=-1))

    return loss


def in_torch():
    from torch.nn import functional as f

    def normal(x, gamma, beta):
        return f.layer_norm(x, (WIDTH,), gamma, beta, EPSILON)

    def heads(z, w, b):
        made = z @ w.reshape(WIDTH, WIDTH) + b.reshape(WIDTH)
        return made.reshape(BATCH, LENGTH, HEADS, SIZE).transpose(1, 2)

    def block(x, weights):
        g1, o1, wq, bq, wk, bk, wv, bv, wo, bo, g2, o2, w1, b1, w2, b2 = weights
        z = normal(x, g1, o1)
        mixed = f.scaled_dot_product_attention(heads(z, wq, bq), heads(z, wk, bk), heads(z, wv, bv))
        mixed = mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
        x = x + mixed @ wo.reshape(WIDTH, WIDTH) + bo
        return x + f.relu(normal(x, g2, o2) @ w1 + b1) @ w2 + b2

    def loss(weights, x, y):
        table, blocks, (gamma, beta, w, b) = split(weights)
        x = f.embedding(x, table)
        for block_weights in blocks:
            x = block(x, block_weights)
        logits = normal(x, gamma, beta) @ w + b
        return f.cross_entropy(logits.reshape(-1, VOCABULARY), y.reshape(-1))

    return loss


def in_tf():
    import tensorflow as tf

    def normal(x, gamma, beta):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, EPSILON)

    def heads(z, w, b):
        made = z @ tf.reshape(w, (WIDTH, WIDTH)) + tf.reshape(b, (WIDTH,))
        return tf.transpose(tf.reshape(made, (BATCH, LENGTH, HEADS, SIZE)), (0, 2, 1, 3))

    def block(x, weights):
        g1, o1, wq, bq, wk, bk, wv, bv, wo, bo, g2, o2, w1, b1, w2, b2 = weights
        z = normal(x, g1, o1)
        q, k, v = heads(z, wq, bq), heads(z, wk, bk), heads(z, wv, bv)
        mixed = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / SIZE**0.5) @ v
        mixed = tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), (BATCH, LENGTH, WIDTH))
        x = x + mixed @ tf.reshape(wo, (WIDTH, WIDTH)) + bo
        return x + tf.nn.relu(normal(x, g2, o2) @ w1 + b1) @ w2 + b2

    def loss(weights, x, y):
        table, blocks, (gamma, beta, w, b) = split(weights)
        x = tf.gather(table, x)
        for block_weights in blocks:
            x = block(x, block_weights)
        logits = normal(x, gamma, beta) @ w + b
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    return loss


def rows(layers: int):
    return training(
        f"transformer-{layers}",
        f"transformer, {layers} layer{'s' if layers > 1 else ''}, batch 8×32",
        lambda: initial(layers),
        batch,
        ours=lambda: ours(layers),
        jax=in_jax,
        torch=in_torch,
        tf=in_tf,
    )


ROWS = rows(1) + rows(12)
