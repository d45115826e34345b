"""Byte offsets of the fields of CPython and NumPy objects.

The machine code of this folder reads objects at these offsets.  `is_layout_known` tests them on
some objects; on an interpreter with another layout this folder is not used.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

TYPE, VALUE = 8, 16
DATA, NDIM, DIMS, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64


@functools.cache
def is_layout_known() -> bool:
    """True if the offsets of this module hold for this interpreter."""
    import ctypes

    if sys.implementation.name != "cpython" or sys.maxsize != 2**63 - 1:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False

    def read(thing: Any, offset: int, kind: Any) -> Any:
        return kind.from_address(id(thing) + offset).value

    array = np.zeros((3, 5), np.float32)[:, ::2]
    dims, strides = (read(array, at, ctypes.c_void_p) for at in (DIMS, STRIDES))
    return (
        read(array, TYPE, ctypes.c_void_p) == id(np.ndarray)
        and read(array, DATA, ctypes.c_void_p) == array.ctypes.data
        and read(array, NDIM, ctypes.c_int) == 2
        and list((ctypes.c_int64 * 2).from_address(dims)) == [3, 3]
        and list((ctypes.c_int64 * 2).from_address(strides)) == [20, 8]
        and read(array, DESCR, ctypes.c_void_p) == id(np.dtype("float32"))
        and read(array, FLAGS, ctypes.c_int) & 0x501 == 0x500
        and read(1.25, VALUE, ctypes.c_double) == 1.25
        and read(np.float32(1.25), VALUE, ctypes.c_float) == 1.25
        and read(np.float64(1.25), VALUE, ctypes.c_double) == 1.25
        and read(np.int8(-7), VALUE, ctypes.c_int8) == -7
        and read(np.complex64(2 - 1j), VALUE + 4, ctypes.c_float) == -1
        and read(2 - 1j, VALUE + 8, ctypes.c_double) == -1
    )
