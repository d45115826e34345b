"""Pooling: values against loops over windows, gradients, ties, paddings, shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s import layers
from s2s.layers import (
    AveragePooling1D,
    AveragePooling2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPool1D,
    MaxPool2D,
)
from tests.s2s.layers.checks import check_gradients, numbers


def starts(length: int, size: int, stride: int, padding: str) -> list[int]:
    if padding == "valid":
        return list(range(0, length - size + 1, stride))
    count = -(-length // stride)
    before = max((count - 1) * stride + size - length, 0) // 2
    return [i * stride - before for i in range(count)]


def by_loops(reduce: Callable[[Any], Any], x: Any, size: Any, strides: Any, padding: str) -> Any:
    rows = starts(x.shape[1], size[0], strides[0], padding)
    columns = starts(x.shape[2], size[1], strides[1], padding)
    out = np.zeros((x.shape[0], len(rows), len(columns), x.shape[3]))
    for n, i, j, c in np.ndindex(out.shape):
        r, k = rows[i], columns[j]
        out[n, i, j, c] = reduce(x[n, max(r, 0) : r + size[0], max(k, 0) : k + size[1], c])
    return out


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("size, strides", [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((2, 3), (3, 1))])
def test_over_images(padding: str, size: Any, strides: Any) -> None:
    x = numbers(2, 5, 4, 2) - 2.0  # negative: the padding of a maximum is not zero
    got = MaxPool2D(size, strides, padding)(x)
    np.testing.assert_array_equal(got, by_loops(np.max, x, size, strides, padding))
    got = AveragePooling2D(size, strides, padding)(x)
    np.testing.assert_allclose(got, by_loops(np.mean, x, size, strides, padding), rtol=1e-13)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("size, stride", [(2, 2), (3, 1)])
def test_over_sequences(padding: str, size: int, stride: int) -> None:
    x = numbers(2, 5, 3) - 2.0
    as_images = (x[:, :, None], (size, 1), (stride, 1), padding)
    got = MaxPool1D(size, stride, padding)(x)
    np.testing.assert_array_equal(got, by_loops(np.max, *as_images)[:, :, 0])
    got = AveragePooling1D((size,), (stride,), padding)(x)
    np.testing.assert_allclose(got, by_loops(np.mean, *as_images)[:, :, 0], rtol=1e-13)


def test_strides_are_those_of_the_windows_by_default() -> None:
    assert MaxPool2D((2, 3)).strides == (2, 3) and MaxPool1D(3).strides == 3
    assert AveragePooling2D().pool_size == (2, 2) and AveragePooling1D().strides == 2


@pytest.mark.parametrize("keepdims", [False, True])
def test_over_all_positions(keepdims: bool) -> None:
    images, sequences = numbers(2, 3, 4, 5), numbers(2, 3, 5)
    for layer, reduce in ((GlobalAveragePooling2D, np.mean), (GlobalMaxPooling2D, np.max)):
        want: Any = reduce(images, axis=(1, 2), keepdims=keepdims)
        np.testing.assert_allclose(layer(keepdims=keepdims)(images), want)
    for layer, reduce in ((GlobalAveragePooling1D, np.mean), (GlobalMaxPooling1D, np.max)):
        want = reduce(sequences, axis=1, keepdims=keepdims)
        np.testing.assert_allclose(layer(keepdims=keepdims)(sequences), want)


@pytest.mark.parametrize(
    "layer, shape",
    [
        (MaxPool2D((2, 3), 1, "same"), (2, 3, 4, 2)),
        (AveragePooling2D(2, 1, "same"), (2, 3, 3, 2)),
        (MaxPool1D(3, 1), (2, 5, 2)),
        (AveragePooling1D(3, 2, "same"), (2, 5, 2)),
        (GlobalMaxPooling2D(), (2, 2, 3, 2)),
        (GlobalAveragePooling1D(), (2, 3, 2)),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_gradients(layer: Any, shape: tuple[int, ...]) -> None:
    check_gradients(layer, numbers(*shape))


def test_the_first_of_equal_entries_gets_the_gradient() -> None:
    layer = MaxPool2D(2)
    x = np.ones((1, 2, 2, 1))
    gradient = s2s.grad(lambda x: np.sum(layer(x)), backend="loops")(x)
    np.testing.assert_array_equal(gradient.ravel(), [1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("samples", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_batches(samples: int, dtype: str) -> None:
    x = np.ones((samples, 4, 4, 2), dtype)
    for layer in (MaxPool2D(), AveragePooling2D(padding="same")):
        assert layer(x).shape == (samples, 2, 2, 2) and layer(x).dtype == dtype
    assert GlobalMaxPooling2D()(x).shape == (samples, 2)
    assert GlobalAveragePooling1D()(x[:, 0]).dtype == dtype


def test_names_of_keras() -> None:
    assert layers.MaxPooling1D is MaxPool1D and layers.MaxPooling2D is MaxPool2D
    assert layers.AvgPool1D is AveragePooling1D and layers.AvgPool2D is AveragePooling2D
