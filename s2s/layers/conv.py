"""Convolution and pooling over images: samples, rows, columns, channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .affine import Affine
from .base import Layer


def pair(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if isinstance(size, int) else (int(size[0]), int(size[1]))


class Conv2D(Affine):
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if padding not in ("valid", "same"):
            raise ValueError(f"padding is 'valid' or 'same', not {padding!r}")
        self.filters = filters
        self.kernel_size, self.strides = pair(kernel_size), pair(strides)
        self.padding = padding
        if self.input_shape is not None:
            self.complete((None, *self.input_shape))

    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*self.kernel_size, input_shape[-1], self.filters)

    def call(self, inputs: Any) -> Any:
        seen = windows(inputs, self.kernel_size, self.strides, self.padding, 0.0)
        return self.finished(np.tensordot(seen, self.kernel, 3))


class MaxPool2D(Layer):
    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: str = "valid", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = pair(pool_size)
        self.strides = pair(pool_size if strides is None else strides)
        self.padding = padding

    def call(self, inputs: Any) -> Any:
        return largest(inputs, self.pool_size, self.strides, self.padding)


MaxPooling2D = MaxPool2D


def convolved(inputs: Any, kernel: Any, strides: tuple[int, int], padding: str) -> Any:
    seen = windows(inputs, kernel.shape[:2], strides, padding, 0.0)
    return np.tensordot(seen, kernel, 3)


def largest(inputs: Any, size: tuple[int, int], strides: tuple[int, int], padding: str) -> Any:
    """The largest of what each window sees."""
    seen = windows(inputs, size, strides, padding, -np.inf)
    samples, height, width, rows, columns, channels = seen.shape
    flat = seen.reshape(samples, height, width, rows * columns, channels)
    # The first of equal entries counts, as in TensorFlow.
    first = np.argmax(flat, axis=3, keepdims=True)
    return np.take_along_axis(flat, first, axis=3)[:, :, :, 0]


def windows(
    inputs: Any, size: tuple[int, int], strides: tuple[int, int], padding: str, value: float
) -> Any:
    """What a window sees at each of its places: samples, places down and across, the window's
    rows and columns, channels."""
    if padding == "same":
        inputs = padded(inputs, size, strides, value)
    height = (inputs.shape[1] - size[0]) // strides[0] + 1
    width = (inputs.shape[2] - size[1]) // strides[1] + 1
    rows = np.arange(height)[:, None, None, None] * strides[0] + np.arange(size[0])[:, None]
    columns = np.arange(width)[:, None, None] * strides[1] + np.arange(size[1])
    return inputs[:, rows, columns]


def padded(inputs: Any, window: tuple[int, int], strides: tuple[int, int], value: float) -> Any:
    """With a border such that there is one window per stride; more of it at the end."""
    total_rows = max((-(-inputs.shape[1] // strides[0]) - 1) * strides[0]
                     + window[0] - inputs.shape[1], 0)  # fmt: skip
    total_columns = max((-(-inputs.shape[2] // strides[1]) - 1) * strides[1]
                        + window[1] - inputs.shape[2], 0)  # fmt: skip
    top, left = total_rows // 2, total_columns // 2
    border = ((0, 0), (top, total_rows - top), (left, total_columns - left), (0, 0))
    return np.pad(inputs, border, constant_values=value)
