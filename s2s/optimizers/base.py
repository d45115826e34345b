"""What optimizers have in common, in plain Python: counters on `self`, slots in lists, updates in
place.  A user's own optimizer works in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..announce import Announces
from ..layers.base import built_now
from ..variable import Variable


class Optimizer(Announces):
    """Subclasses define `update(self, k, gradient, variable, rate)`; `slot_names` are the arrays
    that are kept for each variable, in `self.slots[name][k]`.

    clipnorm, clipvalue, global_clipnorm: limits for each gradient's norm, its entries, or the
        norm of all gradients together.
    weight_decay: the part of each variable that every step takes off, times the rate.
    """

    slot_names: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
    ) -> None:
        self.schedule: Any = learning_rate if callable(learning_rate) else None
        self.learning_rate = 0.0 if callable(learning_rate) else float(learning_rate)
        self.weight_decay = weight_decay
        self.clipnorm, self.clipvalue = clipnorm, clipvalue
        self.global_clipnorm = global_clipnorm
        self.name = name or type(self).__name__.lower()
        self.iterations = 0
        self.variables: tuple[Variable, ...] = ()
        self.slots: dict[str, list[Variable]] = {name: [] for name in self.slot_names}

    # ---- slots

    def slot_start(self, name: str, variable: Variable) -> Any:
        """What a slot holds before the first step."""
        return np.zeros(variable.shape, variable.dtype)

    @built_now
    def prepare(self, variables: list[Variable]) -> None:
        """Slots for variables that are new, in the order in which they are met."""
        for variable in variables:
            if self.position(variable) < 0:
                self.variables = (*self.variables, variable)
                for name, slots in self.slots.items():
                    start = self.slot_start(name, variable)
                    label = f"{self.name}/{variable.name}/{name}"
                    slots.append(Variable(start, trainable=False, name=label))

    build = prepare

    def position(self, variable: Variable) -> int:
        for k, known in enumerate(self.variables):
            if known is variable:
                return k
        return -1

    # ---- the step

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> None:
        """One step: each variable by its gradient; pairs without a gradient are left out."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if len(pairs) == 0:
            raise ValueError("every gradient is None: nothing to apply")
        unknown = [v for _, v in pairs if self.position(v) < 0]
        if len(unknown) > 0:
            self.prepare(unknown)
        if self.schedule is not None:
            self.learning_rate = float(self.schedule(self.iterations))
        self.iterations += 1
        gradients = self.clipped([g for g, _ in pairs])
        for gradient, (_, variable) in zip(gradients, pairs):
            if self.weight_decay is not None:
                variable.assign_sub(variable * self.weight_decay * self.learning_rate)
            self.update(self.position(variable), gradient, variable, self.learning_rate)

    def clipped(self, gradients: list[Any]) -> list[Any]:
        if self.clipvalue is not None:
            return [np.clip(g, -self.clipvalue, self.clipvalue) for g in gradients]
        if self.clipnorm is not None:
            return [g * shrink(np.sum(g * g), self.clipnorm) for g in gradients]
        if self.global_clipnorm is not None:
            total = 0.0
            for g in gradients:
                total = total + np.sum(g * g)
            scale = shrink(total, self.global_clipnorm)
            return [g * scale for g in gradients]
        return gradients

    def update(self, k: int, gradient: Any, variable: Variable, rate: float) -> None:
        raise NotImplementedError


def shrink(squares: Any, limit: float) -> Any:
    """The factor that brings a norm, given its square, down to a limit."""
    return limit / np.maximum(np.sqrt(squares), limit)
