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
        *,
        input_shape: tuple[int, ...] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if padding not in ("valid", "same"):
            raise ValueError(f"padding is 'valid' or 'same', not {padding!r}")
        self.filters = filters
        self.kernel_size, self.strides = pair(kernel_size), pair(strides)
        self.padding = padding
        if input_shape is not None:
            self.complete((None, *input_shape))

    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*self.kernel_size, input_shape[-1], self.filters)

    def call(self, inputs: Any) -> Any:
        rows, columns = self.kernel_size
        down, across = self.strides
        if self.padding == "same":
            inputs = padded(inputs, self.kernel_size, self.strides, 0.0)
        height = (inputs.shape[1] - rows) // down + 1
        width = (inputs.shape[2] - columns) // across + 1
        outputs = np.zeros((inputs.shape[0], height, width, self.filters), inputs.dtype)
        for i in range(rows):
            for j in range(columns):
                part = inputs[
                    :, i : i + down * (height - 1) + 1 : down,
                    j : j + across * (width - 1) + 1 : across, :,
                ]  # fmt: skip
                outputs += part @ self.kernel[i, j]
        return self.finished(outputs)


class MaxPool2D(Layer):
    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: str = "valid", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = pair(pool_size)
        self.strides = pair(pool_size if strides is None else strides)
        self.padding = padding

    def call(self, inputs: Any) -> Any:
        rows, columns = self.pool_size
        down, across = self.strides
        if self.padding == "same":
            inputs = padded(inputs, self.pool_size, self.strides, -np.inf)
        height = (inputs.shape[1] - rows) // down + 1
        width = (inputs.shape[2] - columns) // across + 1
        shape = (inputs.shape[0], height, width, inputs.shape[3])
        outputs = np.full(shape, -np.inf, inputs.dtype)
        for k in range(rows * columns):
            i, j = k // columns, k % columns
            part = inputs[
                :, i : i + down * (height - 1) + 1 : down,
                j : j + across * (width - 1) + 1 : across, :,
            ]  # fmt: skip
            # The first of equal entries counts, as in TensorFlow.
            outputs[...] = np.where(part > outputs, part, outputs)
        return outputs


MaxPooling2D = MaxPool2D


def padded(inputs: Any, window: tuple[int, int], strides: tuple[int, int], value: float) -> Any:
    """With a border such that there is one window per stride; more of it at the end."""
    total_rows = max((-(-inputs.shape[1] // strides[0]) - 1) * strides[0]
                     + window[0] - inputs.shape[1], 0)  # fmt: skip
    total_columns = max((-(-inputs.shape[2] // strides[1]) - 1) * strides[1]
                        + window[1] - inputs.shape[2], 0)  # fmt: skip
    top, left = total_rows // 2, total_columns // 2
    border = ((0, 0), (top, total_rows - top), (left, total_columns - left), (0, 0))
    return np.pad(inputs, border, constant_values=value)
