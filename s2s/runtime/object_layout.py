"""Byte offsets of the fields of CPython and NumPy objects.

Machine code that takes arguments from Python reads objects at these offsets: all of it with
`backend="native"`, and with the default the unboxing of arrays and the boxing of NumPy scalars
(`codegen/numba_bridge/borrowed_arguments.py`).  `is_layout_known` tests them on some objects; on an
interpreter with another layout Numba unboxes and boxes.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

TYPE_OFFSET, SCALAR_VALUE_OFFSET = 8, 16
(
    ARRAY_DATA_OFFSET,
    ARRAY_NDIM_OFFSET,
    ARRAY_DIMS_OFFSET,
    ARRAY_STRIDES_OFFSET,
    ARRAY_DESCR_OFFSET,
    ARRAY_FLAGS_OFFSET,
) = 16, 24, 32, 40, 56, 64
# Flags of arrays.
C_ORDER, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400


@functools.cache
def is_layout_known() -> bool:
    """Whether the offsets of this module hold for this interpreter."""
    return not layout_problem()


@functools.cache
def layout_problem() -> str:
    """Why the offsets of this module do not hold for this interpreter; empty if they do."""
    if sys.implementation.name != "cpython":
        return "this interpreter is not CPython"
    if sys.maxsize != 2**63 - 1:
        return "this Python is not a 64-bit one"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "this Python runs without the GIL"
    return "" if _is_layout_as_expected() else "this interpreter lays objects out in another way"


def _is_layout_as_expected() -> bool:
    import ctypes

    def read(thing: Any, offset: int, kind: Any) -> Any:
        return kind.from_address(id(thing) + offset).value

    array = np.zeros((3, 5), np.float32)[:, ::2]
    dims, strides = (
        read(array, at, ctypes.c_void_p) for at in (ARRAY_DIMS_OFFSET, ARRAY_STRIDES_OFFSET)
    )
    return (
        read(array, TYPE_OFFSET, ctypes.c_void_p) == id(np.ndarray)
        and read(array, ARRAY_DATA_OFFSET, ctypes.c_void_p) == array.ctypes.data
        and read(array, ARRAY_NDIM_OFFSET, ctypes.c_int) == 2
        and list((ctypes.c_int64 * 2).from_address(dims)) == [3, 3]
        and list((ctypes.c_int64 * 2).from_address(strides)) == [20, 8]
        and read(array, ARRAY_DESCR_OFFSET, ctypes.c_void_p) == id(np.dtype("float32"))
        and read(array, ARRAY_FLAGS_OFFSET, ctypes.c_int) & 0x501 == 0x500
        and read(1.25, SCALAR_VALUE_OFFSET, ctypes.c_double) == 1.25
        and read(np.float32(1.25), SCALAR_VALUE_OFFSET, ctypes.c_float) == 1.25
        and read(np.float64(1.25), SCALAR_VALUE_OFFSET, ctypes.c_double) == 1.25
        and read(np.int8(-7), SCALAR_VALUE_OFFSET, ctypes.c_int8) == -7
        and read(np.complex64(2 - 1j), SCALAR_VALUE_OFFSET + 4, ctypes.c_float) == -1
        and read(2 - 1j, SCALAR_VALUE_OFFSET + 8, ctypes.c_double) == -1
    )
