"""Layers that merge several inputs, given as a list."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Layer


class Merging(Layer):
    """A left fold over the inputs; subclasses define the binary operation `merged`."""

    def merged(self, left: Any, right: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        outputs = inputs[0]
        for x in inputs[1:]:
            outputs = self.merged(outputs, x)
        return outputs


class Add(Merging):
    def merged(self, left: Any, right: Any) -> Any:
        return left + right


class Subtract(Merging):
    def merged(self, left: Any, right: Any) -> Any:
        return left - right


class Multiply(Merging):
    def merged(self, left: Any, right: Any) -> Any:
        return left * right


class Maximum(Merging):
    def merged(self, left: Any, right: Any) -> Any:
        return np.maximum(left, right)


class Minimum(Merging):
    def merged(self, left: Any, right: Any) -> Any:
        return np.minimum(left, right)


class Average(Add):
    def call(self, inputs: Any) -> Any:
        return super().call(inputs) / len(inputs)


class Concatenate(Layer):
    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return np.concatenate(inputs, axis=self.axis)
