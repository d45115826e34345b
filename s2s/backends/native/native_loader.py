"""Machine code of kernels, loaded and made callable without Numba.

A kernel is object code and the names of what it needs: of addresses of this process, which are put
into its table, and of functions.  Those that Numba's runtime would give, memory and matrix
products, are given here; only code that calls for more wants Numba.
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
from ...transforms.ir.lazy import once
from .object_layout import TYPE, is_layout_known

ENTRY, LINKS = "s2s.dispatch.specialization", "s2s.links"
FASTCALL = 0x80  # CPython's name for how a C function takes its arguments


def load(code: Code) -> Any:
    """The entry point of a kernel, as a Python function."""
    import ctypes

    if not is_layout_known():
        raise Unlinkable("objects are laid out in another way")
    library = jit_link.link(code.object, (ENTRY, LINKS), _addresses(code.symbols))
    table = (ctypes.c_void_p * len(code.links)).from_address(library[LINKS])
    for i, name in enumerate(code.links):
        table[i] = _link(name)
    return _function(library[ENTRY])


def _addresses(symbols: tuple[str, ...]) -> dict[str, int]:
    """Of the functions that machine code calls: ours, those of the process, or Numba's."""
    import llvmlite.binding as llvm

    jit_link.engine()  # from then on LLVM knows the functions of the process
    ours: dict[str, int] = {}
    if any(s in block_pool.GIVEN for s in symbols):
        ours.update({name: block_pool.library()[name] for name in block_pool.GIVEN})
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
            found[name] = ours[name]  # the same one in every process
    if not all(found.values()):
        raise Unlinkable(str([s for s, address in found.items() if not address]))
    return found


@once
def _routine(name: str) -> int:
    """The address of a routine that kernels call by this name."""
    code = jit_link.routine_code(name)
    if code is None:
        raise Unlinkable(name)
    return jit_link.link(code.object, (name,), _addresses(code.symbols))[name]


# ---------------------------------------------------------------- lists

# same(list, list): whether two lists hold the same objects; another thing is no list.
_SAME_TEXT = f"""
@s2s.answers = global [2 x i8*] zeroinitializer
define i8* @s2s.cache.stable_identity(i8* %self, i8** %args, i64 %count) {{
  %b.place = getelementptr i8*, i8** %args, i64 1
  %a = load i8*, i8** %args
  %b = load i8*, i8** %b.place
  %a.type = getelementptr i8, i8* %a, i64 {TYPE}
  %b.type = getelementptr i8, i8* %b, i64 {TYPE}
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
    """same_items(list, list): whether both hold the same objects.  The second must be a list."""
    import ctypes

    made = jit_link.runtime(_SAME_TEXT, ("s2s.cache.stable_identity", "s2s.answers"))
    (ctypes.c_void_p * 2).from_address(made["s2s.answers"])[:] = [id(True), id(False)]
    return _function(made["s2s.cache.stable_identity"])


# ---------------------------------------------------------------- the process


@functools.cache
def _numpy_table() -> Any:
    import ctypes

    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * 300).from_address(get(capsule, None))


def _link(name: str) -> int:
    """An address by its name in `Code.links`; what it belongs to is there for good."""
    kind, _, rest = name.partition(":")
    if kind == "numpy":
        return _numpy_table()[int(rest)]
    if kind == "descr":
        return id(np.dtype(rest))
    if kind == "type":
        return id(getattr(builtins, rest, None) or getattr(np, rest))
    things = {"ndarray": np.ndarray, "miss": MISS, "failure": _fail, "True": True, "False": False}
    return id(things[kind])


def definition(name: bytes, address: int, flags: int) -> int:
    """The address of how CPython wants a C function described."""
    import ctypes

    class Definition(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
            ("doc", ctypes.c_char_p),
        )  # fmt: skip

    return ctypes.addressof(jit_link.immortal(Definition(name, address, flags, None)))


def function(definition: int, belongs_to: Any = None) -> Any:
    """A C function that takes its arguments as CPython hands them over; what it belongs to, if
    anything, is its first parameter."""
    import ctypes

    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return make(definition, None if belongs_to is None else id(belongs_to), None)


def _function(address: int) -> Any:
    return function(definition(b"kernel", address, FASTCALL))


def _fail(address: int) -> None:
    """Raises what a kernel met: it stands, as Numba writes it, at an address."""
    import ctypes

    class Info(ctypes.Structure):
        _fields_ = (
            ("text", ctypes.c_void_p), ("size", ctypes.c_int), ("values", ctypes.c_void_p),
            ("unwrap", ctypes.c_void_p), ("count", ctypes.c_int),
        )  # fmt: skip

    info = Info.from_address(address)
    exception, args, codes = pickle.loads(ctypes.string_at(info.text, info.size))
    if info.count > 0:
        if info.unwrap:  # Numba's own, with an LLVM value for what is known only at run time
            unwrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(info.unwrap)
            told = iter(unwrap(info.values))
            unknown = [type(a).__module__.startswith("llvmlite") for a in args]
        else:
            behind = ctypes.string_at(address + ctypes.sizeof(Info), 8 * info.count)
            told = iter(struct.unpack(codes, behind))
            unknown = [a is None for a in args]
        args = [next(told) if u else a for u, a in zip(unknown, args)]
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(block_pool.library()["NRT_Free"])(address)
    raise exception(*args)
