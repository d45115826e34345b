"""The base class of layers with a linear map, a bias and an activation."""

from __future__ import annotations

from typing import Any

from . import activations
from .base import Layer


class Affine(Layer):
    """Subclasses define `kernel_shape`, whose last axis is that of the outputs, and apply the
    kernel in `call`.  `finished` adds the bias and applies the activation."""

    fixed_width = True
    bias_axis = -1  # axis of the kernel that has the length of the bias

    def __init__(
        self,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer

    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        raise NotImplementedError

    def build(self, input_shape: tuple[int, ...]) -> None:
        shape = self.kernel_shape(input_shape)
        self.kernel = self.add_weight(shape, self.kernel_initializer, name="kernel")
        if self.use_bias:
            self.bias = self.add_weight(
                (shape[self.bias_axis],), self.bias_initializer, name="bias"
            )

    def finished(self, outputs: Any) -> Any:
        if self.use_bias:
            outputs = outputs + self.bias
        return self.activation(outputs)
