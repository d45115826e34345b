"""Regularisation and normalisation: dropout, noise, layer and batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import initializers
from .base import Layer


class Dropout(Layer):
    """In training, sets a random fraction `rate` of the inputs to 0 and scales the others by
    `1 / (1 - rate)`."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"the rate of Dropout lies in [0, 1), not {rate}")
        self.rate = float(rate)
        self.generator = initializers.generator(seed)

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not training:
            return inputs
        kept = self.generator.random(inputs.shape) >= self.rate
        return inputs * kept / (1.0 - self.rate)


class GaussianNoise(Layer):
    """In training, adds normal noise to the inputs."""

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = float(stddev)
        self.generator = initializers.generator(seed)

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not training:
            return inputs
        noise = self.stddev * self.generator.standard_normal(inputs.shape)
        return inputs + noise.astype(inputs.dtype)


class LayerNormalization(Layer):
    """Normalises each sample to mean 0 and variance 1 along the last axis, then scales and shifts
    it."""

    fixed_width = True

    def __init__(
        self, epsilon: float = 1e-3, center: bool = True, scale: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.epsilon = float(epsilon)
        self.center, self.scale = center, scale

    def build(self, input_shape: tuple[int, ...]) -> None:
        if self.scale:
            self.gamma = self.add_weight((input_shape[-1],), "ones", name="gamma")
        if self.center:
            self.beta = self.add_weight((input_shape[-1],), "zeros", name="beta")

    def call(self, inputs: Any) -> Any:
        mean = np.mean(inputs, axis=-1, keepdims=True)
        variance = np.mean((inputs - mean) ** 2, axis=-1, keepdims=True)
        outputs = (inputs - mean) / np.sqrt(variance + self.epsilon)
        if self.scale:
            outputs = outputs * self.gamma
        return outputs + self.beta if self.center else outputs


class BatchNormalization(Layer):
    """Normalises each channel to mean 0 and variance 1.  In training the statistics are those of
    the batch, otherwise moving averages over all batches seen."""

    fixed_width = True

    def __init__(
        self,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.momentum, self.epsilon = float(momentum), float(epsilon)
        self.center, self.scale = center, scale

    def build(self, input_shape: tuple[int, ...]) -> None:
        size = (input_shape[-1],)
        if self.scale:
            self.gamma = self.add_weight(size, "ones", name="gamma")
        if self.center:
            self.beta = self.add_weight(size, "zeros", name="beta")
        self.moving_mean = self.add_weight(size, "zeros", trainable=False, name="moving_mean")
        self.moving_variance = self.add_weight(
            size, "ones", trainable=False, name="moving_variance"
        )

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not training or not self.trainable:  # a frozen layer is in inference mode, as in Keras
            scale = 1.0 / np.sqrt(self.moving_variance + self.epsilon)
            return self.moved((inputs - self.moving_mean) * scale)
        axes = tuple(range(inputs.ndim - 1))
        mean = np.mean(inputs, axis=axes)
        variance = np.mean((inputs - mean) ** 2, axis=axes)
        rest = 1.0 - self.momentum
        self.moving_mean.assign(self.moving_mean * self.momentum + mean * rest)
        self.moving_variance.assign(self.moving_variance * self.momentum + variance * rest)
        return self.moved((inputs - mean) / np.sqrt(variance + self.epsilon))

    def moved(self, outputs: Any) -> Any:
        if self.scale:
            outputs = outputs * self.gamma
        return outputs + self.beta if self.center else outputs
