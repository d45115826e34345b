"""`tf.Variable`: dtypes, arguments of TensorFlow, results as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf
from s2s.objects.tensor import is_immutable
from tests.s2s.tf.tensors import same


@pytest.mark.parametrize(
    "value, dtype",
    [
        (1, "int32"), ([1, 2], "int32"), (1.5, "float32"), ([True], "bool"),
        (np.array([1]), "int64"), (np.float64(1.5), "float64"), (s2s.Variable([1.0]), "float32"),
    ],
)  # fmt: skip
def test_dtypes(value: Any, dtype: str) -> None:
    assert tf.Variable(value).dtype == dtype
    assert tf.Variable(value, dtype=tf.float64).dtype == np.float64


def test_arguments_of_tensorflow() -> None:
    v = tf.Variable(lambda: [1.0, 2.0], trainable=False, validate_shape=True, name="v")
    assert v.name == "v" and not v.trainable and v.shape == (2,)
    assert isinstance(v, s2s.Variable)


def test_results_are_tensors() -> None:
    v = tf.Variable([1.0, -2.0])
    same(v + 1.0, [2.0, -1.0], "float32")
    same(2.0 * v, [2.0, -4.0])
    same(v[1], -2.0), same(v[:1], [1.0]), same(np.abs(v), [1.0, 2.0])
    same(v.value(), [1.0, -2.0]), same(v.read_value(), [1.0, -2.0])
    assert not is_immutable(v.numpy())


def test_values_read_before_do_not_change() -> None:
    v = tf.Variable([1.0, -2.0])
    before, part = v.value(), v[:1]
    v.assign([5.0, 6.0])
    v[0] = 7.0
    same(before, [1.0, -2.0]), same(part, [1.0]), same(v.value(), [7.0, 6.0])


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"v has shape \(2,\), and the new value \(3,\)"):
        tf.Variable([1.0, 2.0], name="v").assign([1.0, 2.0, 3.0])
