"""Activation functions in plain NumPy, by their Keras names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.directional import stop_gradient
from ..public_names import listing
from ..runtime.lazy_import import lazy_import

scipy: Any = lazy_import(
    "scipy"
)  # imported lazily: it takes longer to load than this whole package

__all__ = [
    "elu", "exponential", "gelu", "get", "hard_sigmoid", "leaky_relu", "linear", "log_softmax",
    "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign", "tanh",
]  # fmt: skip
__dir__ = listing(__name__)

Activation = Callable[[Any], Any]


def linear(x: Any) -> Any:
    return x


def relu(x: Any) -> Any:
    # NaN propagates.  The derivative at 0 is 0, as in TensorFlow.
    return np.where(x <= 0.0, 0.0, x)


def tanh(x: Any) -> Any:
    return np.tanh(x)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def softplus(x: Any) -> Any:
    return np.logaddexp(x, 0.0)


def softmax(x: Any) -> Any:
    # The shift cancels in the quotient, so its derivative is omitted.
    e = np.exp(x - stop_gradient(np.max(x, axis=-1, keepdims=True)))
    return e / np.sum(e, axis=-1, keepdims=True)


def log_softmax(x: Any) -> Any:
    shifted = x - stop_gradient(np.max(x, axis=-1, keepdims=True))
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def elu(x: Any, alpha: float = 1.0) -> Any:
    # The inner `where` keeps the unselected branch from overflowing.  The derivative at 0 is alpha.
    return np.where(x > 0.0, x, alpha * np.expm1(np.where(x > 0.0, 0.0, x)))


def selu(x: Any) -> Any:
    # The derivative at 0 is the right-hand derivative, as in TensorFlow.
    below = 1.67326324235438 * np.expm1(np.where(x < 0.0, x, 0.0))
    return 1.05070098735548 * np.where(x < 0.0, below, x)


def gelu(x: Any, approximate: bool = False) -> Any:
    if approximate:
        return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    return 0.5 * x * (1.0 + scipy.special.erf(x * 0.7071067811865476))


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def softsign(x: Any) -> Any:
    # inf / inf is NaN, and its derivative is 0, as in TensorFlow.
    inside = np.where(np.isinf(x), 0.0, x)
    return np.where(np.isinf(x), np.nan, inside / (1.0 + np.abs(inside)))


def exponential(x: Any) -> Any:
    return np.exp(x)


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    return np.where(x > 0.0, x, negative_slope * x)


def relu6(x: Any) -> Any:
    return np.where(x >= 6.0, 6.0, relu(x))


def hard_sigmoid(x: Any) -> Any:
    return relu6(x + 3.0) / 6.0


NAMES: dict[str | None, Activation] = {
    None: linear,
    **{
        f.__name__: f
        for f in (
            linear, relu, tanh, sigmoid, softplus, softmax, log_softmax, elu, selu, gelu, silu,
            softsign, exponential, leaky_relu, relu6, hard_sigmoid,
        )
    },
    "swish": silu,
}  # fmt: skip


def get(which: str | Activation | None) -> Activation:
    """The activation of that name; a callable is returned as it is, None means `linear`."""
    if callable(which):
        return which
    if which not in NAMES:
        names = ", ".join(str(n) for n in NAMES if n)
        raise ValueError(f"there is no activation {which!r}; choose from {names}")
    return NAMES[which]
