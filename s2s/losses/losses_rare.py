"""Less common losses: hinge, log-cosh, Poisson, Kullback-Leibler divergence, cosine similarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from .losses import EPSILON, Elementwise, Loss, alike

REST = EPSILON**2  # lower bound of a squared norm, against division by zero


class Hinge(Elementwise):
    """The hinge loss, for targets -1 and 1, or 0 and 1."""

    def elements(self, y_true: Any, y_pred: Any) -> Any:
        # At margin 0 the derivative is that of the linear part, as in TensorFlow.
        margin = 1.0 - signs(y_true) * y_pred
        return np.where(margin < 0.0, 0.0, margin)


class SquaredHinge(Elementwise):
    def elements(self, y_true: Any, y_pred: Any) -> Any:
        return np.maximum(1.0 - signs(y_true) * y_pred, 0.0) ** 2


class LogCosh(Elementwise):
    def elements(self, y_true: Any, y_pred: Any) -> Any:
        error = y_pred - y_true
        return np.logaddexp(error, -error) - np.log(2.0).astype(error.dtype)


class Poisson(Elementwise):
    """The Poisson loss of predicted rates and observed counts."""

    def elements(self, y_true: Any, y_pred: Any) -> Any:
        return y_pred - y_true * np.log(y_pred + EPSILON)


class KLDivergence(Loss):
    """The Kullback-Leibler divergence of rows of probabilities."""

    def __init__(
        self, reduction: str | None = "sum_over_batch_size", name: str | None = None
    ) -> None:
        super().__init__(name, reduction)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        y_true, y_pred = alike(self.name, y_true, y_pred)
        p, q = np.clip(y_true, EPSILON, 1.0), np.clip(y_pred, EPSILON, 1.0)
        return np.sum(p * np.log(p / q), axis=-1)


class CosineSimilarity(Loss):
    """The negative cosine similarity along an axis: -1 for vectors of the same direction."""

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(name, reduction)
        self.axis = axis

    def call(self, y_true: Any, y_pred: Any) -> Any:
        y_true, y_pred = alike(self.name, y_true, y_pred)
        both = of_length_one(y_true, self.axis) * of_length_one(y_pred, self.axis)
        return -np.sum(both, axis=self.axis)


def signs(y_true: Any) -> Any:
    """The targets mapped from {0, 1} to {-1, 1} if all are 0 or 1, else unchanged."""
    bits = np.all((y_true == 0.0) | (y_true == 1.0))
    return np.where(bits, 2.0 * y_true - 1.0, y_true)


def of_length_one(x: Any, axis: int) -> Any:
    """The vectors along an axis, normalised to length 1."""
    return x / np.sqrt(np.maximum(np.sum(x * x, axis=axis, keepdims=True), REST))
