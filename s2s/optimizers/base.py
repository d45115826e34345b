"""The base class of optimizers, in plain Python: counters on `self`, slots in lists, in-place
updates.  A user-defined optimizer can be written likewise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..objects.change_counter import Announces
from ..objects.compiler_hints import built_last
from ..objects.variable import Variable
from . import scalar_views
from .gradient_checks import gradients_must_fit, lengths_must_match, variables_must_be_known


class Optimizer(Announces):
    """Subclasses define `update(self, k, gradient, variable, rate)`.  `slot_names` are the names of
    the arrays that are kept for each variable, in `self.slots[name][k]`.

    clipnorm, clipvalue, global_clipnorm: limits for each gradient's norm, its entries, or the
        norm of all gradients together; at most one of them.
    weight_decay: the fraction of each variable that every step subtracts, times the learning rate.
    use_ema: keeps an exponential moving average of each variable, with `ema_momentum`.  It replaces
        the variable every `ema_overwrite_frequency` steps, or when `finalize_variable_values` is
        called.
    """

    slot_names: tuple[str, ...] = ()
    saved_attributes = ("steps", "rate", "slots")

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        name: str | None = None,
    ) -> None:
        limits = {"clipnorm": clipnorm, "clipvalue": clipvalue, "global_clipnorm": global_clipnorm}
        chosen = [limit for limit, value in limits.items() if value is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} are set; choose one of them")
        self.steps = 0
        self.schedule: Any = None
        self.rate = 0.0  # learning rate of the last step
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.clipnorm, self.clipvalue = clipnorm, clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema, self.ema_momentum = use_ema, float(ema_momentum)
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.name = name or type(self).__name__.lower()
        self.variables: tuple[Variable, ...] = ()
        names = (*self.slot_names, "ema") if use_ema else self.slot_names
        self.slots: dict[str, list[Variable]] = {name: [] for name in names}

    @property
    def iterations(self) -> scalar_views.Count:
        """The number of steps made."""
        return scalar_views.count(self.steps)

    @iterations.setter
    def iterations(self, steps: int) -> None:
        self.steps = int(steps)

    @property
    def learning_rate(self) -> scalar_views.Rate:
        return scalar_views.rate(self.rate, self)

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        """Set a constant, or a schedule: a function of the number of steps made."""
        if callable(rate):
            self.schedule = rate
            self.rate = float(self.schedule(self.steps))
        elif self.schedule is not None:
            raise TypeError(
                "the learning rate follows a schedule, which sets it in each step; make the "
                "optimizer with a number, or set learning_rate to another schedule"
            )
        else:
            self.rate = float(rate)

    # ---- slots

    def slot_start(self, name: str, variable: Variable) -> Any:
        """The initial value of a slot."""
        return np.zeros(variable.shape, variable.dtype)

    @built_last("steps")
    def build(self, variables: list[Variable]) -> None:
        """Create the slots of variables.  The first step calls this for its variables, if it was
        not called before."""
        for variable in variables:
            if self.position(variable) < 0:
                self.variables = (*self.variables, variable)
                for name, slots in self.slots.items():
                    start = self.slot_start(name, variable)
                    label = f"{self.name}/{variable.name}/{name}"
                    slots.append(
                        Variable(start, trainable=False, name=label, device=variable.device)
                    )

    def position(self, variable: Variable, likely: int = 0) -> int:
        """The index of a variable among those of the optimizer, or -1.  The index `likely` is
        tried first."""
        if likely < len(self.variables) and self.variables[likely] is variable:
            return likely
        for k, known in enumerate(self.variables):
            if known is variable:
                return k
        return -1

    # ---- step

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> None:
        """Make one step: update each variable by its gradient.  Pairs with the gradient None are
        skipped."""
        lengths_must_match(self.name, grads_and_vars)
        pairs = [(g, v) for g, v in grads_and_vars]
        gradients_must_fit(self.name, pairs)
        if len(self.variables) == 0:
            self.build([v for _, v in pairs])
        variables_must_be_known(self.name, self.variables, [v for _, v in pairs])
        pairs = [(g, v) for g, v in pairs if g is not None]
        if self.schedule is not None:
            self.rate = float(self.schedule(self.steps))
        self.steps += 1
        gradients = self.clipped([g for g, _ in pairs])
        k = -1
        for gradient, (_, variable) in zip(gradients, pairs):
            if self.weight_decay is not None:
                variable.assign_sub(variable * self.weight_decay * self.rate)
            k = self.position(variable, k + 1)
            self.update(k, gradient, variable, self.rate)
        if self.use_ema:
            self.average()

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """`apply_gradients` with separate lists; by default for the variables it was built with."""
        variables = self.variables if trainable_variables is None else trainable_variables
        self.apply_gradients(zip(grads, variables))

    def clipped(self, gradients: list[Any]) -> list[Any]:
        """The gradients, clipped by value, by norm or by global norm."""
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

    # ---- moving averages

    def average(self) -> None:
        """Update the moving averages."""
        momentum = self.ema_momentum if self.steps > 1 else 0.0
        for variable, mean in zip(self.variables, self.slots["ema"]):
            mean.assign(momentum * mean + (1.0 - momentum) * variable)
        if self.ema_overwrite_frequency is not None:
            if self.steps % self.ema_overwrite_frequency == 0:
                self.finalize_variable_values(self.variables)

    def finalize_variable_values(self, variables: Any) -> None:
        """Assign the moving averages to the variables."""
        if self.use_ema:
            for variable in variables:
                variable.assign(self.slots["ema"][self.position(variable)])

    # ---- loss scaling, which only LossScaleOptimizer does

    def scale_loss(self, loss: Any) -> Any:
        return loss


def shrink(squares: Any, limit: float) -> Any:
    """The factor, at most 1, that reduces a norm to a limit; `squares` is the squared norm."""
    return limit / np.maximum(np.sqrt(squares), limit)
