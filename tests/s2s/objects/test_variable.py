"""The memory alignment of Variables."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import s2s


def address(variable: Any) -> int:
    return variable._array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_large_matrices_begin_with_a_line_of_the_cache(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        for order in ("C", "F"):
            values = np.array(rng.integers(0, 2, (70, 130)), dtype, order=order)
            v = s2s.Variable(values)
            assert address(v) % 64 == 0 and v._array.flags.c_contiguous and v.dtype == dtype
            np.testing.assert_array_equal(v.numpy(), values)
            v.assign(values[::-1])
            np.testing.assert_array_equal(v.numpy(), values[::-1])


@pytest.mark.parametrize("shape", [(), (0, 7), (3, 2), (5000,)])
def test_others_own_their_memory(shape: tuple[int, ...]) -> None:
    assert s2s.Variable(np.ones(shape))._array.flags.owndata


def test_they_are_resized_and_copied_as_arrays_are() -> None:
    v = s2s.Variable(np.ones((64, 64)))
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        other.assign_add(np.ones((64, 64)))
        assert other.numpy().sum() == 2 * v.numpy().sum() == 8192.0
    f = s2s.function(lambda: np.sum(v), backend="loops")
    assert f() == 4096.0
    v.resize((128, 64))
    assert v.shape == (128, 64) and v.numpy().sum() == 4096.0 and f() == 4096.0
    v.assign_add(np.ones((128, 64)))
    assert f() == 12288.0
