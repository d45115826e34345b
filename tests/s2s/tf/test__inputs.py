"""Conversion of arguments by TensorFlow's rules for dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.tf._inputs import alike, dtype_of, filled, given, in_floats, made

X = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    "value, dtype",
    [
        (1.5, "float32"), (1, "int32"), (True, "bool"), ([1, 2.5], "float32"), ([[1, 2]], "int32"),
        (1j, "complex128"), (np.float64(1.0), "float32"), (np.int8(1), "int8"), ([], "float32"),
    ],
)  # fmt: skip
def test_made(value: Any, dtype: str) -> None:
    assert made(value).dtype == dtype
    assert made(value, np.complex128).dtype == np.complex128


def test_given_leaves_what_has_a_dtype() -> None:
    variable, scalar = s2s.Variable(X), np.float64(1.0)
    assert given(X) is X and given(variable) is variable and given(scalar) is scalar
    assert given([1.0]).dtype == np.float32 and given(3).dtype == np.int32
    assert given([1.0], np.float64).dtype == np.float64


def test_alike() -> None:
    assert [v.dtype for v in alike(X, [3, 4])] == [np.float64, np.float64]
    assert [v.dtype for v in alike([3, 4], s2s.Variable(1.0))] == [np.float32, np.float32]
    assert [v.dtype for v in alike([3, 4], [1.5, 2.5])] == [np.float32, np.float32]
    assert [v.dtype for v in alike(3, 4)] == [np.int32, np.int32]
    left, right = alike(X, 2)
    assert left is X and right == 2 and type(right) is int


def test_filled_broadcasts_scalars() -> None:
    for x, y in (filled(X.astype(np.float32), 3), filled(3, X.astype(np.float32))):
        assert x.shape == y.shape == (2,) and x.dtype == y.dtype == np.float32
    np.testing.assert_array_equal(filled(2.5, X)[0], [2.5, 2.5])


def test_dtype_of_ranges() -> None:
    assert dtype_of(1, 2) == np.int32 and dtype_of(1, 2.0) == np.float32
    assert dtype_of(True) == np.bool_ and dtype_of(1.0, np.int64(3)) == np.int64
    assert dtype_of(2, X) == np.float64


def test_in_floats() -> None:
    assert in_floats(X) is X
    assert in_floats(np.array([1, 2])).dtype == np.float32
    assert in_floats(np.array([True])).dtype == np.float32
