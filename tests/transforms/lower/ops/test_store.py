"""Stores into regions: NumPy computes the right-hand side before it writes."""

from __future__ import annotations

import numpy as np
import pytest

import s2s


def same(f, *args, **options):
    """The lowered function and NumPy leave the same array; returns the lowered text."""
    g = s2s.function(f, backend="loops", **options)
    got = g(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    want = f(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype
    return g.lowered


def shifted_up(x):
    y = x * 1.0
    y[1:] = y[:-1]
    return y


def shifted_down(x):
    y = x * 1.0
    y[:-1] += y[1:]
    return y


def reversed_(x):
    y = x * 1.0
    y[:] = y[::-1]
    return y


def transposed(x):
    y = x * 1.0
    y[:] = y.T
    return y


def of_its_sum(x):
    y = x * 1.0
    y[:] = y - y.sum()
    return y


def scaled(x):
    y = x * 1.0
    y[1:] = y[1:] * 2.0 + 1.0
    return y


@pytest.mark.parametrize("f", [shifted_up, shifted_down, reversed_, of_its_sum, scaled])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_regions_that_overlap(f, n):
    same(f, np.arange(float(n)) ** 2)
    same(f, (np.arange(2.0 * n) ** 2)[::2])


def test_a_transposed_copy():
    same(transposed, np.arange(9.0).reshape(3, 3))


def test_element_by_element_needs_no_buffer():
    assert same(scaled, np.arange(4.0)).count("np.empty") == 1
    assert same(shifted_up, np.arange(4.0)).count("np.empty") == 2


def fancy(x, k):
    y = x * 1.0
    y[k] = y[k[::-1]] + 1.0
    return y


def masked(x):
    y = x * 1.0
    y[y > 1.0] = y.max()
    return y


def added_at(x, k):
    y = x * 1.0
    y[k] += 1.0  # once for each distinct index
    return y


def test_index_arrays_and_masks():
    x = np.arange(5.0)
    for k in (np.array([3, 0, 1]), np.array([-1]), np.array([], np.int64)):
        same(fancy, x, k)
        same(added_at, x, k)
    same(masked, x)
    same(masked, x[:1])


@pytest.mark.parametrize("value", [2, 2.5, np.float32(1.5), True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_values_are_converted(value, dtype):
    def f(x):
        y = x + x
        y[1:] = value
        y[0] = value
        return y

    if dtype == "int64" and value == 2.5:
        value = 2.0
    same(f, np.arange(3).astype(dtype))


def test_broadcast_values():
    def rows(x, v):
        y = x * 1.0
        y[:] = v
        y[1:] += v[0]
        return y

    x = np.arange(6.0).reshape(2, 3)
    for v in (np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0]]), np.array([[[4.0]]])):
        same(rows, x, v)


def test_an_expensive_value_that_is_broadcast_is_computed_once():
    def f(x, v):
        y = x * 1.0
        y[:] = np.exp(v)
        return y

    text = same(f, np.ones((4, 3)), np.arange(3.0))
    assert text.index("np.exp") < text.index("for j")


def test_zero_dimensional_and_empty():
    def f(x):
        y = np.zeros_like(x)
        y[...] = x
        y[...] += 1.0
        return y

    for x in (np.array(2.0), np.ones(0), np.ones((2, 0))):
        same(f, x)


def test_a_product_is_added_in_place():
    """The adjoint of the matrix is accumulated by the products themselves."""

    def f(w, x):
        total = 0.0
        for t in range(x.shape[0]):
            total += np.sum((x[t] @ w) ** 2)
        return total

    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 5, 3))
    g = s2s.grad(f, backend="loops")
    np.testing.assert_allclose(g(w, x), sum(2.0 * v.T @ (v @ w) for v in x), rtol=1e-12)
    (product,) = (line for line in g.lowered.splitlines() if "rt.gemm(True" in line)
    out = product.rstrip(")").split(", ")
    assert out[-2] == "np.float64(1.0" + ")" and out[-1].startswith("w_bar")


def test_a_product_in_another_shape_is_materialised():
    def f(a, x):
        y = np.ones((2, a.shape[0], x.shape[1]))
        y += a @ x
        return y

    same(f, np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2))


def test_another_name_of_the_array():
    def f(x):
        y = x * 1.0
        z = y
        y[1:] = z[:-1]
        return z

    same(f, np.arange(4.0))


def test_shapes_that_do_not_fit():
    def f(x, v):
        y = x * 1.0
        y[1:] = v
        return y

    with pytest.raises(ValueError, match="broadcast"):
        s2s.function(f, backend="loops")(np.ones(4), np.ones(2))
