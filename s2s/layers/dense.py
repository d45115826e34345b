"""`Dense`: a fully connected layer, an affine map followed by an activation."""

from __future__ import annotations

from typing import Any

from .linear_base import Affine


class Dense(Affine):
    """`activation(inputs @ kernel + bias)`, over the last axis."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activation, **kwargs)
        self.units = units
        if self.input_shape is not None:
            self.complete((None, *self.input_shape))

    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (input_shape[-1], self.units)

    def call(self, inputs: Any) -> Any:
        return self.finished(inputs @ self.kernel)
