"""Loads the object code of kernels and makes it callable, without Numba.

A kernel is object code with two lists of names: links, whose addresses in this process are written
into its table, and symbols, the functions it calls.  Symbols that Numba's runtime would define,
memory allocation and matrix products, are resolved here.  Numba is loaded only if other symbols
remain.
"""

from __future__ import annotations

import builtins
import functools
import pickle
import struct
from typing import Any

import numpy as np

from ...codegen.gemm.gemm_names import NAMES
from ...codegen.gemm_library import gemm_library
from ...errors import MISS
from ...runtime import block_pool, jit_link
from ...runtime.jit_link import GEMM, PARALLEL_FOR, ROUTINE, Code, Unlinkable
from ...runtime.object_layout import TYPE_OFFSET, is_layout_known
from ...transforms.ir.lazy import memoize

ENTRY_SYMBOL, LINKS_SYMBOL = "s2s.entry", "s2s.links"
METH_FASTCALL = 0x80  # METH_FASTCALL: the calling convention of a C function in CPython


def load(code: Code) -> Any:
    """Link the object code of a kernel; its entry point as a Python function."""
    import ctypes

    if not is_layout_known():
        raise Unlinkable("objects are laid out in another way")
    library = jit_link.link(code.object, (ENTRY_SYMBOL, LINKS_SYMBOL), _addresses(code.symbols))
    table = (ctypes.c_void_p * len(code.links)).from_address(library[LINKS_SYMBOL])
    for i, name in enumerate(code.links):
        table[i] = _link(name)
    return _function(library[ENTRY_SYMBOL])


def _addresses(symbols: tuple[str, ...]) -> dict[str, int]:
    """The addresses of symbols: functions of s2s, of the process, or of Numba."""
    import llvmlite.binding as llvm

    jit_link.engine()  # after this LLVM resolves the symbols of the process
    ours: dict[str, int] = {}
    if any(s in block_pool.EXPORTED_SYMBOLS for s in symbols):
        ours.update({name: block_pool.library()[name] for name in block_pool.EXPORTED_SYMBOLS})
    if GEMM in symbols:
        ours[GEMM] = jit_link.numpy_gemm()
    if PARALLEL_FOR in symbols:
        from ...runtime import thread_pool

        ours[PARALLEL_FOR] = thread_pool.address()
    ours.update({s: gemm_library.address(s) for s in symbols if s in NAMES})
    ours.update({s: _routine(s) for s in symbols if s.startswith(ROUTINE)})
    found = {s: ours.get(s) or llvm.address_of_symbol(s) for s in symbols}
    if all(found.values()):
        return found
    jit_link.prepare_numba()
    found = {s: llvm.address_of_symbol(s) for s in symbols}
    same = (GEMM, PARALLEL_FOR, block_pool.ALLOCATE, *NAMES)
    for name in found:
        if name in ours and (name in same or name.startswith(ROUTINE)):
            found[name] = ours[name]  # the s2s function in every process, with or without Numba
    if not all(found.values()):
        raise Unlinkable(str([s for s, address in found.items() if not address]))
    return found


@memoize
def _routine(name: str) -> int:
    """The address of an external routine of this name, linked at first use."""
    code = jit_link.routine_code(name)
    if code is None:
        raise Unlinkable(name)
    return jit_link.link(code.object, (name,), _addresses(code.symbols))[name]


# ---------------------------------------------------------------- lists

# same(list, list): whether two lists hold identical objects; False if the first is not a list.
_SAME_TEXT = f"""
@s2s.answers = global [2 x i8*] zeroinitializer
define i8* @s2s.same(i8* %self, i8** %args, i64 %count) {{
  %b.place = getelementptr i8*, i8** %args, i64 1
  %a = load i8*, i8** %args
  %b = load i8*, i8** %b.place
  %a.type = getelementptr i8, i8* %a, i64 {TYPE_OFFSET}
  %b.type = getelementptr i8, i8* %b, i64 {TYPE_OFFSET}
  %a.typep = bitcast i8* %a.type to i64*
  %b.typep = bitcast i8* %b.type to i64*
  %a.kind = load i64, i64* %a.typep
  %b.kind = load i64, i64* %b.typep
  %alike = icmp eq i64 %a.kind, %b.kind
  br i1 %alike, label %sizes, label %no
sizes:
  %a.sizep = getelementptr i64, i64* %a.typep, i64 1
  %b.sizep = getelementptr i64, i64* %b.typep, i64 1
  %a.size = load i64, i64* %a.sizep
  %b.size = load i64, i64* %b.sizep
  %equal = icmp eq i64 %a.size, %b.size
  br i1 %equal, label %items, label %no
items:
  %a.raw = getelementptr i64, i64* %a.typep, i64 2
  %b.raw = getelementptr i64, i64* %b.typep, i64 2
  %a.rawp = bitcast i64* %a.raw to i64**
  %b.rawp = bitcast i64* %b.raw to i64**
  %a.items = load i64*, i64** %a.rawp
  %b.items = load i64*, i64** %b.rawp
  br label %head
head:
  %i = phi i64 [0, %items], [%next, %body]
  %done = icmp eq i64 %i, %a.size
  br i1 %done, label %yes, label %body
body:
  %pa = getelementptr i64, i64* %a.items, i64 %i
  %pb = getelementptr i64, i64* %b.items, i64 %i
  %xa = load i64, i64* %pa
  %xb = load i64, i64* %pb
  %next = add i64 %i, 1
  %one = icmp eq i64 %xa, %xb
  br i1 %one, label %head, label %no
yes:
  br label %end
no:
  br label %end
end:
  %at = phi i64 [0, %yes], [1, %no]
  %place = getelementptr [2 x i8*], [2 x i8*]* @s2s.answers, i64 0, i64 %at
  %answer = load i8*, i8** %place
  call void @Py_IncRef(i8* %answer)
  ret i8* %answer
}}
declare void @Py_IncRef(i8*)
"""


@functools.cache
def same_items() -> Any:
    """same_items(list, list): whether both hold identical objects.  The second must be a list."""
    import ctypes

    made = jit_link.runtime(_SAME_TEXT, ("s2s.same", "s2s.answers"))
    (ctypes.c_void_p * 2).from_address(made["s2s.answers"])[:] = [id(True), id(False)]
    return _function(made["s2s.same"])


# ---------------------------------------------------------------- addresses and functions


@functools.cache
def _numpy_table() -> Any:
    import ctypes

    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * 300).from_address(get(capsule, None))


def _link(name: str) -> int:
    """The address for a name in `Code.links`.  The objects live as long as the process."""
    kind, _, rest = name.partition(":")
    if kind == "numpy":
        return _numpy_table()[int(rest)]
    if kind == "descr":
        return id(np.dtype(rest))
    if kind == "type":
        return id(getattr(builtins, rest, None) or getattr(np, rest))
    things = {"ndarray": np.ndarray, "miss": MISS, "failure": _fail, "True": True, "False": False}
    return id(things[kind])


def method_definition(name: bytes, address: int, flags: int) -> int:
    """The address of a new `PyMethodDef` for a C function; it is never freed."""
    import ctypes

    class Definition(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
            ("doc", ctypes.c_char_p),
        )  # fmt: skip

    return ctypes.addressof(jit_link.keep_alive_forever(Definition(name, address, flags, None)))


def c_function(definition: int, belongs_to: Any = None) -> Any:
    """A Python function for a `PyMethodDef`; `belongs_to`, if given, is passed as the first
    parameter (`self`)."""
    import ctypes

    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return make(definition, None if belongs_to is None else id(belongs_to), None)


def _function(address: int) -> Any:
    return c_function(method_definition(b"kernel", address, METH_FASTCALL))


def _fail(address: int) -> None:
    """Raise the error of a kernel, which is stored in Numba's format at an address."""
    import ctypes

    class Info(ctypes.Structure):
        _fields_ = (
            ("text", ctypes.c_void_p), ("size", ctypes.c_int), ("values", ctypes.c_void_p),
            ("unwrap", ctypes.c_void_p), ("count", ctypes.c_int),
        )  # fmt: skip

    info = Info.from_address(address)
    exception, args, codes = pickle.loads(ctypes.string_at(info.text, info.size))
    if info.count > 0:
        if info.unwrap:  # raised by Numba's code: run-time values are placeholders of llvmlite
            unwrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(info.unwrap)
            values = iter(unwrap(info.values))
            dynamic = [type(a).__module__.startswith("llvmlite") for a in args]
        else:
            behind = ctypes.string_at(address + ctypes.sizeof(Info), 8 * info.count)
            values = iter(struct.unpack(codes, behind))
            dynamic = [a is None for a in args]
        args = [next(values) if d else a for d, a in zip(dynamic, args)]
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(block_pool.library()["NRT_Free"])(address)
    raise exception(*args)
