"""Helpers of emitted code: strong products, the transpose of broadcasting, resized axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.runtime.helpers import resize_axis, stop_gradient, strong_mul, unbroadcast

FLOATS = [np.float16, np.float32, np.float64, np.complex64, np.complex128]


@pytest.mark.parametrize("partial", [np.inf, -np.inf, np.nan, 0.0, 3.0])
@pytest.mark.parametrize("zero", [0.0, -0.0, np.float32(0), 0])
def test_a_zero_cotangent_gives_zero_whatever_the_partial(zero: Any, partial: float) -> None:
    with np.errstate(all="raise"):
        assert strong_mul(zero, np.float64(partial)) == 0.0


def test_other_cotangents_are_multiplied() -> None:
    g = np.array([0.0, 2.0, -1.0, np.inf, np.nan, 0.0])
    p = np.array([np.inf, 3.0, np.inf, 2.0, 1.0, np.nan])
    np.testing.assert_array_equal(strong_mul(g, p), [0.0, 6.0, -np.inf, np.inf, np.nan, 0.0])
    # The other way round the product is NumPy's.
    with np.errstate(invalid="ignore"):
        assert np.isnan(strong_mul(np.inf, np.float64(0.0)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_strong_product_keeps_dtype_and_form(dtype: Any) -> None:
    g, p = np.array([0, 1], dtype), np.array([[2], [3]], dtype)
    out = strong_mul(g, p)
    assert out.dtype == dtype and out.shape == (2, 2)
    scalar = strong_mul(dtype(0), dtype(2))
    assert scalar.dtype == dtype and not isinstance(scalar, np.ndarray)
    assert strong_mul(g[:0], dtype(2)).shape == (0,)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((2, 3), (1, 3)),
        ((2, 3), (2, 1)),
        ((2, 3), ()),
        ((4, 2, 3), (2, 1)),
        ((4, 2, 3), (1, 1, 1)),
        ((), ()),
        ((0, 3), (3,)),
        ((2, 0), (2, 1)),
        ((5,), (1,)),
    ],
)
def test_unbroadcast_is_the_transpose_of_broadcasting(given: Any, wanted: Any) -> None:
    """<unbroadcast(g), x> = <g, broadcast(x)> for all x."""
    rng = np.random.default_rng(3)
    g = rng.normal(size=given)
    out = unbroadcast(g, np.empty(wanted))
    assert np.shape(out) == wanted
    for _ in range(3):
        x = rng.normal(size=wanted)
        np.testing.assert_allclose(
            np.sum(out * x), np.sum(g * np.broadcast_to(x, given)), rtol=1e-12, atol=1e-12
        )


def test_a_shorter_cotangent_is_that_of_each_element() -> None:
    np.testing.assert_array_equal(unbroadcast(2.0, np.empty((2, 3))), np.full((2, 3), 2.0))
    np.testing.assert_array_equal(unbroadcast(np.ones((1, 3)), np.empty((2, 3))), np.ones((2, 3)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_unbroadcast_keeps_the_dtype_and_shares_no_memory(dtype: Any) -> None:
    g = np.ones((2, 3), dtype)
    for shape in ((2, 3), (3,), (2, 1), ()):
        out = unbroadcast(g, np.empty(shape))
        assert out.dtype == dtype and not np.shares_memory(out, g)
        assert not isinstance(out, np.ndarray) if shape == () else out.flags.writeable


@pytest.mark.parametrize("n", [0, 1, 3, 5])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_an_axis_is_cut_or_padded_with_zeros(n: int, axis: int) -> None:
    x = np.arange(1.0, 13.0).reshape(3, 4).astype(np.float32)
    out = resize_axis(x, n, axis)
    want = np.zeros((n, 4) if axis == 0 else (3, n), np.float32)
    for i, j in np.ndindex(want.shape):
        want[i, j] = x[i, j] if i < 3 and j < 4 else 0.0
    np.testing.assert_array_equal(out, want)
    assert out.dtype == np.float32 and not np.shares_memory(out, x)


def test_an_empty_axis_is_padded() -> None:
    np.testing.assert_array_equal(resize_axis(np.empty((0, 2)), 2, 0), np.zeros((2, 2)))


def test_stop_gradient_is_the_identity() -> None:
    x = np.ones(3)
    assert stop_gradient(x) is x
