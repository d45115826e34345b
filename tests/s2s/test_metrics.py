"""Metrics over several batches, in Python and inside a compiled step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s import metrics

LABELS = np.array([0, 2, 1, 1])
SCORES = np.array([[3.0, 1.0, 0.0], [0.0, 0.1, 0.2], [0.5, 0.4, 0.3], [0.0, 1.0, 0.0]])


def test_running_mean() -> None:
    mean = metrics.Mean()
    assert mean.result() == 0.0
    mean.update_state([1.0, 2.0, 3.0])
    assert mean(6.0) == 3.0
    mean.reset_state()
    assert mean(4.0) == 4.0


@pytest.mark.parametrize(
    ("metric", "y_true", "y_pred", "want"),
    [
        (metrics.SparseCategoricalAccuracy(), LABELS, SCORES, 0.75),
        (metrics.CategoricalAccuracy(), np.eye(3)[LABELS], SCORES, 0.75),
        (metrics.Accuracy(), LABELS, np.array([0, 2, 2, 2]), 0.5),
        (metrics.BinaryAccuracy(), np.array([1.0, 0.0]), np.array([0.7, 0.6]), 0.5),
        (metrics.MeanSquaredError(), np.zeros(2), np.array([1.0, 3.0]), 5.0),
        (metrics.MeanAbsoluteError(), np.zeros(2), np.array([1.0, -3.0]), 2.0),
    ],
)
def test_of_pairs(metric: Any, y_true: Any, y_pred: Any, want: float) -> None:
    assert metric(y_true, y_pred) == want
    assert metric(y_true, y_pred) == want


def test_inside_a_compiled_step() -> None:
    accuracy = metrics.SparseCategoricalAccuracy()

    @s2s.function(backend="loops")
    def evaluate(y: Any, scores: Any) -> Any:
        accuracy.update_state(y, scores)
        return np.sum(scores)

    evaluate(LABELS, SCORES)
    evaluate(LABELS[:1], SCORES[:1])
    assert accuracy.result() == 0.8 and accuracy.count == 5.0
