"""Loading native kernels: addresses, lists compared by identity, and errors from memory."""

from __future__ import annotations

import builtins
import ctypes
import pickle
import struct
import sys

import numpy as np
import pytest

from s2s.backends.native import native_loader
from s2s.backends.native.native_loader import (
    _fail,
    _link,
    c_function,
    load,
    method_definition,
    same_items,
)
from s2s.errors import MISS
from s2s.runtime import block_pool
from s2s.runtime.jit_link import Code, Unlinkable
from s2s.runtime.object_layout import is_layout_known

if not is_layout_known():
    pytest.skip("objects are laid out in another way", allow_module_level=True)


def test_lists_of_the_same_objects() -> None:
    same, a, b = same_items(), object(), object()
    assert same([a, b], [a, b]) is True and same([], []) is True
    for one, other in (([a], [b]), ([a, b], [b, a]), ([a], [a, b]), ([a, b], [a]), ([], [a]),
                       ((a,), [a]), ({}, [a]), (None, [a])):  # fmt: skip
        assert same(one, other) is False
    before = sys.getrefcount(a)
    for _ in range(100):
        same([a, b], [a, b])
    assert sys.getrefcount(a) == before


def test_links_are_addresses_of_objects() -> None:
    assert _link("miss") == id(MISS) and _link("ndarray") == id(np.ndarray)
    assert _link("True") == id(True) and _link("False") == id(False)
    assert _link("descr:float32") == id(np.dtype("float32"))
    assert _link("type:float") == id(builtins.float) and _link("type:int8") == id(np.int8)
    assert _link("numpy:2") == native_loader._numpy_table()[2]  # PyArray_Type
    assert native_loader._numpy_table()[2] == id(np.ndarray)
    with pytest.raises(KeyError):
        _link("nothing")


def test_functions_of_python() -> None:
    seen = []

    def run(own: int, args: int, count: int) -> int:
        seen.append((own, list((ctypes.c_uint64 * count).from_address(args)) if count else []))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(MISS))
        return id(MISS)

    kind = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64)
    callback = kind(run)
    address = ctypes.cast(callback, ctypes.c_void_p).value or 0
    made = method_definition(b"tested", address, native_loader.METH_FASTCALL)
    owner, a, b = object(), object(), object()
    assert c_function(made, owner)(a, b) is MISS and c_function(made).__name__ == "tested"
    assert seen == [(id(owner), [id(a), id(b)])]
    with pytest.raises(TypeError):
        c_function(made)(x=1)


class Info(ctypes.Structure):
    _fields_ = (("text", ctypes.c_void_p), ("size", ctypes.c_int), ("values", ctypes.c_void_p),
                ("unwrap", ctypes.c_void_p), ("count", ctypes.c_int))  # fmt: skip


def test_errors_without_values() -> None:
    data = pickle.dumps((IndexError, ("far", 3), ""), protocol=4)
    place = ctypes.create_string_buffer(data)
    info = Info(ctypes.addressof(place), len(data), None, None, 0)
    with pytest.raises(IndexError) as raised:
        _fail(ctypes.addressof(info))
    assert raised.value.args == ("far", 3)


def test_errors_with_values_give_their_memory_back() -> None:
    library = block_pool.library()
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(library["NRT_Allocate"])
    data = pickle.dumps((ValueError, ("at", None, "of", None), "dq"), protocol=4)
    text = ctypes.create_string_buffer(data)
    for value, number in ((2.5, -7), (float("inf"), 2**62)):
        place = allocate(ctypes.sizeof(Info) + 16)
        info = Info.from_address(place)
        info.text, info.size = ctypes.addressof(text), len(data)
        info.values = info.unwrap = None
        info.count = 2
        ctypes.memmove(place + ctypes.sizeof(Info), struct.pack("dq", value, number), 16)
        with pytest.raises(ValueError) as raised:
            _fail(place)
        assert raised.value.args == ("at", value, "of", number)


def test_code_that_cannot_be_linked(monkeypatch) -> None:
    with pytest.raises(Unlinkable, match="no_such_symbol"):
        native_loader._addresses(("no_such_symbol",))
    with pytest.raises(Unlinkable):
        native_loader._routine("s2s.routine.missing")
    monkeypatch.setattr(native_loader, "is_layout_known", lambda: False)
    with pytest.raises(Unlinkable, match="another way"):
        load(Code(b"", (), ()))


def test_addresses_of_the_process_and_of_s2s() -> None:
    found = native_loader._addresses(("cos", block_pool.ALLOCATE))
    assert found[block_pool.ALLOCATE] == block_pool.library()[block_pool.ALLOCATE]
    assert all(found.values())
