"""Less common variants of Adam and Adagrad.  Formulas and defaults are those of Keras 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.variable import Variable
from .adaptive import Moments
from .base import Optimizer


class Adamax(Moments):
    """Adam with the infinity norm: it divides by an exponentially decaying maximum of gradient
    magnitudes."""

    slot_names = ("m", "u")

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        m, u = self.slots["m"][k], self.slots["u"][k]
        one = np.ones((), variable.dtype)
        power = (one * self.beta_1) ** (one * self.steps)
        m.assign_add((gradient - m) * (1.0 - self.beta_1))
        u.assign(np.maximum(self.beta_2 * u, np.abs(gradient)))
        variable.assign_sub(rate * m / ((one - power) * (u + self.epsilon)))


class Nadam(Moments):
    """Adam with Nesterov momentum."""

    slot_names = ("m", "v", "product")
    decay = 0.96  # base of the momentum schedule, beta_1 * (1 - 0.5 * decay**t)

    def slot_start(self, name: str, variable: Variable) -> Any:
        if name == "product":  # the product of the momenta of all steps
            return np.ones((), variable.dtype)
        return super().slot_start(name, variable)

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        m, v, product = (self.slots[name][k] for name in self.slot_names)
        # All scalars have the precision of the variable, as in Keras.
        one = np.ones((), variable.dtype)
        t, beta_1, beta_2 = one * self.steps, one * self.beta_1, one * self.beta_2
        decay = one * self.decay
        now = beta_1 * (one - 0.5 * decay**t)
        then = beta_1 * (one - 0.5 * decay ** (t + one))
        product.assign(product * beta_1 * (one - 0.5 * decay**t))
        m.assign_add((gradient - m) * (one - beta_1))
        v.assign_add((gradient * gradient - v) * (one - beta_2))
        ahead = then * m / (one - product * then) + (one - now) * gradient / (one - product)
        spread = np.sqrt(v / (one - beta_2**t)) + self.epsilon
        variable.assign_sub(ahead * rate / spread)


class Adadelta(Optimizer):
    """Scales gradients by the ratio of the RMS of recent steps to the RMS of recent gradients."""

    slot_names = ("gradients", "steps_taken")

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho, self.epsilon = float(rho), float(epsilon)

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        seen, taken = self.slots["gradients"][k], self.slots["steps_taken"][k]
        seen.assign(self.rho * seen + (1.0 - self.rho) * gradient * gradient)
        step = np.sqrt(taken + self.epsilon) * gradient / np.sqrt(seen + self.epsilon)
        taken.assign(self.rho * taken + (1.0 - self.rho) * step * step)
        variable.assign_sub(rate * step)


class Ftrl(Optimizer):
    """Follow the regularized leader; L1 regularization makes small weights exactly 0."""

    slot_names = ("accumulator", "linear")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        if initial_accumulator_value < 0.0:
            raise ValueError("initial_accumulator_value must not be negative")
        if learning_rate_power > 0.0:
            raise ValueError("learning_rate_power must not be positive")
        self.power = -float(learning_rate_power)
        self.initial_accumulator_value = float(initial_accumulator_value)
        self.l1, self.l2 = float(l1_regularization_strength), float(l2_regularization_strength)
        self.shrinkage = float(l2_shrinkage_regularization_strength)
        self.beta = float(beta)

    def slot_start(self, name: str, variable: Variable) -> Any:
        start = self.initial_accumulator_value if name == "accumulator" else 0.0
        return np.full(variable.shape, start, variable.dtype)

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        accumulator, linear = self.slots["accumulator"][k], self.slots["linear"][k]
        new = accumulator + gradient * gradient
        before, after = accumulator**self.power, new**self.power
        shrunk = gradient + 2.0 * self.shrinkage * variable
        linear.assign_add(shrunk - (after - before) / rate * variable)
        quadratic = after / rate + 2.0 * (self.l2 + self.beta / (2.0 * rate))
        variable.assign((np.clip(linear, -self.l1, self.l1) - linear) / quadratic)
        accumulator.assign(new)


class Lion(Optimizer):
    """Steps of constant size, with the sign of an interpolation of momentum and gradient."""

    slot_names = ("momentum",)

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        if not 0.0 < beta_1 <= 1.0:
            raise ValueError(f"beta_1 must be in ]0, 1], not {beta_1}")
        self.beta_1, self.beta_2 = float(beta_1), float(beta_2)

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        m = self.slots["momentum"][k]
        variable.assign_sub(rate * np.sign(m * self.beta_1 + gradient * (1.0 - self.beta_1)))
        m.assign(m * self.beta_2 + gradient * (1.0 - self.beta_2))
