"""Convolution over images (axes: samples, rows, columns, channels) and over sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from .linear_base import Affine


def pair(size: Any) -> tuple[int, int]:
    """A size for rows and columns; an integer counts for both."""
    return (int(size), int(size)) if isinstance(size, int) else (int(size[0]), int(size[1]))


def one(size: Any) -> int:
    """A size for one axis, from an integer or a sequence of one."""
    return int(size) if isinstance(size, int) else int(size[0])


class OverImages(Affine):
    """The base class of layers that slide a window over images."""

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


class Conv2D(OverImages):
    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*self.kernel_size, input_shape[-1], self.filters)

    def call(self, inputs: Any) -> Any:
        seen = windows(inputs, self.kernel_size, self.strides, self.padding, 0.0)
        return self.finished(np.tensordot(seen, self.kernel, 3))


class Conv1D(Affine):
    """Convolution over sequences (axes: samples, steps, features).  With "causal" padding, an
    output step depends only on the same and earlier input steps."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        dilation_rate: Any = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if padding not in ("valid", "same", "causal"):
            raise ValueError(f"padding is 'valid', 'same' or 'causal', not {padding!r}")
        self.filters, self.padding = filters, padding
        self.kernel_size, self.strides = one(kernel_size), one(strides)
        self.dilation_rate = one(dilation_rate)
        if self.input_shape is not None:
            self.complete((None, *self.input_shape))

    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (self.kernel_size, input_shape[-1], self.filters)

    def call(self, inputs: Any) -> Any:
        reach = (self.kernel_size - 1) * self.dilation_rate + 1
        if self.padding == "causal":
            inputs = np.pad(inputs, ((0, 0), (reach - 1, 0), (0, 0)))
        elif self.padding == "same":
            before, after = border(inputs.shape[1], reach, self.strides)
            inputs = np.pad(inputs, ((0, 0), (before, after), (0, 0)))
        places = np.arange((inputs.shape[1] - reach) // self.strides + 1) * self.strides
        seen = inputs[:, places[:, None] + np.arange(self.kernel_size) * self.dilation_rate]
        return self.finished(np.tensordot(seen, self.kernel, 2))


class Conv2DTranspose(OverImages):
    """Transposed convolution: the adjoint of `Conv2D`, from the shape of its outputs to that of its
    inputs."""

    bias_axis = -2

    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, input_shape[-1])

    def call(self, inputs: Any) -> Any:
        samples, height, width, _ = inputs.shape
        (rows, columns), (down, across) = self.kernel_size, self.strides
        more_rows, more_columns = max(rows - down, 0), max(columns - across, 0)
        # The contribution of each input element to its output window.
        parts = np.tensordot(inputs, self.kernel, ([3], [3]))
        size = (height * down + more_rows, width * across + more_columns)
        outputs = np.zeros((samples, *size, self.filters), parts.dtype)
        for i in range(rows):
            for j in range(columns):
                last_row, last_column = i + height * down, j + width * across
                outputs[:, i:last_row:down, j:last_column:across] += parts[:, :, :, i, j]
        if self.padding == "same":
            top, left = more_rows // 2, more_columns // 2
            outputs = outputs[:, top : top + height * down, left : left + width * across]
        return self.finished(outputs)


def convolved(inputs: Any, kernel: Any, strides: tuple[int, int], padding: str) -> Any:
    """The convolution of images with a kernel."""
    seen = windows(inputs, kernel.shape[:2], strides, padding, 0.0)
    return np.tensordot(seen, kernel, 3)


def largest(inputs: Any, size: tuple[int, int], strides: tuple[int, int], padding: str) -> Any:
    """The maximum over each window."""
    seen = windows(inputs, size, strides, padding, -np.inf)
    samples, height, width, rows, columns, channels = seen.shape
    flat = seen.reshape(samples, height, width, rows * columns, channels)
    # Among equal entries, the first gets the gradient, as in TensorFlow.
    first = np.argmax(flat, axis=3, keepdims=True)
    return np.take_along_axis(flat, first, axis=3)[:, :, :, 0]


def mean(inputs: Any, size: tuple[int, int], strides: tuple[int, int], padding: str) -> Any:
    """The mean over each window, without the padding."""
    total = np.sum(windows(inputs, size, strides, padding, 0.0), axis=(3, 4))
    if padding != "same":
        return total / (size[0] * size[1])
    inside = np.ones((1, inputs.shape[1], inputs.shape[2], 1), inputs.dtype)
    return total / np.sum(windows(inside, size, strides, padding, 0.0), axis=(3, 4))


def windows(
    inputs: Any, size: tuple[int, int], strides: tuple[int, int], padding: str, value: float
) -> Any:
    """The contents of the window at each position.  Axes: samples, vertical and horizontal
    positions, rows and columns of the window, channels."""
    if padding == "same":
        inputs = padded(inputs, size, strides, value)
    height = (inputs.shape[1] - size[0]) // strides[0] + 1
    width = (inputs.shape[2] - size[1]) // strides[1] + 1
    rows = np.arange(height)[:, None, None, None] * strides[0] + np.arange(size[0])[:, None]
    columns = np.arange(width)[:, None, None] * strides[1] + np.arange(size[1])
    return inputs[:, rows, columns]


def padded(inputs: Any, window: tuple[int, int], strides: tuple[int, int], value: float) -> Any:
    """The inputs, padded so that there is one window per stride.  An odd element of padding goes to
    the end."""
    rows = border(inputs.shape[1], window[0], strides[0])
    columns = border(inputs.shape[2], window[1], strides[1])
    return np.pad(inputs, ((0, 0), rows, columns, (0, 0)), constant_values=value)


def border(length: Any, window: int, stride: int) -> tuple[Any, Any]:
    """The padding before and after an axis."""
    total = max((-(-length // stride) - 1) * stride + window - length, 0)
    return total // 2, total - total // 2
