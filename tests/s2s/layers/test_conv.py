"""Convolution: values against loops over every index, gradients, paddings, shapes, arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.layers import Conv1D, Conv2D, Conv2DTranspose
from s2s.layers.conv import border, convolved, largest, mean, one, pair, windows
from tests.s2s.layers.checks import check_gradients, numbers, spread_weights


def same_border(length: int, window: int, stride: int) -> int:
    """How many elements "same" padding adds before an axis, as TensorFlow documents it."""
    rest = length % stride
    total = max(window - (stride if rest == 0 else rest), 0)
    return total // 2


def by_loops(x: Any, kernel: Any, strides: tuple[int, int], padding: str) -> Any:
    samples, height, width, channels = x.shape
    rows, columns, _, filters = kernel.shape
    down, across = strides
    if padding == "same":
        size = (-(-height // down), -(-width // across))
        top, left = same_border(height, rows, down), same_border(width, columns, across)
    else:
        size = ((height - rows) // down + 1, (width - columns) // across + 1)
        top = left = 0
    out = np.zeros((samples, *size, filters))
    for n, i, j, f, r, c, d in np.ndindex(*out.shape, rows, columns, channels):
        row, column = i * down + r - top, j * across + c - left
        if 0 <= row < height and 0 <= column < width:
            out[n, i, j, f] += x[n, row, column, d] * kernel[r, c, d, f]
    return out


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("size", [3, (2, 3), 1])
@pytest.mark.parametrize("strides", [1, (2, 1), 3])
def test_conv_2d(padding: str, size: Any, strides: Any) -> None:
    layer, x = Conv2D(2, size, strides, padding, dtype="float64"), numbers(2, 5, 4, 2)
    layer(x)
    spread_weights(layer)
    want = by_loops(x, layer.kernel.numpy(), pair(strides), padding)
    got = layer(x)
    np.testing.assert_allclose(got, want + layer.bias.numpy(), rtol=1e-12)
    np.testing.assert_allclose(
        convolved(x, layer.kernel.numpy(), pair(strides), padding), want, rtol=1e-12
    )


@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
@pytest.mark.parametrize("strides, dilation", [(1, 1), (2, 1), (1, 2)])
def test_conv_1d(padding: str, strides: int, dilation: int) -> None:
    layer = Conv1D(2, 3, strides, padding, dilation, dtype="float64")
    x = numbers(2, 7, 2)
    layer(x)
    spread_weights(layer)
    kernel = layer.kernel.numpy()
    reach = 2 * dilation + 1
    before = {"valid": 0, "causal": reach - 1, "same": same_border(7, reach, strides)}[padding]
    length = (7 - reach) // strides + 1 if padding == "valid" else -(-7 // strides)
    want = np.zeros((2, length, 2)) + layer.bias.numpy()
    for n, t, f, k, d in np.ndindex(2, length, 2, 3, 2):
        place = t * strides + k * dilation - before
        if 0 <= place < 7:
            want[n, t, f] += x[n, place, d] * kernel[k, d, f]
    np.testing.assert_allclose(layer(x), want, rtol=1e-12)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("size, strides", [(3, 2), (2, 3), ((3, 1), (1, 2))])
def test_transposed_convolution_is_the_adjoint(padding: str, size: Any, strides: Any) -> None:
    """<conv(x), y> = <x, transposed(y)> with one kernel."""
    y = numbers(2, 3, 2, 2)
    layer = Conv2DTranspose(3, size, strides, padding, use_bias=False, dtype="float64")
    layer(y)
    spread_weights(layer)
    back = layer(y)
    x = numbers(*back.shape, phase=2.0)
    forward = by_loops(x, layer.kernel.numpy(), pair(strides), padding)
    assert forward.shape == y.shape
    np.testing.assert_allclose(np.sum(forward * y), np.sum(x * back), rtol=1e-12)


@pytest.mark.parametrize(
    "layer, shape",
    [
        (Conv2D(2, 2, (1, 2), "same", activation="tanh", dtype="float64"), (2, 3, 3, 2)),
        (Conv1D(2, 2, padding="causal", dilation_rate=2, dtype="float64"), (2, 4, 2)),
        (Conv2DTranspose(2, (3, 2), 2, "same", dtype="float64"), (1, 2, 2, 2)),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_gradients(layer: Any, shape: tuple[int, ...]) -> None:
    check_gradients(layer, numbers(*shape))


@pytest.mark.parametrize("samples", [0, 1])
def test_small_batches(samples: int) -> None:
    x = np.ones((samples, 4, 4, 2), np.float32)
    assert Conv2D(3, 2)(x).shape == (samples, 3, 3, 3)
    assert Conv1D(3, 2)(x[:, 0]).shape == (samples, 3, 3)
    assert Conv2DTranspose(3, 2, 2)(x).shape == (samples, 8, 8, 3)
    assert Conv2D(3, 2)(x).dtype == np.float32


def test_a_window_as_large_as_the_image() -> None:
    assert Conv2D(1, 4)(np.ones((1, 4, 4, 1))).shape == (1, 1, 1, 1)


def test_unknown_paddings_are_refused() -> None:
    with pytest.raises(ValueError, match="'valid' or 'same', not 'full'"):
        Conv2D(1, 2, padding="full")
    with pytest.raises(ValueError, match="'causal', not 'full'"):
        Conv1D(1, 2, padding="full")
    with pytest.raises(ValueError, match="not 'causal'"):
        Conv2DTranspose(1, 2, padding="causal")


def test_other_channels_are_refused() -> None:
    layer = Conv2D(1, 2, input_shape=(4, 4, 2), name="first")
    assert layer.kernel.shape == (2, 2, 2, 1)
    with pytest.raises(ValueError, match="first was built for inputs of 2 features"):
        layer(np.ones((1, 4, 4, 3)))


def test_sizes() -> None:
    assert pair(3) == (3, 3) and pair([1, 2]) == (1, 2)
    assert one(3) == 3 and one((4,)) == 4


def test_windows() -> None:
    x = np.arange(12.0).reshape(1, 3, 4, 1)
    seen = windows(x, (2, 2), (1, 2), "valid", 0.0)
    assert seen.shape == (1, 2, 2, 2, 2, 1)
    np.testing.assert_array_equal(seen[0, 1, 1, :, :, 0], [[6, 7], [10, 11]])
    last = windows(x, (2, 2), (1, 1), "same", -1.0)[0, 2, 3, :, :, 0]
    np.testing.assert_array_equal(last, [[11, -1], [-1, -1]])


@pytest.mark.parametrize("length", [1, 4, 5])
@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 4])
def test_border(length: int, window: int, stride: int) -> None:
    before, after = border(length, window, stride)
    assert before == same_border(length, window, stride) and after - before in (0, 1)
    assert (length + before + after - window) // stride + 1 == -(-length // stride)


def test_reductions_of_windows() -> None:
    x = numbers(1, 3, 3, 1)
    low = largest(x, (2, 2), (2, 2), "same")
    average = mean(x, (2, 2), (2, 2), "same")
    for i, j in np.ndindex(2, 2):  # the padding takes no part in either
        part = x[0, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, 0]
        assert low[0, i, j, 0] == part.max()
        np.testing.assert_allclose(average[0, i, j, 0], part.mean())
