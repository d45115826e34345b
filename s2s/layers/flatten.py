"""Layers without arithmetic: `Flatten`, which merges all axes but the first, and `Input`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Layer
from .symbolic_input import Symbol

SOME = 32  # example size of an axis of unknown length (None)


class Flatten(Layer):
    def call(self, inputs: Any) -> Any:
        return inputs.reshape(inputs.shape[0], -1)


class Input(Layer, Symbol):
    """Declares the shape and dtype of the inputs of a model, so that it is built immediately."""

    def __init__(
        self, shape: tuple[Any, ...] | None = None, dtype: Any = "float32", **kwargs: Any
    ) -> None:
        super().__init__(input_shape=shape, **kwargs)
        self.input_dtype = dtype
        if shape is not None:
            self.example = example(shape, dtype)

    def call(self, inputs: Any) -> Any:
        return inputs


def example(shape: tuple[Any, ...], dtype: Any = "float32") -> Any:
    """An example batch: one sample of zeros."""
    return np.zeros((1, *(SOME if n is None else n for n in shape)), dtype)
