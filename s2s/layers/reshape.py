"""Layers that reshape, permute, repeat or pad their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Layer
from .conv import pair


class Reshape(Layer):
    """Reshapes the axes after the first; one of the new sizes may be -1."""

    def __init__(self, target_shape: tuple[int, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(int(n) for n in target_shape)

    def call(self, inputs: Any) -> Any:
        return inputs.reshape((inputs.shape[0], *self.target_shape))


class Permute(Layer):
    """Permutes the axes after the first; `dims` counts them from 1."""

    def __init__(self, dims: tuple[int, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(int(n) for n in dims)

    def call(self, inputs: Any) -> Any:
        return np.transpose(inputs, (0, *self.dims))


class RepeatVector(Layer):
    """Repeats each sample `n` times along a new second axis."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = int(n)

    def call(self, inputs: Any) -> Any:
        return np.repeat(inputs[:, None], self.n, axis=1)


class UpSampling1D(Layer):
    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = int(size)

    def call(self, inputs: Any) -> Any:
        return np.repeat(inputs, self.size, axis=1)


class UpSampling2D(Layer):
    """Repeats rows and columns of images (nearest-neighbour upsampling)."""

    def __init__(self, size: Any = (2, 2), interpolation: str = "nearest", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if interpolation != "nearest":
            raise ValueError(f"interpolation is 'nearest', not {interpolation!r}")
        self.size = pair(size)

    def call(self, inputs: Any) -> Any:
        return np.repeat(np.repeat(inputs, self.size[0], axis=1), self.size[1], axis=2)


class ZeroPadding2D(Layer):
    """Pads images with zeros.  `padding` is one width, a pair for rows and columns, or a pair of
    pairs (before, after)."""

    def __init__(self, padding: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        rows, columns = (padding, padding) if isinstance(padding, int) else padding
        self.rows, self.columns = pair(rows), pair(columns)

    def call(self, inputs: Any) -> Any:
        return np.pad(inputs, ((0, 0), self.rows, self.columns, (0, 0)))
