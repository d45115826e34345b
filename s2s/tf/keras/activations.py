"""`tf.keras.activations`: those of the layers, which give tensors here."""

from __future__ import annotations

from ...layers.activations import (
    elu,
    exponential,
    gelu,
    get,
    hard_sigmoid,
    leaky_relu,
    linear,
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
from ..tensors import export

swish = silu

__all__ = [
    "elu", "exponential", "gelu", "hard_sigmoid", "leaky_relu", "linear", "log_softmax", "relu",
    "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign", "swish", "tanh",
]  # fmt: skip

export(globals())
__all__ += ["get"]
