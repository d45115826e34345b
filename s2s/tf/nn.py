"""`tf.nn`: activations."""

from ..layers.activations import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    softsign,
    tanh,
)

swish = silu

__all__ = [
    "elu", "gelu", "leaky_relu", "log_softmax", "relu", "relu6", "selu", "sigmoid", "silu",
    "softmax", "softplus", "softsign", "swish", "tanh",
]  # fmt: skip
