"""`Dense`: an affine map and an activation."""

from __future__ import annotations

from typing import Any

from . import activations
from .base import Layer


class Dense(Layer):
    """`activation(inputs @ kernel + bias)`, over the last axis."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        input_shape: tuple[int, ...] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        if input_shape is not None:
            self.complete((None, *input_shape))

    def build(self, input_shape: tuple[int, ...]) -> None:
        shape = (input_shape[-1], self.units)
        self.kernel = self.add_weight(shape, self.kernel_initializer, name="kernel")
        if self.use_bias:
            self.bias = self.add_weight((self.units,), self.bias_initializer, name="bias")

    def call(self, inputs: Any) -> Any:
        outputs = inputs @ self.kernel
        if self.use_bias:
            outputs = outputs + self.bias
        return self.activation(outputs)
