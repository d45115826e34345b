"""The Hessian of a network's loss times a vector: 784-128-10 with tanh, 32 samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import row as r
from ..peers import computation
from .mlp import batch, initial

NAMES = ("w1", "b1", "w2", "b2")


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    weights = initial(128)
    directions = [rng.normal(size=w.shape).astype(np.float32) for w in weights]
    x, y = batch(32)
    along = {f"{name}_dot": direction for name, direction in zip(NAMES, directions)}
    return {**dict(zip(NAMES, weights)), **along, "x": x, "y": y}


def loss(weights, x, y):
    w1, b1, w2, b2 = weights
    logits = np.tanh(x @ w1 + b1) @ w2 + b2
    largest = np.max(logits, axis=1, keepdims=True)
    normal = np.log(np.sum(np.exp(logits - largest), axis=1)) + largest[:, 0]
    return np.mean(normal - logits[np.arange(len(y)), y])


def ours():
    import s2s

    product = s2s.hvp(loss)

    def run(w1, b1, w2, b2, w1_dot, b1_dot, w2_dot, b2_dot, x, y):
        return product((w1, b1, w2, b2), (w1_dot, b1_dot, w2_dot, b2_dot), x, y)

    return run


def primal():
    import s2s

    compiled = s2s.function(loss)

    def run(w1, b1, w2, b2, w1_dot, b1_dot, w2_dot, b2_dot, x, y):
        return compiled((w1, b1, w2, b2), x, y)

    return run


def in_jax():
    import jax
    import jax.numpy as jnp

    def loss(weights, x, y):
        w1, b1, w2, b2 = weights
        scores = jax.nn.log_softmax(jnp.tanh(x @ w1 + b1) @ w2 + b2)
        return -jnp.mean(jnp.take_along_axis(scores, y[:, None], axis=1))

    def run(w1, b1, w2, b2, w1_dot, b1_dot, w2_dot, b2_dot, x, y):
        slope = jax.grad(lambda weights: loss(weights, x, y))
        point, along = (w1, b1, w2, b2), (w1_dot, b1_dot, w2_dot, b2_dot)
        return jax.jvp(slope, (point,), (along,))[1]

    return run


def in_torch():
    import torch
    from torch.nn import functional

    def run(w1, b1, w2, b2, w1_dot, b1_dot, w2_dot, b2_dot, x, y):
        weights = [w.requires_grad_() for w in (w1, b1, w2, b2)]
        value = functional.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, y)
        slope = torch.autograd.grad(value, weights, create_graph=True)
        along = (w1_dot, b1_dot, w2_dot, b2_dot)
        return torch.autograd.grad(slope, weights, along)

    return run


def of_tf(how):
    def factory():
        import tensorflow as tf

        def run(w1, b1, w2, b2, w1_dot, b1_dot, w2_dot, b2_dot, x, y):
            weights, along = [w1, b1, w2, b2], [w1_dot, b1_dot, w2_dot, b2_dot]
            with tf.autodiff.ForwardAccumulator(weights, along) as forward:
                with tf.GradientTape() as tape:
                    tape.watch(weights)
                    logits = tf.tanh(x @ w1 + b1) @ w2 + b2
                    value = tf.reduce_mean(
                        tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
                    )
                slope = tape.gradient(value, weights)
            return forward.jvp(slope)

        function = tf.function(run, jit_compile=how == "xla")
        given: list[Any] = []

        def on_constants(*args):
            # Made once: the arguments are the same arrays in every call.
            given[:] = given or [tf.constant(a) for a in args]
            return [part.numpy() for part in function(*given)]

        return on_constants

    return factory


ROWS = [
    computation(
        "mlp-hvp",
        "HVP of MLP 784-128-10, batch 32",
        inputs,
        {
            r.OURS: ours,
            r.PRIMAL: primal,
            r.JAX: in_jax,
            r.TORCH: in_torch,
            r.TF_FUNCTION: of_tf("function"),
            r.TF_XLA: of_tf("xla"),
        },
        group="second order",
        dtype="float32",
        tolerance=1e-4,
    )
]
