"""Matrix products of views equal those of their copies: windows, slices, steps, views of views,
empty views."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import s2s

R = np.random.default_rng(8)


def normal(*shape, dtype="float64"):
    return R.normal(size=shape).astype(dtype)


def by_window(x, k):
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(1, 2))
    return np.einsum("nhwcij,ijco->nhwo", seen, k)


def by_steps(x, k):
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(1, 2))[:, ::2, 1::3]
    return np.tensordot(seen, k, axes=((4, 5, 3), (0, 1, 2)))


def turned(x, k):
    """The view is the second operand, and its row axes come last."""
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(1, 2))
    return np.einsum("ijco,nhwcij->onhw", k, seen)


def by_index(x, k):
    rows = np.arange(x.shape[1] - 2)[:, None, None, None] + np.arange(3)[:, None]
    columns = 2 * np.arange((x.shape[2] - 2) // 2 + 1)[:, None, None] + np.arange(2)
    return np.tensordot(x[:, rows, columns], k, 3)


def of_a_part(x, k):
    """The first axis has an offset, and the channels are split."""
    seen = np.lib.stride_tricks.sliding_window_view(x[1:, :, ::2], (3, 2), axis=(1, 2))
    return np.einsum("nhwcij,ijco->nhwo", seen, k)


def last_axis_first(x, k):
    """No axis becomes a loop around the product."""
    seen = np.lib.stride_tricks.sliding_window_view(x.transpose(1, 2, 3, 0), (3, 2), axis=(0, 1))
    return np.einsum("hwcnij,ijco->hwno", seen, k)


@functools.cache
def compiled(f, backend):
    def loss(x, k):
        out = f(x, k)
        return (out * np.cos(np.arange(out.size)).reshape(out.shape).astype(out.dtype)).sum()

    return s2s.value_and_grad(loss, wrt=("x", "k"), backend=backend)


def by_offsets(x, k):
    """One product for each window position."""
    height, width = x.shape[1] - 2, x.shape[2] - 1
    out = np.zeros((x.shape[0], height, width, k.shape[3]))
    for i in range(3):
        for j in range(2):
            out += x[:, i : i + height, j : j + width] @ k[i, j]
    return out


def gradients(f, x, k, backend):
    return compiled(f, backend)(x, k)


WAYS = [by_window, by_steps, turned, by_index, of_a_part, last_axis_first, by_offsets]


@pytest.mark.parametrize("f", WAYS)
def test_values(f):
    x, k = normal(3, 8, 7, 4), normal(3, 2, 4, 5)
    g = s2s.function(f, backend="loops")
    np.testing.assert_allclose(g(x, k), f(x, k), rtol=1e-12)
    assert "rt.gemm_at(" in g.lowered


@pytest.mark.parametrize("f", WAYS)
def test_gradients(f):
    """The product is linear in each operand, so differences are exact."""
    x, k = normal(2, 6, 7, 2), normal(3, 2, 2, 3)
    value, found = gradients(f, x, k, "numba")
    plain, expected = gradients(f, x, k, "python")
    assert value == pytest.approx(plain)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    for position, of in enumerate((x, k)):
        step = normal(*of.shape)
        moved = [x, k]
        moved[position] = of + step
        change = gradients(f, *moved, "python")[0] - plain
        assert change == pytest.approx((found[position] * step).sum())


SIZES = [((0, 8, 7, 4), 3), ((1, 3, 2, 4), 17), ((2, 5, 9, 1), 1), ((33, 5, 9, 3), 6)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes(dtype):
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    for shape, n in SIZES:
        x, k = normal(*shape, dtype=dtype), normal(3, 2, shape[-1], n, dtype=dtype)
        (value, found), (plain, expected) = (
            gradients(by_window, x, k, backend) for backend in ("numba", "python")
        )
        assert value == pytest.approx(plain, rel=tolerance, abs=10 * tolerance)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=10 * tolerance)


def test_other_dtypes_and_layouts():
    k = normal(3, 2, 2, 3)
    of_integers = np.arange(2 * 6 * 5 * 2).reshape(2, 6, 5, 2)
    strided = normal(4, 12, 5, 2)[::2, ::2]
    backwards = normal(2, 2, 5, 6).transpose(0, 3, 2, 1)
    g = s2s.function(by_window, backend="loops")
    for x in (of_integers, of_integers.astype("float32"), strided, backwards):
        np.testing.assert_allclose(g(x, k), by_window(x, k), rtol=1e-6)
    exact = g(of_integers, np.ones((3, 2, 2, 3), np.int64))
    np.testing.assert_array_equal(exact, by_window(of_integers, np.ones((3, 2, 2, 3), np.int64)))


def test_infinities_stay_where_they_are():
    """Padding columns of a vector are computed but must not affect the result."""
    x, k = normal(2, 6, 5, 2), normal(3, 2, 2, 3)
    x[0, 0, 0, 0], k[1, 1, 1, 1] = np.inf, np.nan
    np.testing.assert_allclose(s2s.function(by_window)(x, k), by_window(x, k), rtol=1e-12)


def test_what_is_added_to_may_be_part_of_the_product():
    def f(x, k):
        seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(1, 2))
        out = np.einsum("nhwcij,ijco->nhwo", seen, k)
        x[:, :-2, :-1, :3] += out
        return x.sum()

    x, k = normal(2, 6, 5, 3), normal(3, 2, 3, 3)
    expected = x.copy()
    total = f(expected, k)
    assert s2s.function(f)(x, k) == pytest.approx(total)
    np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_a_sum_that_is_broadcast():
    def f(x, k, out):
        seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(0, 1))
        out[:, 1:] += np.einsum("hwcij,ijco->hwo", seen, k)
        return out.sum()

    x, k, out = normal(6, 5, 3), normal(3, 2, 3, 4), normal(2, 5, 4, 4)
    expected = out.copy()
    total = f(x, k, expected)
    assert s2s.function(f)(x, k, out) == pytest.approx(total)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_windows_that_do_not_fit():
    with pytest.raises(ValueError, match="window shape"):
        s2s.function(by_window)(normal(2, 2, 5, 2), normal(3, 2, 2, 3))
