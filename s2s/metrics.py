"""Metrics: running means over batches, kept outside of compiled steps or inside.

`update_state` adds a batch, `result` is the metric of all batches since `reset_state`."""

from __future__ import annotations

from typing import Any

import numpy as np


class Mean:
    """The mean of what it is given."""

    def __init__(self, name: str = "mean") -> None:
        self.name = name
        self.total = 0.0
        self.count = 0.0

    def update_state(self, values: Any) -> None:
        self.total = self.total + float(np.sum(values))
        self.count = self.count + float(np.size(values))

    def result(self) -> float:
        return self.total / self.count if self.count > 0.0 else 0.0

    def reset_state(self) -> None:
        self.total = 0.0
        self.count = 0.0

    def __call__(self, *args: Any) -> float:
        self.update_state(*args)
        return self.result()


class _OfPairs(Mean):
    """The mean of a measure of targets and predictions."""

    def measure(self, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError

    def update_state(self, y_true: Any, y_pred: Any) -> None:  # type: ignore[override]
        measured = self.measure(y_true, y_pred)
        self.total = self.total + float(np.sum(measured))
        self.count = self.count + float(np.size(measured))


class Accuracy(_OfPairs):
    """How often predictions equal targets."""

    def measure(self, y_true: Any, y_pred: Any) -> Any:
        return np.equal(y_true, y_pred)


class SparseCategoricalAccuracy(_OfPairs):
    """How often the largest entry of a row is the target's."""

    def measure(self, y_true: Any, y_pred: Any) -> Any:
        return np.equal(y_true, np.argmax(y_pred, axis=-1))


class CategoricalAccuracy(_OfPairs):
    def measure(self, y_true: Any, y_pred: Any) -> Any:
        return np.equal(np.argmax(y_true, axis=-1), np.argmax(y_pred, axis=-1))


class BinaryAccuracy(_OfPairs):
    def __init__(self, name: str = "binary_accuracy", threshold: float = 0.5) -> None:
        super().__init__(name)
        self.threshold = float(threshold)

    def measure(self, y_true: Any, y_pred: Any) -> Any:
        return np.equal(y_true > 0.5, y_pred > self.threshold)


class MeanSquaredError(_OfPairs):
    def measure(self, y_true: Any, y_pred: Any) -> Any:
        return (y_pred - y_true) ** 2


class MeanAbsoluteError(_OfPairs):
    def measure(self, y_true: Any, y_pred: Any) -> Any:
        return np.abs(y_pred - y_true)
