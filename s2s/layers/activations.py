"""Activations by their Keras names, in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Activation = Callable[[Any], Any]


def linear(x: Any) -> Any:
    return x


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0) * (x > 0.0)


def tanh(x: Any) -> Any:
    return np.tanh(x)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def softplus(x: Any) -> Any:
    return np.logaddexp(x, 0.0)


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


NAMES: dict[str | None, Activation] = {
    None: linear,
    "linear": linear,
    "relu": relu,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "softmax": softmax,
}


def get(which: str | Activation | None) -> Activation:
    if callable(which):
        return which
    if which not in NAMES:
        names = ", ".join(str(n) for n in NAMES if n)
        raise ValueError(f"there is no activation {which!r}; choose from {names}")
    return NAMES[which]
