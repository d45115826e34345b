"""Learning-rate schedules: functions of the number of steps made."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.change_counter import Announces
from ..public_names import listing

__all__ = [
    "CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay",
    "PiecewiseConstantDecay", "PolynomialDecay",
]  # fmt: skip
__dir__ = listing(__name__)


class Steps(Announces):
    """The base class of schedules in the time `step / decay_steps`, rounded down if `staircase`."""

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

    def times(self, step: Any) -> Any:
        times = step / self.decay_steps
        return np.floor(times) if self.staircase else times


class ExponentialDecay(Steps):
    """`initial * rate ** (step / steps)`; the exponent is rounded down if `staircase`."""

    def __call__(self, step: Any) -> Any:
        return self.initial_learning_rate * self.decay_rate ** self.times(step)


class InverseTimeDecay(Steps):
    """`initial / (1 + rate * step / steps)`; `step / steps` is rounded down if `staircase`."""

    def __call__(self, step: Any) -> Any:
        return self.initial_learning_rate / (1.0 + self.decay_rate * self.times(step))


class PolynomialDecay(Announces):
    """From the initial to the end rate, by a power of the remaining fraction of steps.  With
    `cycle`, the decay restarts with a longer period, a multiple of `decay_steps`."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
    ) -> None:
        self.initial_learning_rate = float(initial_learning_rate)
        self.end_learning_rate, self.power = float(end_learning_rate), float(power)
        self.decay_steps = float(decay_steps)
        self.cycle = cycle

    def __call__(self, step: Any) -> Any:
        total = self.decay_steps
        if self.cycle:
            total = total * np.maximum(np.ceil(step / total), 1.0)
        left = 1.0 - np.minimum(step / total, 1.0)
        span = self.initial_learning_rate - self.end_learning_rate
        return span * left**self.power + self.end_learning_rate


class PiecewiseConstantDecay(Announces):
    """`values[0]` up to the step `boundaries[0]`, then `values[1]`, and so on."""

    def __init__(self, boundaries: list[int], values: list[float]) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                f"{len(boundaries)} boundaries part {len(boundaries) + 1} values, not {len(values)}"
            )
        self.boundaries = [float(b) for b in boundaries]
        self.values = [float(v) for v in values]

    def __call__(self, step: Any) -> Any:
        rate = self.values[0]
        for boundary, value in zip(self.boundaries, self.values[1:]):
            rate = np.where(step > boundary, value, rate)
        return rate


class CosineDecay(Announces):
    """Half a cosine from the initial rate down to the fraction `alpha` of it.  With a
    `warmup_target`, the rate first rises linearly to it and decays from there."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        alpha: float = 0.0,
        warmup_target: float | None = None,
        warmup_steps: int = 0,
    ) -> None:
        self.initial_learning_rate = float(initial_learning_rate)
        self.decay_steps, self.alpha = float(decay_steps), float(alpha)
        self.warms_up = warmup_target is not None
        self.warmup_target = float(warmup_target or 0.0)
        self.warmup_steps = float(warmup_steps)

    def __call__(self, step: Any) -> Any:
        if not self.warms_up:
            return self.initial_learning_rate * self.share(step)
        done = step / max(self.warmup_steps, 1.0)
        rising = (self.warmup_target - self.initial_learning_rate) * done
        falling = self.warmup_target * self.share(step - self.warmup_steps)
        return np.where(done < 1.0, rising + self.initial_learning_rate, falling)

    def share(self, step: Any) -> Any:
        done = np.minimum(step / self.decay_steps, 1.0)
        return (1.0 - self.alpha) * half_cosine(done) + self.alpha


class CosineDecayRestarts(Announces):
    """Half cosines in sequence, each `t_mul` times as long and `m_mul` times as high as the one
    before."""

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: int,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
    ) -> None:
        self.initial_learning_rate = float(initial_learning_rate)
        self.first_decay_steps = float(first_decay_steps)
        self.t_mul, self.m_mul, self.alpha = float(t_mul), float(m_mul), float(alpha)
        self.grows = t_mul != 1.0

    def __call__(self, step: Any) -> Any:
        done = step / self.first_decay_steps
        if self.grows:
            restarts = np.floor(np.log(1.0 - done * (1.0 - self.t_mul)) / np.log(self.t_mul))
            length = self.t_mul**restarts
            done = (done - (1.0 - length) / (1.0 - self.t_mul)) / length
        else:
            restarts = np.floor(done)
            done = done - restarts
        share = self.m_mul**restarts * half_cosine(done)
        return self.initial_learning_rate * ((1.0 - self.alpha) * share + self.alpha)


def half_cosine(done: Any) -> Any:
    """Half a cosine, from 1 at 0 to 0 at 1."""
    return 0.5 * (1.0 + np.cos(np.pi * done))
