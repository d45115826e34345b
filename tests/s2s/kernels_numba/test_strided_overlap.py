"""Overlap of strided arrays, against NumPy's exact test."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from s2s.kernels_numba import strided_overlap
from s2s.kernels_numba.strided_overlap import layout_text


def compiled(ndim_a: int, ndim_b: int):
    space = {"may_overlap": strided_overlap.may_overlap}
    given = f"{layout_text('a', ndim_a)}, {layout_text('b', ndim_b)}"
    exec(f"def call(a, b):\n    return may_overlap({given})\n", space)
    return space["call"], numba.njit(space["call"])


def random_view(base: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    for axis in range(base.ndim):
        start, stop = rng.integers(0, base.shape[axis] + 1, 2)
        step = rng.choice([-3, -2, -1, 1, 2, 3])
        base = np.moveaxis(np.moveaxis(base, axis, 0)[start:stop:step], 0, axis)
    return base.T if rng.integers(2) else base


@pytest.mark.parametrize("shape", [(12,), (5, 6)])
def test_arrays_that_share_memory_are_found(shape) -> None:
    rng = np.random.default_rng(0)
    base = np.zeros(shape)
    plain, fast = compiled(base.ndim, base.ndim)
    fast(base[..., ::2], base[..., ::2])
    disjoint = 0
    for _ in range(400):
        a, b = random_view(base, rng), random_view(base, rng)
        found = plain(a, b)
        assert found == fast(a, b)
        assert found or not np.shares_memory(a, b)
        disjoint += not found and np.may_share_memory(a, b)
    assert disjoint > 0  # not only by their address ranges


def test_columns_interleaved_elements_and_fields_are_disjoint() -> None:
    call, _ = compiled(1, 1)
    m, x = np.zeros((4, 3)), np.zeros(9)
    assert not call(m[:, 0], m[:, 1]) and call(m[:, 1], m[:, 1])
    assert not call(x[::2], x[1::2]) and not call(x[::-2], x[-2::-2])
    assert call(x[::2], x[::3]) and call(x[1:], x[:-1])
    assert not call(x[:0], x) and not call(x[:4], x[4:])
    records = np.zeros(3, np.dtype([("m", float), ("v", float)]))
    assert not call(records["m"], records["v"]) and call(records["m"], records["m"])


def test_arrays_without_axes() -> None:
    x = np.zeros(4)
    element = x[2:3].reshape(())
    for call in compiled(0, 1):
        assert call(element, x) and not call(element, x[::3])
