"""Dynamic loss scaling, which keeps small gradients from underflowing in a low precision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..objects.change_counter import Announces
from ..objects.variable import Variable
from .base import Optimizer
from .gradient_checks import gradients_must_fit, lengths_must_match
from .scalar_views import Count, Rate


class LossScaleOptimizer(Announces):
    """Wraps an optimizer.  It takes the gradients of `scale_loss(loss)` and divides them by the
    scale before they are applied.

    A step with an inf or NaN gradient is skipped and halves the scale.  After
    `dynamic_growth_steps` finite steps in a row the scale is doubled.
    """

    saved_attributes = ("dynamic_scale", "step_counter", "inner_optimizer")

    def __init__(
        self,
        inner_optimizer: Optimizer,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
    ) -> None:
        self.inner_optimizer = inner_optimizer
        self.initial_scale = float(initial_scale)
        self.dynamic_growth_steps = dynamic_growth_steps
        self.name = name or "lossscaleoptimizer"
        self.dynamic_scale = float(initial_scale)
        self.step_counter = 0
        self.unscaled = False  # True if the gradients of this step are already divided

    def scale_loss(self, loss: Any) -> Any:
        return loss * self.dynamic_scale

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> None:
        """Make one step with the gradients of a scaled loss, or with the result of
        `get_unscaled_gradients`."""
        lengths_must_match(self.name, grads_and_vars)
        pairs = [(g, v) for g, v in grads_and_vars]
        gradients_must_fit(self.name, pairs)
        if len(self.inner_optimizer.variables) == 0:
            self.inner_optimizer.build([v for _, v in pairs])
        finite = True
        for g, _ in pairs:
            if g is not None:
                finite = finite and bool(np.all(np.isfinite(g)))
        if finite:
            if not self.unscaled:
                pairs = [(None if g is None else g / self.dynamic_scale, v) for g, v in pairs]
            self.inner_optimizer.apply_gradients(pairs)
            self.step_counter += 1
            if self.step_counter == self.dynamic_growth_steps:
                self.dynamic_scale = self.dynamic_scale * 2.0
                self.step_counter = 0
        else:
            self.dynamic_scale = self.dynamic_scale * 0.5
            self.step_counter = 0
        self.unscaled = False

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        variables = self.variables if trainable_variables is None else trainable_variables
        self.apply_gradients(zip(grads, variables))

    # ---- older Keras names

    def get_scaled_loss(self, loss: Any) -> Any:
        return self.scale_loss(loss)

    def get_unscaled_gradients(self, gradients: Any) -> Any:
        """The gradients of the unscaled loss, for clipping or inspection.  The next
        `apply_gradients` does not divide its gradients again."""
        self.unscaled = True
        return [None if g is None else g / self.dynamic_scale for g in gradients]

    # ---- delegation to the inner optimizer

    def build(self, variables: list[Variable]) -> None:
        self.inner_optimizer.build(variables)

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.inner_optimizer.variables

    @property
    def iterations(self) -> Count:
        return self.inner_optimizer.iterations

    @property
    def learning_rate(self) -> Rate:
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        self.inner_optimizer.learning_rate = rate
