"""Lists that grow at run time, against Python's lists: scalars, arrays, ragged arrays."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.transforms.ir import nodes
from s2s.transforms.ir.symbolic_dims import Dim
from tests.transforms.lower.harness import lowered, run

SCALARS = nodes.ListOf(nodes.Scalar("float64"))
VECTORS = nodes.ListOf(nodes.Array("float64", (Dim.of("?n"),)))
MATRICES = nodes.ListOf(nodes.Array("float64", (Dim.of("?n"), Dim.of("?m"))))
POINTS = nodes.ListOf(nodes.Array("float64", ()))


def made(b, type_, *values):
    items = b.emit("list_new", type=type_)
    for v in values:
        items = b.emit("list_append", items, v)
    return items


def equal(f, *args):
    g = s2s.function(f, backend="loops")
    got, want = g(*args), f(*args)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    return g.lowered


def test_an_empty_list():
    def f(b, x):
        items = made(b, SCALARS)
        return b.emit("list_len", items), b.emit("list_stack", items), x

    n, stacked, _ = run(f, 1.0)
    assert n == 0 and stacked.shape == (0,)


@pytest.mark.parametrize("i", [-3, -1, 0, 2])
def test_elements_by_either_sign(i):
    def f(b, x, i):
        return b.emit("list_get", made(b, SCALARS, x, x * 2.0, x * 3.0), i)

    assert run(f, 1.5, i) == [1.5, 3.0, 4.5][i]


@pytest.mark.parametrize("i", [-4, 3, 2**62])
def test_out_of_range(i):
    def read(b, x, i):
        return b.emit("list_get", made(b, SCALARS, x, x, x), i)

    def write(b, x, i):
        return b.emit("list_get", b.emit("list_set", made(b, SCALARS, x, x, x), i, x), 0)

    for f in (read, write):
        with pytest.raises(IndexError, match="list index out of range"):
            run(f, 1.5, i)
        assert "IndexError" not in lowered(f, 1.5, i, boundscheck=False).text


def test_indices_of_a_loop_are_not_checked():
    def f(x):
        items = [x[k] * 2.0 for k in range(x.shape[0])]
        total = 0.0
        for k in range(len(items)):
            total += items[k]
        return (total,)

    *_, loop = equal(f, np.arange(4.0)).split("for k")
    assert "IndexError" not in loop


def test_scalars_are_converted():
    def f(b, n):
        return b.emit("list_stack", made(b, SCALARS, n, 2.5, True))

    out = run(f, 3)
    assert out.dtype == np.float64 and out.tolist() == [3.0, 2.5, 1.0]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,)])
def test_arrays(shape):
    x = np.ones(shape) * 2.0
    type_ = VECTORS if shape else POINTS

    def f(b, x):
        items = made(b, type_, x, x * 2.0)
        return b.emit("list_get", items, 1), b.emit("list_stack", items)

    one, stacked = run(f, x)
    np.testing.assert_array_equal(one, x * 2.0)
    np.testing.assert_array_equal(stacked, np.stack([x, x * 2.0]))


def test_matrices_of_any_layout_and_shape():
    def f(b, x, y):
        items = made(b, MATRICES, x, y)
        return b.emit("list_get", items, 0), b.emit("list_get", items, -1)

    x, y = np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 4).T
    first, last = run(f, x, y, asked=False)
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(last, y)


@pytest.mark.parametrize("other", [(3,), (2,), (0,)])
def test_elements_that_are_replaced(other):
    """One of another size is appended to the buffer; the others stay where they are."""

    def f(b, x, y):
        items = b.emit("list_set", made(b, VECTORS, x, x + 1.0, x + 2.0), 1, y)
        items = b.emit("list_append", items, x + 3.0)
        return tuple(b.emit("list_get", items, k) for k in range(4))

    x, y = np.arange(3.0), np.full(other, 7.0)
    for got, want in zip(run(f, x, y, asked=False), (x, y, x + 2.0, x + 3.0), strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_element_replaced_by_one_of_the_same_list():
    def f(b, x):
        items = made(b, VECTORS, x, x * 2.0)
        swapped = b.emit("list_set", items, 0, b.emit("list_get", items, 1) + 1.0)
        return b.emit("list_get", swapped, 0), b.emit("list_get", swapped, 1)

    first, second = run(f, np.arange(3.0))
    np.testing.assert_array_equal(first, np.arange(3.0) * 2.0 + 1.0)
    np.testing.assert_array_equal(second, np.arange(3.0) * 2.0)


def test_stacking_checks_the_shapes():
    def f(b, x, y):
        return b.emit("list_stack", made(b, MATRICES, x, y))

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run(f, x, x + 1.0, asked=False), [x, x + 1.0])
    for y in (x.T.copy(), x[:1], x[:, :2].copy()):
        with pytest.raises(ValueError, match="shapes differ"):
            run(f, x, y, asked=False)


@pytest.mark.parametrize("shape", [(0,), (3,), (3, 2), (2, 3, 2)])
def test_rows_as_a_list(shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)

    def f(b, x):
        items = b.emit("list_unstack", x * 2.0)
        return b.emit("list_len", items), b.emit("list_stack", items)

    n, back = run(f, x)
    assert n == shape[0]
    np.testing.assert_array_equal(back, x * 2.0)


def test_zeros_with_the_shapes_of_another():
    def f(b, x, y):
        items = made(b, VECTORS, x, y)
        zeros = b.emit("list_zeros_like", items)
        return (
            b.emit("list_get", zeros, 0),
            b.emit("list_get", zeros, 1),
            b.emit("list_get", items, 1),
        )

    first, second, kept = run(f, np.ones(3), np.ones(2), asked=False)
    assert (
        first.tolist() == [0.0] * 3 and second.tolist() == [0.0] * 2 and kept.tolist() == [1.0] * 2
    )


def test_copies_and_aliases():
    def f(x):
        items = [x, x * 2.0]
        other = items
        copied = items.copy()
        items.append(x * 3.0)
        other[0] = x * 4.0
        copied.append(x * 5.0)
        return items[0], other[2], copied[0], copied[2], x * len(items) * len(copied)

    equal(f, np.arange(3.0))
    equal(f, 2.0)


def test_a_list_that_is_emptied_and_refilled():
    def f(x, n):
        items = []
        for k in range(n):
            items.append(x[: k + 1] * 1.0)
        total = np.zeros(2)
        while len(items) > 1:
            v = items.pop()
            total[0] += v.sum()
            total[1] += len(items)
        items.append(x)
        return total, items[-1]

    for n in (1, 2, 4):
        equal(f, np.arange(4.0), n)


def test_slices_are_assigned():
    def f(x):
        items = [x, x * 2.0]
        items[0:1] = [x * 3.0, x * 4.0]
        return items[0] + items[1] * items[2], x * len(items)

    equal(f, np.arange(3.0))
