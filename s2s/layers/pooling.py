"""Pooling: the maximum or the mean over windows, or over all positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Layer
from .conv import largest, mean, one, pair


class Pooling2D(Layer):
    """Pooling over images (axes: samples, rows, columns, channels)."""

    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: str = "valid", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = pair(pool_size)
        self.strides = pair(pool_size if strides is None else strides)
        self.padding = padding


class MaxPool2D(Pooling2D):
    def call(self, inputs: Any) -> Any:
        return largest(inputs, self.pool_size, self.strides, self.padding)


class AveragePooling2D(Pooling2D):
    def call(self, inputs: Any) -> Any:
        return mean(inputs, self.pool_size, self.strides, self.padding)


class Pooling1D(Layer):
    """Pooling over sequences (axes: samples, steps, features)."""

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: str = "valid", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = one(pool_size)
        self.strides = self.pool_size if strides is None else one(strides)
        self.padding = padding


class MaxPool1D(Pooling1D):
    def call(self, inputs: Any) -> Any:
        size, strides = (self.pool_size, 1), (self.strides, 1)
        return largest(inputs[:, :, None], size, strides, self.padding)[:, :, 0]


class AveragePooling1D(Pooling1D):
    def call(self, inputs: Any) -> Any:
        size, strides = (self.pool_size, 1), (self.strides, 1)
        return mean(inputs[:, :, None], size, strides, self.padding)[:, :, 0]


class Global(Layer):
    """Pooling over all positions: the axes between the first and the last."""

    def __init__(self, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.keepdims = keepdims


class GlobalAveragePooling(Global):
    def call(self, inputs: Any) -> Any:
        return np.mean(inputs, axis=tuple(range(1, inputs.ndim - 1)), keepdims=self.keepdims)


class GlobalMaxPooling(Global):
    def call(self, inputs: Any) -> Any:
        return np.max(inputs, axis=tuple(range(1, inputs.ndim - 1)), keepdims=self.keepdims)


class GlobalAveragePooling1D(GlobalAveragePooling): ...


class GlobalAveragePooling2D(GlobalAveragePooling): ...


class GlobalMaxPooling1D(GlobalMaxPooling): ...


class GlobalMaxPooling2D(GlobalMaxPooling): ...


MaxPooling1D, MaxPooling2D = MaxPool1D, MaxPool2D
AvgPool1D, AvgPool2D = AveragePooling1D, AveragePooling2D
