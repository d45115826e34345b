"""Overlap of strided arrays, for code that Numba compiles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from numba.extending import register_jitable


def layout_text(array: str, ndim: int) -> str:
    """Python source of the arguments of `may_overlap` for one array."""
    strides, sizes = (
        "".join(f"{array}.{field}[{axis}], " for axis in range(ndim)) + last
        for field, last in (("strides", "0,"), ("shape", "1,"))
    )
    return f"{array}.ctypes.data, {array}.itemsize, ({strides}), ({sizes})"


@register_jitable
def _address_range(address: int, item: int, strides: Any, sizes: Any) -> tuple[int, int]:
    """The range [start, end) of the addresses of an array; empty if it has no elements."""
    start, end = address, address + item
    for stride, size in zip(strides, sizes):
        if size == 0:
            return address, address
        if stride < 0:
            start += stride * (size - 1)
        else:
            end += stride * (size - 1)
    return start, end


@register_jitable
def _common_stride(found: int, strides: Iterable[int], sizes: Iterable[int]) -> int:
    for stride, size in zip(strides, sizes):
        if size > 1:
            found = math.gcd(found, abs(stride))
    return found


@register_jitable
def may_overlap(
    a: int, a_item: int, a_strides: Any, a_sizes: Any,
    b: int, b_item: int, b_strides: Any, b_sizes: Any,
) -> bool:  # fmt: skip
    """False if two arrays share no memory: their address ranges are disjoint, or their elements
    take different positions within the greatest common divisor of all strides, as two columns
    of a matrix do."""
    a_start, a_end = _address_range(a, a_item, a_strides, a_sizes)
    b_start, b_end = _address_range(b, b_item, b_strides, b_sizes)
    if a_end <= b_start or b_end <= a_start or a_start == a_end or b_start == b_end:
        return False
    period = _common_stride(_common_stride(0, a_strides, a_sizes), b_strides, b_sizes)
    if period == 0:
        return True
    distance = (b - a) % period
    return distance < a_item or distance + b_item > period
