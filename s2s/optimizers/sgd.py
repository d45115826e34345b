"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..objects.variable import Variable
from .base import Optimizer


class SGD(Optimizer):
    """Gradient descent; with `momentum`, along a decaying sum of gradients (the velocity).
    `nesterov` selects Nesterov momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **kwargs: Any,
    ) -> None:
        self.slot_names = ("momentum",) if momentum else ()
        super().__init__(learning_rate, **kwargs)
        self.uses_momentum = momentum != 0.0
        self.momentum = float(momentum)
        self.nesterov = nesterov

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        if not self.uses_momentum:
            variable.assign_sub(rate * gradient)
            return
        velocity = self.slots["momentum"][k]
        velocity.assign(self.momentum * velocity - rate * gradient)
        if self.nesterov:
            variable.assign_add(self.momentum * velocity - rate * gradient)
        else:
            variable.assign_add(velocity)
