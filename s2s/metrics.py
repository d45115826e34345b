"""Metrics: running means over batches, updated inside or outside of compiled steps.

`update_state` adds a batch; `result` is the metric of all batches since `reset_state`.  Samples may
have weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from .losses.losses import alike, labels_like, must_be_labels
from .objects.tensor import tensor
from .public_names import listing

__all__ = [
    "Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "Mean", "MeanAbsoluteError",
    "MeanSquaredError", "Metric", "RootMeanSquaredError", "SparseCategoricalAccuracy", "Sum",
]  # fmt: skip
__dir__ = listing(__name__)


class Metric:
    """The weighted mean of per-sample values.  Subclasses define `values(self, ...)`, which returns
    one scalar per sample of a batch."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__
        self.total = 0.0
        self.count = 0.0

    def values(self, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no values")

    def update_state(self, *args: Any, sample_weight: Any = None) -> None:
        values = self.values(*args)
        if sample_weight is None:
            self.total = self.total + float(np.sum(values))
            self.count = self.count + float(np.size(values))
        else:
            weights = weights_for(values, np.asarray(sample_weight))
            self.total = self.total + float(np.sum(values * weights))
            self.count = self.count + float(np.sum(weights))

    def result(self) -> Any:
        return tensor(np.float64(self.total / self.count if self.count != 0.0 else 0.0))

    def reset_state(self) -> None:
        self.total = 0.0
        self.count = 0.0

    def __call__(self, *args: Any, sample_weight: Any = None) -> Any:
        self.update_state(*args, sample_weight=sample_weight)
        return self.result()


class Mean(Metric):
    """The mean of the given values."""

    def values(self, values: Any) -> Any:  # type: ignore[override]
        return np.asarray(values)

    def update_state(self, values: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        super().update_state(values, sample_weight=sample_weight)


class Sum(Mean):
    """The sum of the given values."""

    def result(self) -> Any:
        return tensor(np.float64(self.total))


class Accuracy(Metric):
    """The fraction of predictions that equal their targets."""

    def values(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        y_true, y_pred = alike(self.name, y_true, np.asarray(y_pred))
        return of_samples(np.equal(y_true, y_pred))


class SparseCategoricalAccuracy(Metric):
    """The fraction of rows whose largest entry is at the target label."""

    def values(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        must_be_labels(self.name, y_true, y_pred)
        return np.equal(labels_like(y_true, y_pred), np.argmax(y_pred, axis=-1))


class CategoricalAccuracy(Metric):
    """The fraction of rows whose largest entry is at the position of the target's largest."""

    def values(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        return np.equal(np.argmax(y_true, axis=-1), np.argmax(y_pred, axis=-1))


class BinaryAccuracy(Metric):
    """The fraction of predictions on the correct side of a threshold."""

    def __init__(self, name: str | None = None, threshold: float = 0.5) -> None:
        super().__init__(name)
        self.threshold = float(threshold)

    def values(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        y_true, y_pred = alike(self.name, y_true, np.asarray(y_pred))
        return of_samples(np.equal(y_true > 0.5, y_pred > self.threshold))


class MeanSquaredError(Metric):
    def values(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        y_true, y_pred = alike(self.name, y_true, np.asarray(y_pred))
        return of_samples((y_pred - y_true) ** 2)


class RootMeanSquaredError(MeanSquaredError):
    def result(self) -> Any:
        return tensor(np.sqrt(np.float64(self.total / self.count if self.count != 0.0 else 0.0)))


class MeanAbsoluteError(Metric):
    def values(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        y_true, y_pred = alike(self.name, y_true, np.asarray(y_pred))
        return of_samples(np.abs(y_pred - y_true))


def of_samples(values: Any) -> Any:
    """The mean over the last axis, unless it is the sample axis."""
    return np.mean(values, axis=-1) if values.ndim > 1 else values


def weights_for(values: Any, weights: Any) -> Any:
    """The weights, broadcast to the shape of the values."""
    if weights.ndim == values.ndim + 1:
        weights = weights[..., 0]
    while weights.ndim < values.ndim:
        weights = weights[..., None]
    return weights + np.zeros(values.shape)
