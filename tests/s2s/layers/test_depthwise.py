"""Depthwise and separable convolution: values against loops, gradients, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.layers import DepthwiseConv2D, SeparableConv2D
from tests.s2s.layers.checks import check_gradients, numbers, spread_weights


def by_loops(x: Any, kernel: Any, stride: int) -> Any:
    """Depthwise convolution without padding: output channel `d * several + m` is channel `d` with
    its kernel `m`."""
    rows, columns, channels, several = kernel.shape
    height, width = (x.shape[1] - rows) // stride + 1, (x.shape[2] - columns) // stride + 1
    out = np.zeros((x.shape[0], height, width, channels * several))
    for n, i, j, d, m, r, c in np.ndindex(
        x.shape[0], height, width, channels, several, rows, columns
    ):
        value = x[n, i * stride + r, j * stride + c, d]
        out[n, i, j, d * several + m] += value * kernel[r, c, d, m]
    return out


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("several", [1, 2])
def test_depthwise(stride: int, several: int) -> None:
    x = numbers(2, 5, 4, 3)
    layer = DepthwiseConv2D((2, 3), stride, depth_multiplier=several, dtype="float64")
    layer(x)
    spread_weights(layer)
    want = by_loops(x, layer.kernel.numpy(), stride) + layer.bias.numpy()
    np.testing.assert_allclose(layer(x), want, rtol=1e-12)


def test_separable() -> None:
    x = numbers(2, 4, 4, 2)
    layer = SeparableConv2D(3, 2, depth_multiplier=2, dtype="float64")
    layer(x)
    spread_weights(layer)
    parts = by_loops(x, layer.depthwise_kernel.numpy(), 1)
    want = np.einsum("nhwc,cf->nhwf", parts, layer.pointwise_kernel.numpy()[0, 0])
    np.testing.assert_allclose(layer(x), want + layer.bias.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        DepthwiseConv2D(2, 2, "same", 2, activation="tanh", dtype="float64"),
        SeparableConv2D(2, 2, padding="same", depth_multiplier=2, dtype="float64"),
    ],
    ids=lambda layer: layer.name,
)
def test_gradients(layer: Any) -> None:
    check_gradients(layer, numbers(2, 3, 3, 2))


def test_weights() -> None:
    depthwise = DepthwiseConv2D(2, depth_multiplier=3, input_shape=(4, 4, 2))
    assert [w.shape for w in depthwise.weights] == [(2, 2, 2, 3), (6,)]
    separable = SeparableConv2D(5, 2, use_bias=False, input_shape=(4, 4, 2))
    assert [(w.name.split("/")[1], w.shape) for w in separable.weights] == [
        ("depthwise_kernel", (2, 2, 2, 1)),
        ("pointwise_kernel", (1, 1, 2, 5)),
    ]
    ones = SeparableConv2D(
        1, 2, depthwise_initializer="ones", pointwise_initializer="ones", input_shape=(2, 2, 3)
    )
    assert float(ones(np.ones((1, 2, 2, 3)))[0, 0, 0, 0]) == 12.0


@pytest.mark.parametrize("samples", [0, 1])
def test_small_batches(samples: int) -> None:
    x = np.ones((samples, 3, 3, 2), np.float32)
    assert DepthwiseConv2D(2)(x).shape == (samples, 2, 2, 2)
    assert SeparableConv2D(5, 2)(x).shape == (samples, 2, 2, 5)


def test_unknown_paddings_are_refused() -> None:
    for layer in (
        lambda: DepthwiseConv2D(2, padding="x"),
        lambda: SeparableConv2D(1, 2, padding="x"),
    ):
        with pytest.raises(ValueError, match="'valid' or 'same', not 'x'"):
            layer()
