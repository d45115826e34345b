"""Depthwise convolution over images, and depthwise separable convolution (depthwise followed by
pointwise)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .conv import OverImages, windows


def by_channels(
    inputs: Any, kernel: Any, size: tuple[int, int], strides: tuple[int, int], padding: str
) -> Any:
    """Convolve each channel with its own kernels.  Each channel has as many adjacent outputs as the
    last axis of the kernel is long."""
    seen = windows(inputs, size, strides, padding, 0.0)
    outputs = np.einsum("nhwrcd,rcdm->nhwdm", seen, kernel)
    samples, height, width, channels, several = outputs.shape
    return outputs.reshape(samples, height, width, channels * several)


class DepthwiseConv2D(OverImages):
    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        depthwise_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        self.depth_multiplier = depth_multiplier
        super().__init__(
            depth_multiplier, kernel_size, strides, padding,
            kernel_initializer=depthwise_initializer, **kwargs,
        )  # fmt: skip

    def build(self, input_shape: tuple[int, ...]) -> None:
        shape = (*self.kernel_size, input_shape[-1], self.depth_multiplier)
        self.kernel = self.add_weight(shape, self.kernel_initializer, name="kernel")
        if self.use_bias:
            width = input_shape[-1] * self.depth_multiplier
            self.bias = self.add_weight((width,), self.bias_initializer, name="bias")

    def call(self, inputs: Any) -> Any:
        return self.finished(
            by_channels(inputs, self.kernel, self.kernel_size, self.strides, self.padding)
        )


class SeparableConv2D(OverImages):
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        self.depth_multiplier = depth_multiplier
        self.pointwise_initializer = pointwise_initializer
        super().__init__(
            filters, kernel_size, strides, padding,
            kernel_initializer=depthwise_initializer, **kwargs,
        )  # fmt: skip

    def build(self, input_shape: tuple[int, ...]) -> None:
        channels, several = input_shape[-1], self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            (*self.kernel_size, channels, several), self.kernel_initializer, name="depthwise_kernel"
        )
        self.pointwise_kernel = self.add_weight(
            (1, 1, channels * several, self.filters),
            self.pointwise_initializer,
            name="pointwise_kernel",
        )
        if self.use_bias:
            self.bias = self.add_weight((self.filters,), self.bias_initializer, name="bias")

    def call(self, inputs: Any) -> Any:
        parts = by_channels(
            inputs, self.depthwise_kernel, self.kernel_size, self.strides, self.padding
        )
        return self.finished(parts @ self.pointwise_kernel[0, 0])
