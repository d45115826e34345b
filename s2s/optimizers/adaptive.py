"""Optimizers with adaptive step sizes per weight.  Formulas and defaults are those of Keras 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.variable import Variable
from .base import Optimizer


class Moments(Optimizer):
    """The base class of optimizers with two exponentially decaying moments of the gradients, with
    decay rates `beta_1` and `beta_2`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = float(beta_1), float(beta_2), float(epsilon)


class Adam(Moments):
    """Adam.  `amsgrad` divides by the running maximum of the second moment."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        self.slot_names = ("m", "v", "v_max") if amsgrad else ("m", "v")
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **kwargs)
        self.amsgrad = amsgrad

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        m, v = self.slots["m"][k], self.slots["v"][k]
        # The bias corrections are computed in the precision of the variable, as in Keras.
        one = np.ones((), variable.dtype)
        t = one * self.steps
        power_1, power_2 = (one * self.beta_1) ** t, (one * self.beta_2) ** t
        corrected = rate * np.sqrt(one - power_2) / (one - power_1)
        m.assign_add((gradient - m) * (1.0 - self.beta_1))
        v.assign_add((gradient * gradient - v) * (1.0 - self.beta_2))
        if self.amsgrad:
            v_max = self.slots["v_max"][k]
            v_max.assign(np.maximum(v_max, v))
            v = v_max
        variable.assign_sub(corrected * m / (np.sqrt(v) + self.epsilon))


class AdamW(Adam):
    """Adam with decoupled weight decay: the decay does not enter the moments."""

    def __init__(
        self, learning_rate: Any = 0.001, weight_decay: float = 0.004, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, *args, weight_decay=weight_decay, **kwargs)


class RMSprop(Optimizer):
    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **kwargs: Any,
    ) -> None:
        names = ("velocity", "momentum" if momentum else "", "average" if centered else "")
        self.slot_names = tuple(n for n in names if n)
        super().__init__(learning_rate, **kwargs)
        self.rho, self.epsilon = float(rho), float(epsilon)
        self.momentum, self.uses_momentum = float(momentum), momentum != 0.0
        self.centered = centered

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        velocity = self.slots["velocity"][k]
        velocity.assign(self.rho * velocity + (1.0 - self.rho) * gradient * gradient)
        variance = velocity
        if self.centered:
            average = self.slots["average"][k]
            average.assign(self.rho * average + (1.0 - self.rho) * gradient)
            variance = velocity - average * average
        step = rate * gradient / np.sqrt(variance + self.epsilon)
        if self.uses_momentum:
            momentum = self.slots["momentum"][k]
            momentum.assign(self.momentum * momentum + step)
            variable.assign_sub(momentum)
        else:
            variable.assign_sub(step)


class Adagrad(Optimizer):
    slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.initial_accumulator_value = float(initial_accumulator_value)
        self.epsilon = float(epsilon)

    def slot_start(self, name: str, variable: Variable) -> Any:
        return np.full(variable.shape, self.initial_accumulator_value, variable.dtype)

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        accumulator = self.slots["accumulator"][k]
        accumulator.assign_add(gradient * gradient)
        variable.assign_sub(rate * gradient / np.sqrt(accumulator + self.epsilon))
