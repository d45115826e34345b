"""Sums and extrema of grids."""

from __future__ import annotations

import pytest

from tests.cuda.compiling import emitted, kernel_bodies

VECTOR = {"x": "float64[:]", "y": "float64[:]"}


def test_checks_in_a_sum_leave_no_barrier_behind_a_return():
    text, _ = emitted(
        """
def f(x, n):
    s = 0.0
    for i in range(n):
        if x[i] < 0.0:
            raise ValueError("negative")
        s = s + x[i]
    return (s,)
""",
        **VECTOR,
    )
    grid, _ = kernel_bodies(text)
    assert "syncthreads" not in grid and "s_parts[thread] = s_part" in grid
    assert "s_parts = dev.empty((blocks * BLOCK,), np.float64)" in text


def test_a_maximum_starts_from_its_value():
    text, _ = emitted(
        """
def f(x, n):
    s = x[0]
    for i in range(1, n):
        s = x[i] if x[i] > s or x[i] != x[i] else s
    return (s,)
""",
        **VECTOR,
    )
    grid, last = kernel_bodies(text)
    assert "    s = x[0]\n" in grid and "s_part = s" in grid
    assert "if other > shared[cuda.threadIdx.x] or other != other:" in grid
    # Each partial result includes the value before.
    assert "    s = s_parts[0]\n    s_part_1 = s\n" in last
    assert "    for k in range(1 + cuda.threadIdx.x, blocks, cuda.blockDim.x):" in last


@pytest.mark.parametrize("op", ["s + x[i]", "x[i] if x[i] > s or x[i] != x[i] else s"])
def test_a_reduction_that_is_only_returned_is_stored(op):
    text, _ = emitted(
        f"def f(x, n):\n    s = 0.0\n    for i in range(n):\n        s = {op}\n    return (s,)\n",
        **VECTOR,
    )
    assert kernel_bodies(text)[-1].endswith("    s_slot[0] = s")
