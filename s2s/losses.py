"""Losses, called as `loss(y_true, y_pred)`: the mean over all samples, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

EPSILON = 1e-7


class MeanSquaredError:
    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        return np.mean((y_pred - y_true) ** 2)


class MeanAbsoluteError:
    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        return np.mean(np.abs(y_pred - y_true))


class Huber:
    def __init__(self, delta: float = 1.0) -> None:
        self.delta = float(delta)

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        error = np.abs(y_pred - y_true)
        near = np.minimum(error, self.delta)
        return np.mean(0.5 * near * near + self.delta * (error - near))


class BinaryCrossentropy:
    def __init__(self, from_logits: bool = False) -> None:
        self.from_logits = from_logits

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        if self.from_logits:
            return np.mean(np.logaddexp(0.0, y_pred) - y_true * y_pred)
        p = np.clip(y_pred, EPSILON, 1.0 - EPSILON)
        return -np.mean(y_true * np.log(p) + (1.0 - y_true) * np.log(1.0 - p))


class CategoricalCrossentropy:
    """Of rows of probabilities, or of logits, against rows of target probabilities."""

    def __init__(self, from_logits: bool = False) -> None:
        self.from_logits = from_logits

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        return -np.mean(np.sum(y_true * _log_probabilities(y_pred, self.from_logits), axis=-1))


class SparseCategoricalCrossentropy:
    """Of rows of probabilities, or of logits, against the numbers of the right classes."""

    def __init__(self, from_logits: bool = False) -> None:
        self.from_logits = from_logits

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        logs = _log_probabilities(y_pred, self.from_logits)
        return -np.mean(logs[np.arange(y_pred.shape[0]), y_true])


def _log_probabilities(y_pred: Any, from_logits: bool) -> Any:
    if from_logits:
        shifted = y_pred - np.max(y_pred, axis=-1, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    p = y_pred / np.sum(y_pred, axis=-1, keepdims=True)
    return np.log(np.clip(p, EPSILON, 1.0 - EPSILON))
