"""`tf.nn`: activations, and losses of single samples."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    "elu", "gelu", "l2_loss", "leaky_relu", "log_softmax", "relu", "relu6", "selu", "sigmoid",
    "sigmoid_cross_entropy_with_logits", "silu", "softmax", "softmax_cross_entropy_with_logits",
    "softplus", "softsign", "sparse_softmax_cross_entropy_with_logits", "swish", "tanh",
]  # fmt: skip


def l2_loss(x: Any) -> Any:
    return 0.5 * np.sum(x * x)


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    return softplus(logits) - logits * labels


def softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    return -np.sum(labels * log_softmax(logits), axis=-1)


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    chosen = np.expand_dims(labels, -1)
    return -np.take_along_axis(log_softmax(logits), chosen, axis=-1)[..., 0]
