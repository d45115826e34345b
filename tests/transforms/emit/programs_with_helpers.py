"""Programs with helpers, for the tests of texts in which functions stay functions."""

from __future__ import annotations

from typing import Any

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def gate(parts, x):
    # two halves
    n = x.shape[1] // 2
    z = x @ parts["w"] + parts["b"]
    kept = sigmoid(z[:, :n])
    return kept * np.tanh(z[:, n:])


def twice(parts, x):
    return np.sum(gate(parts, np.concatenate([gate(parts, x), x[:, :2]], axis=1)) ** 2)


def over_time(parts, xs):
    total = 0.0
    for t in range(xs.shape[0]):
        total += np.sum(gate(parts, xs[t]) * xs[t, :, :2])
    return total


def parts_and_rows() -> tuple[Any, Any, Any]:
    r = np.random.default_rng(0)
    parts = {"w": r.normal(size=(4, 4)), "b": r.normal(size=4)}
    return parts, r.normal(size=(3, 4)), r.normal(size=(5, 3, 4))
