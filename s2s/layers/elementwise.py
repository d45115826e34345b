"""Elementwise layers: activations as layers, rescaling, and user functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import activations
from .base import Layer
from .symbolic_input import register_operation


class Activation(Layer):
    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class ReLU(Layer):
    """The inputs where they exceed `threshold`, capped at `max_value`; below the threshold,
    `negative_slope * (inputs - threshold)`."""

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_value = max_value
        self.negative_slope, self.threshold = float(negative_slope), float(threshold)

    def call(self, inputs: Any) -> Any:
        if self.max_value is None and self.threshold == 0.0 and self.negative_slope != 0.0:
            return activations.leaky_relu(inputs, self.negative_slope)
        outputs = np.where(inputs <= self.threshold, 0.0, inputs)  # NaN propagates
        if self.max_value == 6.0 and self.threshold == 0.0:
            outputs = activations.relu6(inputs)
        elif self.max_value is not None:  # Keras: at max_value the derivative is that of the inputs
            outputs = np.where(outputs > self.max_value, self.max_value, outputs)
        if self.negative_slope == 0.0:
            return outputs
        below = self.negative_slope * (inputs - self.threshold)
        return np.where(inputs < self.threshold, below, outputs)


class LeakyReLU(Layer):
    def __init__(
        self, negative_slope: float = 0.3, alpha: float | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.negative_slope = float(negative_slope if alpha is None else alpha)

    def call(self, inputs: Any) -> Any:
        return activations.leaky_relu(inputs, self.negative_slope)


class ELU(Layer):
    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, self.alpha)


class Softmax(Layer):
    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        last = np.moveaxis(inputs, self.axis, -1)
        return np.moveaxis(activations.softmax(last), -1, self.axis)


class Rescaling(Layer):
    def __init__(self, scale: float, offset: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = float(scale), float(offset)

    def call(self, inputs: Any) -> Any:
        floats = inputs if inputs.dtype.kind == "f" else inputs.astype(self.dtype)
        return floats * self.scale + self.offset


class Lambda(Layer):
    """Applies a user function to its inputs."""

    def __init__(self, function: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function = function

    def call(self, inputs: Any) -> Any:
        return self.function(inputs)


class Operation(Layer):
    """Applies an operator to the outputs of layers; made by operators between symbols."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(name=function.__name__)
        self.function = function

    def call(self, inputs: Any, other: Any) -> Any:
        return self.function(inputs, other)


register_operation(Operation)
