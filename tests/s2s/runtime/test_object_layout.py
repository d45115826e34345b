"""Offsets of fields: what the interpreter and NumPy have, read at these addresses."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from s2s.runtime import object_layout
from s2s.runtime.object_layout import (
    ARRAY_DATA_OFFSET,
    ARRAY_DESCR_OFFSET,
    ARRAY_DIMS_OFFSET,
    ARRAY_FLAGS_OFFSET,
    ARRAY_NDIM_OFFSET,
    ARRAY_STRIDES_OFFSET,
    SCALAR_VALUE_OFFSET,
    TYPE_OFFSET,
    is_layout_known,
    layout_problem,
)


def word(thing: object, offset: int) -> int:
    return ctypes.c_uint64.from_address(id(thing) + offset).value


def test_the_layout_is_that_of_this_interpreter() -> None:
    assert is_layout_known() == (sys.implementation.name == "cpython" and sys.maxsize == 2**63 - 1
                                 and getattr(sys, "_is_gil_enabled", lambda: True)())  # fmt: skip


@pytest.mark.skipif(not is_layout_known(), reason="objects are laid out in another way")
def test_fields_of_arrays() -> None:
    for array in (
        np.zeros((3, 5), np.float32)[:, ::2],
        np.zeros((2, 3, 4)).T,
        np.zeros(7, np.int8),
    ):
        assert (
            word(array, TYPE_OFFSET) == id(type(array))
            and word(array, ARRAY_DATA_OFFSET) == array.ctypes.data
        )
        assert word(array, ARRAY_NDIM_OFFSET) & 0xFFFFFFFF == array.ndim
        for offset, expected in (
            (ARRAY_DIMS_OFFSET, array.shape),
            (ARRAY_STRIDES_OFFSET, array.strides),
        ):
            words = (ctypes.c_int64 * array.ndim).from_address(word(array, offset))
            assert tuple(words) == expected
        assert word(array, ARRAY_DESCR_OFFSET) == id(array.dtype)
        flags = word(array, ARRAY_FLAGS_OFFSET)
        assert bool(flags & 1) == array.flags.c_contiguous
        assert bool(flags & 0x100) == array.flags.aligned
        assert bool(flags & 0x400) == array.flags.writeable


@pytest.mark.skipif(not is_layout_known(), reason="objects are laid out in another way")
def test_values_of_scalars() -> None:
    for value in (1.25, np.float64(-2.5)):
        assert ctypes.c_double.from_address(id(value) + SCALAR_VALUE_OFFSET).value == value
    for name in ("int8", "uint16", "int32", "uint64", "float32"):
        value = np.dtype(name).type(77)
        kind = np.ctypeslib.as_ctypes_type(np.dtype(name))
        assert kind.from_address(id(value) + SCALAR_VALUE_OFFSET).value == 77


def test_other_interpreters_are_not_entered(monkeypatch) -> None:
    inner = is_layout_known.__wrapped__
    monkeypatch.setattr(object_layout, "layout_problem", layout_problem.__wrapped__)

    with monkeypatch.context() as patch:
        patch.setattr(object_layout.sys, "implementation", SimpleNamespace(name="pypy"))
        assert not inner()
    with monkeypatch.context() as patch:
        patch.setattr(object_layout.sys, "_is_gil_enabled", lambda: False, raising=False)
        assert not inner()
    with monkeypatch.context() as patch:
        patch.setattr(object_layout, "ARRAY_DESCR_OFFSET", 48)
        assert not inner()
