"""`tf` functions that create, reshape, join, split, index and sort: hand-written values, dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf
from tests.s2s.tf.tensors import same

M = np.arange(6.0).reshape(2, 3)


# ---------------------------------------------------------------- creation


@pytest.mark.parametrize(
    "value, dtype", [(1.5, "float32"), (2, "int32"), (True, "bool"), ([[1, 2]], "int32")]
)
def test_constants_of_python_values(value: Any, dtype: str) -> None:
    same(tf.constant(value), value, dtype)
    same(tf.convert_to_tensor(value), value, dtype)
    same(tf.constant(value, tf.float64), value, "float64")


def test_arrays_keep_their_dtype() -> None:
    for dtype in ("float64", "int64", "float32"):
        same(tf.constant(M.astype(dtype)), M, dtype)
        same(tf.convert_to_tensor(s2s.Variable(M.astype(dtype))), M, dtype)


def test_constants_of_a_shape() -> None:
    same(tf.constant(2.0, shape=[2, 2]), [[2.0, 2.0]] * 2, "float32")
    same(tf.constant([1, 2, 3, 4], shape=(2, 2)), [[1, 2], [3, 4]], "int32")
    with pytest.raises(ValueError, match="reshape"):
        tf.constant([1, 2, 3], shape=(2, 2))


def test_filled_arrays() -> None:
    same(tf.zeros([2]), [0, 0], "float32")
    same(tf.ones((1, 2), tf.int32), [[1, 1]], "int32")
    same(tf.fill([2], 3), [3, 3], "int32")
    same(tf.fill([2], 0.5), [0.5, 0.5], "float32")
    same(tf.zeros_like([1, 2]), [0, 0], "int32")
    same(tf.ones_like(M, tf.float32), np.ones((2, 3)), "float32")
    same(tf.zeros([0, 3]), np.zeros((0, 3)))


def test_ranges() -> None:
    same(tf.range(3), [0, 1, 2], "int32")
    same(tf.range(3, 0, -2), [3, 1], "int32")
    same(tf.range(0.0, 1.0, 0.5), [0.0, 0.5], "float32")
    same(tf.range(np.int64(2)), [0, 1], "int64")
    same(tf.range(2, dtype=tf.float64), [0, 1], "float64")
    same(tf.range(0), [])
    same(tf.linspace(0.0, 1.0, 3), [0.0, 0.5, 1.0], "float32")
    same(tf.linspace(0, 1, 3), [0.0, 0.5, 1.0], "float64")


def test_one_hot() -> None:
    same(tf.one_hot([0, 2, -1, 3], 3), [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]], "float32")
    same(tf.one_hot([0, 1], 2, axis=0), [[1, 0], [0, 1]])
    same(tf.one_hot([1], 2, on_value=5, off_value=-1), [[-1, 5]], "int32")
    same(tf.one_hot([1], 2, on_value=0.5), [[0.0, 0.5]], "float32")
    same(tf.one_hot([1], 2, dtype=tf.bool), [[False, True]], "bool")


def test_casts_and_copies() -> None:
    same(tf.cast([1.7, -1.7], tf.int32), [1, -1], "int32")
    same(tf.cast(M, tf.float32), M, "float32")
    source = M.copy()
    copy = tf.identity(source)
    source[:] = 0.0
    same(copy, M)


# ---------------------------------------------------------------- shapes


def test_shapes() -> None:
    assert tuple(tf.shape(M)) == (2, 3) and tf.size(M) == 6 and tf.rank(M) == 2
    assert tf.rank(3.0) == 0
    same(tf.reshape(M, [3, -1]), [[0, 1], [2, 3], [4, 5]])
    same(tf.reshape([1, 2], [2, 1]), [[1], [2]], "int32")
    same(tf.transpose(M), [[0, 3], [1, 4], [2, 5]])
    assert tf.transpose(np.zeros((1, 2, 3)), perm=[2, 0, 1]).shape == (3, 1, 2)
    assert tf.expand_dims(M, -1).shape == (2, 3, 1)
    assert tf.squeeze(np.zeros((1, 2, 1))).shape == (2,)
    assert tf.squeeze(np.zeros((1, 2, 1)), axis=[0]).shape == (2, 1)
    with pytest.raises(ValueError, match="squeeze"):
        tf.squeeze(M, axis=0)


def test_repetition() -> None:
    same(tf.broadcast_to([1.0, 2.0], (2, 2)), [[1, 2], [1, 2]])
    same(tf.tile([[1, 2]], [2, 2]), [[1, 2, 1, 2]] * 2)
    same(tf.repeat(M, 2, axis=0)[:, 0], [0, 0, 3, 3])
    same(tf.repeat([1, 2], [1, 3]), [1, 2, 2, 2])
    same(tf.roll([1, 2, 3], 1, 0), [3, 1, 2])
    rows, columns = tf.meshgrid([1, 2], [3, 4, 5])
    assert rows.shape == (3, 2) and columns[2, 0] == 5
    rows, columns = tf.meshgrid([1, 2], [3, 4, 5], indexing="ij")
    assert rows.shape == (2, 3) and rows[1, 0] == 2


def test_padding() -> None:
    same(tf.pad([1, 2, 3], [[1, 2]]), [0, 1, 2, 3, 0, 0])
    same(tf.pad([1, 2, 3], [[1, 0]], constant_values=9), [9, 1, 2, 3])
    same(tf.pad([1, 2, 3], [[2, 1]], "REFLECT"), [3, 2, 1, 2, 3, 2])
    same(tf.pad([1, 2, 3], [[2, 1]], "SYMMETRIC"), [2, 1, 1, 2, 3, 3])


# ---------------------------------------------------------------- joining, splitting, indexing


def test_joining_and_splitting() -> None:
    same(tf.concat([M, M[:, :1]], 1), [[0, 1, 2, 0], [3, 4, 5, 3]])
    same(tf.concat([[1.0], M[0]], 0), [1, 0, 1, 2])
    same(tf.stack([[1, 2], [3, 4]], axis=1), [[1, 3], [2, 4]], "int32")
    parts = tf.unstack(M, axis=1)
    assert isinstance(parts, list) and len(parts) == 3
    same(parts[1], [1, 4])
    equal = tf.split(M, 3, axis=1)
    same(equal[2], [[2], [5]])
    first, second, rest = tf.split([1, 2, 3, 4, 5, 6], [1, 2, -1])
    same(first, [1]), same(second, [2, 3]), same(rest, [4, 5, 6])
    with pytest.raises(ValueError, match="equal"):
        tf.split(M, 2, axis=1)


def test_where() -> None:
    same(tf.where([True, False], [1, 2], [3, 4]), [1, 4], "int32")
    same(tf.where([True, False], 1.0, 0.0), [1.0, 0.0], "float32")
    same(tf.where(M > 2, M, 0.0), np.maximum(M, 0) * (M > 2), "float64")
    same(tf.where(M > 3), [[1, 1], [1, 2]], "int64")


def test_gather() -> None:
    same(tf.gather([10, 20, 30], [2, 0, 0]), [30, 10, 10], "int32")
    same(tf.gather(M, [[0], [2]], axis=1)[0], [[0], [2]])
    same(tf.gather(M, [[2, 0], [1, 1]], axis=1, batch_dims=1), [[2, 0], [4, 4]])
    same(tf.gather(M, [2, 0], batch_dims=1), [2, 3])
    with pytest.raises(NotImplementedError, match="batch_dims=1"):
        tf.gather(M, [[0]], batch_dims=2)
    same(tf.gather_nd(M, [[0, 1], [1, 2]]), [1, 5])
    same(tf.gather_nd(M, [[1], [0]]), M[::-1])


def test_slices() -> None:
    same(tf.slice(M, [0, 1], [2, 2]), [[1, 2], [4, 5]])
    same(tf.slice(M, [1, 0], [-1, 1]), [[3]])
    same(tf.slice(M, [2, 0], [0, 3]), np.zeros((0, 3)))


def test_scattering() -> None:
    zeros = np.zeros(4)
    indices = [[1], [3], [1]]
    same(tf.tensor_scatter_nd_add(zeros, indices, [1.0, 2.0, 4.0]), [0, 5, 0, 2])
    same(tf.tensor_scatter_nd_update(zeros, [[1], [3]], [1.0, 2.0]), [0, 1, 0, 2])
    np.testing.assert_array_equal(zeros, np.zeros(4))  # the argument is not changed
    same(tf.tensor_scatter_nd_update(M, [[0]], [[7.0, 8.0, 9.0]]), [[7, 8, 9], [3, 4, 5]])


def test_masks_and_orders() -> None:
    same(tf.boolean_mask(M, M > 3), [4, 5])
    same(tf.reverse(M, axis=[1]), M[:, ::-1])
    same(tf.reverse(M, axis=[0, 1]), M[::-1, ::-1])
    x = np.array([2.0, 3.0, 1.0, 3.0])
    same(tf.sort(x), [1, 2, 3, 3])
    same(tf.sort(x, direction="DESCENDING"), [3, 3, 2, 1])
    same(tf.argsort(x), [2, 0, 1, 3], "int32")
    same(tf.argsort(x, direction="DESCENDING"), [1, 3, 0, 2], "int32")  # stable
