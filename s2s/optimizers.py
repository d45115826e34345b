"""Optimizers, in plain Python: counters on `self`, slots in lists, updates in place.

The defaults and formulas are those of Keras 3; a user's own optimizer works in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .layers.base import built_now
from .variable import Variable


class Optimizer:
    """Subclasses define `update(self, k, gradient, variable)`; slots are made by `slot_names`."""

    slot_names: tuple[str, ...] = ()

    def __init__(self, learning_rate: float) -> None:
        self.learning_rate = float(learning_rate)
        self.iterations = 0
        self.variables: list[Variable] = []
        self.slots: dict[str, list[Variable]] = {name: [] for name in self.slot_names}

    @built_now
    def prepare(self, variables: list[Variable]) -> None:
        """Slots for variables that are new, in the order in which they are met."""
        for variable in variables:
            if not any(v is variable for v in self.variables):
                self.variables.append(variable)
                for name, slots in self.slots.items():
                    slots.append(
                        Variable(np.zeros(variable.shape, variable.dtype), trainable=False,
                                 name=f"{name}/{variable.name}")
                    )  # fmt: skip

    def position(self, variable: Variable) -> int:
        for k, known in enumerate(self.variables):
            if known is variable:
                return k
        return -1

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> None:
        """One step: each variable by its gradient."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if len(pairs) == 0:
            raise ValueError("every gradient is None: nothing to apply")
        unknown = [v for _, v in pairs if self.position(v) < 0]
        if len(unknown) > 0:
            self.prepare(unknown)
        self.iterations += 1
        for gradient, variable in pairs:
            self.update(self.position(variable), gradient, variable)

    def update(self, k: int, gradient: Any, variable: Variable) -> None:
        raise NotImplementedError


class SGD(Optimizer):
    slot_names = ("momentum",)

    def __init__(
        self, learning_rate: float = 0.01, momentum: float = 0.0, nesterov: bool = False
    ) -> None:
        super().__init__(learning_rate)
        self.uses_momentum = momentum != 0.0
        self.momentum = float(momentum)
        self.nesterov = nesterov

    def update(self, k: int, gradient: Any, variable: Variable) -> None:
        step = self.learning_rate * gradient
        if not self.uses_momentum:
            variable.assign_sub(step)
            return
        velocity = self.slots["momentum"][k]
        velocity.assign(self.momentum * velocity - step)
        if self.nesterov:
            variable.assign_add(self.momentum * velocity - step)
        else:
            variable.assign_add(velocity)


class Adam(Optimizer):
    slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
    ) -> None:
        super().__init__(learning_rate)
        self.beta_1, self.beta_2, self.epsilon = float(beta_1), float(beta_2), float(epsilon)

    def update(self, k: int, gradient: Any, variable: Variable) -> None:
        t = self.iterations
        m, v = self.slots["m"][k], self.slots["v"][k]
        rate = self.learning_rate * np.sqrt(1.0 - self.beta_2**t) / (1.0 - self.beta_1**t)
        m.assign_add((gradient - m) * (1.0 - self.beta_1))
        v.assign_add((gradient * gradient - v) * (1.0 - self.beta_2))
        variable.assign_sub(float(rate) * m / (np.sqrt(v) + self.epsilon))
