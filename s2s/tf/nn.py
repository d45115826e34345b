"""`tf.nn`: activations, convolution, pooling, and losses per sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layers import activations
from ..layers.conv import convolved, largest, mean, pair
from ..public_names import listing
from . import random
from ._axes import axes as of_axes
from ._inputs import alike, given, in_floats
from .math import l2_normalize, log_softmax, sigmoid, softmax, softplus, tanh
from .tensors import export

__all__ = [
    "avg_pool2d", "bias_add", "conv1d", "conv2d", "dropout", "elu", "embedding_lookup", "gelu",
    "l2_loss", "l2_normalize", "leaky_relu", "log_softmax", "max_pool2d", "moments",
    "relu", "relu6", "selu", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign",
    "sparse_softmax_cross_entropy_with_logits", "swish", "tanh",
]  # fmt: skip
__dir__ = listing(__name__)


def relu(features: Any) -> Any:
    features = given(features)
    return np.maximum(features, 0) if features.dtype.kind == "i" else activations.relu(features)


def relu6(features: Any) -> Any:
    features = given(features)
    return np.clip(features, 0, 6) if features.dtype.kind == "i" else activations.relu6(features)


def leaky_relu(features: Any, alpha: float = 0.2) -> Any:
    return activations.leaky_relu(in_floats(given(features)), alpha)


def elu(features: Any) -> Any:
    return activations.elu(given(features))


def selu(features: Any) -> Any:
    return activations.selu(given(features))


def gelu(features: Any, approximate: bool = False) -> Any:
    return activations.gelu(given(features), approximate)


def silu(features: Any) -> Any:
    return activations.silu(given(features))


def softsign(features: Any) -> Any:
    return activations.softsign(given(features))


swish = silu


def bias_add(value: Any, bias: Any) -> Any:
    value, bias = alike(value, bias)
    return value + bias


def conv2d(input: Any, filters: Any, strides: Any, padding: str) -> Any:
    """Convolution over images (axes: samples, rows, columns, channels).  `strides` has those of
    rows and columns, or of all four axes."""
    return convolved(input, filters, of_images(strides), padding.lower())


def max_pool2d(input: Any, ksize: Any, strides: Any, padding: str) -> Any:
    return largest(input, of_images(ksize), of_images(strides), padding.lower())


def avg_pool2d(input: Any, ksize: Any, strides: Any, padding: str) -> Any:
    return mean(input, of_images(ksize), of_images(strides), padding.lower())


def conv1d(input: Any, filters: Any, stride: int, padding: str) -> Any:
    """Convolution over sequences (axes: samples, steps, channels)."""
    images = convolved(input[:, :, None], filters[:, None], (stride, 1), padding.lower())
    return images[:, :, 0]


def dropout(x: Any, rate: float) -> Any:
    kept = random.uniform(x.shape, dtype=x.dtype) >= rate
    return x * kept / (1.0 - rate)


def embedding_lookup(params: Any, ids: Any) -> Any:
    return np.take(params, ids, axis=0)


def moments(x: Any, axes: Any, keepdims: bool = False) -> Any:
    """The mean and the variance."""
    x = given(x)
    over = of_axes(axes)
    return np.mean(x, axis=over, keepdims=keepdims), np.var(x, axis=over, keepdims=keepdims)


def of_images(sizes: Any) -> tuple[int, int]:
    """The sizes of rows and columns, from one size, a pair, or four sizes."""
    given = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    return pair(given[1:3] if len(given) == 4 else given * 2 if len(given) == 1 else given)


def l2_loss(x: Any) -> Any:
    x = given(x)
    return 0.5 * np.sum(x * x)


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    labels, logits = alike(labels, logits)
    return softplus(logits) - logits * labels


def softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    labels, logits = alike(labels, logits)
    return -np.sum(labels * log_softmax(logits), axis=-1)


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    chosen = np.expand_dims(labels, -1)
    return -np.take_along_axis(log_softmax(logits), chosen, axis=-1)[..., 0]


export(globals())
