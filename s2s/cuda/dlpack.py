"""Exports an array of a GPU by DLPack."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

CUDA, CUDA_MANAGED = 2, 13  # DLDeviceType
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLDataTypeCode
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [
    ("tensor", _Tensor),
    ("context", ctypes.c_void_p),
    ("deleter", _Deleter),
]

# The arrays that other libraries hold, by the address of their descriptor.
_held: dict[int, tuple[Any, ...]] = {}


@_Deleter
def _delete(managed: Any) -> None:
    held = _held.pop(ctypes.addressof(managed.contents), None)
    if held is not None:
        held[-1]()  # before the array is dropped, whose memory may then be used again


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete_unused(capsule: int) -> None:
    """The destructor of a capsule: releases the array if the capsule was not consumed."""
    if _is_valid(capsule, _NAME):
        _held.pop(_pointer(capsule, _NAME), None)


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def capsule(array: Any, device: tuple[int, int], released: Callable[[], None]) -> Any:
    """The DLPack capsule of an array; the array is kept until its consumer releases it, and then
    `released` is called, which must not raise."""
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    managed = _Managed()
    managed.tensor = _Tensor(
        array.address if array.size else None, *device, array.ndim,
        _CODES[array.dtype.kind], 8 * array.dtype.itemsize, 1, shape, None, 0,
    )  # fmt: skip
    managed.deleter = _delete
    _held[ctypes.addressof(managed)] = (managed, shape, array, released)
    destructor = ctypes.cast(_delete_unused, ctypes.c_void_p)
    return _new(ctypes.addressof(managed), _NAME, destructor)
