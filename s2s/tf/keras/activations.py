"""`tf.keras.activations`: the functions of `s2s.layers.activations`, with tensors as results."""

from __future__ import annotations

from typing import Any

from ...layers import activations
from ...layers.activations import (
    elu,
    gelu,
    get,
    hard_sigmoid,
    linear,
    selu,
    sigmoid,
    silu,
    softplus,
    softsign,
)
from ...public_names import listing
from .._inputs import in_floats
from ..math import log_softmax, softmax
from ..nn import relu, relu6
from ..tensors import export

swish = silu

__all__ = [
    "elu", "exponential", "gelu", "hard_sigmoid", "leaky_relu", "linear", "log_softmax", "relu",
    "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign", "swish", "tanh",
]  # fmt: skip
__dir__ = listing(__name__)


def exponential(x: Any) -> Any:
    return activations.exponential(in_floats(x))


def tanh(x: Any) -> Any:
    return activations.tanh(in_floats(x))


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    return activations.leaky_relu(in_floats(x), negative_slope)


export(globals())
__all__ += ["get"]
