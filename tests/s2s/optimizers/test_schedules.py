"""Learning-rate schedules: values by their formulas in scalar Python, at and beyond the ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.optimizers.schedules import (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
    half_cosine,
)

STEPS = (0, 1, 4, 5, 6, 10, 11, 37)


def polynomial(t: int, cycle: bool) -> float:
    total = 5 * max(1, math.ceil(t / 5)) if cycle else 5
    return 0.19 * (1.0 - min(t, total) / total) ** 2 + 0.01


def piecewise(t: int) -> float:
    return 0.3 if t <= 4 else 0.2 if t <= 10 else 0.1


def cosine(t: float) -> float:
    return 0.9 * 0.5 * (1.0 + math.cos(math.pi * min(t, 10) / 10)) + 0.1


def warmed(t: int) -> float:
    return 0.1 + (0.5 - 0.1) * t / 5 if t < 5 else 0.5 * cosine(t - 5)


def restarts(t: int, t_mul: int) -> float:
    length, height, start = 5, 1.0, 0
    while t >= start + length:
        start, length, height = start + length, length * t_mul, height * 0.5
    done = (t - start) / length
    return 0.2 * (0.9 * height * 0.5 * (1.0 + math.cos(math.pi * done)) + 0.1)


CASES = [
    (ExponentialDecay(0.2, 5, 0.5), lambda t: 0.2 * 0.5 ** (t / 5)),
    (ExponentialDecay(0.2, 5, 0.5, True), lambda t: 0.2 * 0.5 ** (t // 5)),
    (InverseTimeDecay(0.2, 5, 0.5), lambda t: 0.2 / (1 + 0.1 * t)),
    (InverseTimeDecay(0.2, 5, 0.5, staircase=True), lambda t: 0.2 / (1 + 0.5 * (t // 5))),
    (PolynomialDecay(0.2, 5, 0.01, 2.0), lambda t: polynomial(t, False)),
    (PolynomialDecay(0.2, 5, 0.01, 2.0, cycle=True), lambda t: polynomial(t, True)),
    (PiecewiseConstantDecay([4, 10], [0.3, 0.2, 0.1]), piecewise),
    (CosineDecay(0.2, 10, alpha=0.1), lambda t: 0.2 * cosine(t)),
    (CosineDecay(0.1, 10, 0.1, warmup_target=0.5, warmup_steps=5), warmed),
    (CosineDecayRestarts(0.2, 5, 1.0, 0.5, 0.1), lambda t: restarts(t, 1)),
    (CosineDecayRestarts(0.2, 5, 2.0, 0.5, 0.1), lambda t: restarts(t, 2)),
]


@pytest.mark.parametrize("schedule, formula", CASES, ids=lambda v: type(v).__name__)
def test_values(schedule: Any, formula: Any) -> None:
    for t in STEPS:
        assert float(schedule(t)) == pytest.approx(formula(t), rel=1e-12), t


@pytest.mark.parametrize("schedule, formula", CASES, ids=lambda v: type(v).__name__)
def test_compiled(schedule: Any, formula: Any) -> None:
    run = s2s.function(lambda t: schedule(t), backend="loops")
    for t in STEPS:
        assert float(run(t)) == pytest.approx(formula(t), rel=1e-12), t


def test_boundaries_and_values_must_match() -> None:
    with pytest.raises(ValueError, match="2 boundaries part 3 values, not 2"):
        PiecewiseConstantDecay([1, 2], [0.1, 0.2])
    assert PiecewiseConstantDecay([], [0.5])(100) == 0.5


def test_warmup_without_steps() -> None:
    schedule = CosineDecay(0.1, 10, warmup_target=0.5)
    np.testing.assert_allclose(
        [schedule(1), schedule(10)], [0.5 * half_cosine(0.1), 0.0], atol=1e-15
    )


def test_half_cosine() -> None:
    np.testing.assert_allclose(half_cosine(np.array([0.0, 0.5, 1.0])), [1.0, 0.5, 0.0], atol=1e-15)
