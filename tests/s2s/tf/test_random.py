"""`tf.random`: seeds, dtypes, ranges."""

from __future__ import annotations

import numpy as np
import pytest

import s2s.tf as tf
from s2s.objects.tensor import is_immutable


def test_seeds() -> None:
    def drawn() -> list[float]:
        return [*tf.random.normal([3]).tolist(), *tf.random.uniform([3]).tolist()]

    tf.random.set_seed(5)
    first, second = drawn(), drawn()
    tf.random.set_seed(5)
    assert drawn() == first != second and drawn() == second


def test_shapes_and_dtypes() -> None:
    for shape in ((), (0,), (2, 3)):
        for dtype in ("float32", "float64"):
            for draw in (tf.random.normal, tf.random.uniform):
                got = draw(shape, dtype=dtype)
                assert is_immutable(got) and got.shape == shape and got.dtype == dtype
    assert tf.random.normal([2]).dtype == np.float32


def test_distributions() -> None:
    tf.random.set_seed(0)
    x = tf.random.normal([20_000], mean=2.0, stddev=0.5)
    assert abs(x.mean() - 2.0) < 0.02 and abs(x.std() - 0.5) < 0.02
    x = tf.random.uniform([20_000], -1.0, 3.0)
    assert -1.0 <= x.min() and x.max() < 3.0 and abs(x.mean() - 1.0) < 0.05


def test_integers() -> None:
    x = tf.random.uniform([1000], 2, 5, dtype=tf.int32)
    assert x.dtype == np.int32 and set(x.tolist()) == {2, 3, 4}
    with pytest.raises(ValueError, match="of integers needs maxval"):
        tf.random.uniform([3], dtype=tf.int64)
