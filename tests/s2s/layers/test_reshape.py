"""Layers that reshape, move, repeat or pad: every output element is a known input element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.layers import Permute, RepeatVector, Reshape, UpSampling1D, UpSampling2D, ZeroPadding2D
from tests.s2s.layers.checks import check_gradients, numbers


def test_reshape() -> None:
    x = numbers(2, 6)
    assert Reshape((3, 2))(x).shape == (2, 3, 2) and Reshape([3, -1])(x).shape == (2, 3, 2)
    np.testing.assert_array_equal(Reshape((2, 3))(x)[1].ravel(), x[1])
    with pytest.raises(ValueError, match="reshape"):
        Reshape((4,))(x)


def test_permute_counts_axes_from_one() -> None:
    x = numbers(2, 3, 4, 5)
    got = Permute((2, 3, 1))(x)
    assert got.shape == (2, 4, 5, 3)
    for n, i, j, k in np.ndindex(got.shape):
        assert got[n, i, j, k] == x[n, k, i, j]


def test_repeat_vector() -> None:
    x = numbers(2, 3)
    got = RepeatVector(4)(x)
    assert got.shape == (2, 4, 3)
    for t in range(4):
        np.testing.assert_array_equal(got[:, t], x)


def test_up_sampling() -> None:
    x = numbers(2, 3, 2)
    got = UpSampling1D(3)(x)
    assert got.shape == (2, 9, 2)
    for t in range(9):
        np.testing.assert_array_equal(got[:, t], x[:, t // 3])
    images = numbers(1, 2, 3, 2)
    got = UpSampling2D((2, 3))(images)
    assert got.shape == (1, 4, 9, 2)
    for i, j in np.ndindex(4, 9):
        np.testing.assert_array_equal(got[0, i, j], images[0, i // 2, j // 3])
    with pytest.raises(ValueError, match="'nearest', not 'bilinear'"):
        UpSampling2D(interpolation="bilinear")


@pytest.mark.parametrize(
    "padding, widths",
    [(1, (1, 1, 1, 1)), ((1, 2), (1, 1, 2, 2)), (((0, 1), (2, 3)), (0, 1, 2, 3))],
)
def test_zero_padding(padding: Any, widths: tuple[int, ...]) -> None:
    x = numbers(2, 2, 3, 1) + 2.0
    top, bottom, left, right = widths
    got = ZeroPadding2D(padding)(x)
    assert got.shape == (2, 2 + top + bottom, 3 + left + right, 1)
    np.testing.assert_array_equal(got[:, top : top + 2, left : left + 3], x)
    assert np.count_nonzero(got) == x.size


@pytest.mark.parametrize(
    "layer, shape",
    [
        (Reshape((3, -1)), (2, 6)),
        (Permute((2, 1)), (2, 3, 2)),
        (RepeatVector(3), (2, 2)),
        (UpSampling1D(2), (2, 3, 1)),
        (UpSampling2D(2), (1, 2, 2, 1)),
        (ZeroPadding2D(((1, 0), (2, 1))), (1, 2, 2, 1)),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_gradients(layer: Any, shape: tuple[int, ...]) -> None:
    check_gradients(layer, numbers(*shape))


@pytest.mark.parametrize("samples", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_batches(samples: int, dtype: str) -> None:
    images = np.ones((samples, 2, 3, 4), dtype)
    for layer, shape in (
        (Reshape((4, 6)), (4, 6)),
        (Permute((3, 1, 2)), (4, 2, 3)),
        (UpSampling2D(2), (4, 6, 4)),
        (ZeroPadding2D(), (4, 5, 4)),
    ):
        got = layer(images)
        assert got.shape == (samples, *shape) and got.dtype == dtype
