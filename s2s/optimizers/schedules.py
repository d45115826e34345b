"""Learning rates that depend on the step: functions of the number of steps made."""

from __future__ import annotations

from typing import Any

import numpy as np


class ExponentialDecay:
    """`initial * rate ** (step / steps)`; by whole multiples if `staircase`."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        decay_rate: float,
        staircase: bool = False,
    ) -> None:
        self.initial_learning_rate = float(initial_learning_rate)
        self.decay_steps, self.decay_rate = float(decay_steps), float(decay_rate)
        self.staircase = staircase

    def __call__(self, step: Any) -> Any:
        power = step / self.decay_steps
        if self.staircase:
            power = np.floor(power)
        return self.initial_learning_rate * self.decay_rate**power


class CosineDecay:
    """From the initial rate down to `alpha` of it, along half a cosine."""

    def __init__(self, initial_learning_rate: float, decay_steps: int, alpha: float = 0.0) -> None:
        self.initial_learning_rate = float(initial_learning_rate)
        self.decay_steps, self.alpha = float(decay_steps), float(alpha)

    def __call__(self, step: Any) -> Any:
        done = min(float(step), self.decay_steps) / self.decay_steps
        share = 0.5 * (1.0 + np.cos(np.pi * done))
        return self.initial_learning_rate * ((1.0 - self.alpha) * share + self.alpha)


class InverseTimeDecay:
    def __init__(self, initial_learning_rate: float, decay_steps: int, decay_rate: float) -> None:
        self.initial_learning_rate = float(initial_learning_rate)
        self.decay_steps, self.decay_rate = float(decay_steps), float(decay_rate)

    def __call__(self, step: Any) -> Any:
        return self.initial_learning_rate / (1.0 + self.decay_rate * step / self.decay_steps)
