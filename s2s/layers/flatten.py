"""Layers that only pass on: `Flatten`, all axes but the first as one, and `Input`."""

from __future__ import annotations

from typing import Any

from .base import Layer


class Flatten(Layer):
    def call(self, inputs: Any) -> Any:
        return inputs.reshape(inputs.shape[0], -1)


class Input(Layer):
    """Says what the inputs of a `Sequential` look like, which then is built at once."""

    def __init__(
        self, shape: tuple[int, ...] | None = None, dtype: Any = "float32", **kwargs: Any
    ) -> None:
        super().__init__(input_shape=shape, **kwargs)
        self.input_dtype = dtype

    def call(self, inputs: Any) -> Any:
        return inputs
