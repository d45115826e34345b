"""Machine code of kernels, loaded and made callable without Numba.

A kernel that has a door (`s2s.doors`) is object code and the names of what it needs: of addresses
of this process, which are put into its table, and of functions.  Those that Numba's runtime would
give, memory and matrix products, are given here; only code that calls for more wants Numba.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import pickle
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import cache, memory
from .locks import compiler_lock
from .transforms.lazy import once

MISS: Any = type("Miss", (), {"__repr__": lambda self: "MISS"})()

# Where CPython and NumPy keep what in objects, in bytes.
TYPE, VALUE = 8, 16
DATA, NDIM, DIMS, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64

FASTCALL, KEYWORDS = 0x80, 0x02  # CPython's names for how a C function takes its arguments

DOOR, LINKS = "s2s.door", "s2s.links"
PARALLEL_FOR = "s2s_parallel_for"
GEMM = "numba_xxgemm"
ROUTINE = "s2s.routine."  # how the names of routines (`machine.routines`) begin


@dataclass(frozen=True)
class Code:
    """`links` are the addresses its table is to hold, in order; `symbols` are the functions
    that it calls and does not have."""

    object: bytes
    links: tuple[str, ...]
    symbols: tuple[str, ...]


class Unlinkable(Exception):
    """Machine code that cannot be entered without Numba in this process."""


def load(code: Code) -> Any:
    """The function behind the door."""
    import ctypes

    import llvmlite.binding as llvm

    if not is_layout_known():
        raise Unlinkable("objects are laid out in another way")
    builder = llvm.JITLibraryBuilder().add_object_img(code.object).add_current_process()
    for name, address in _addresses(code.symbols).items():
        builder.import_symbol(name, address)
    library = builder.export_symbol(DOOR).export_symbol(LINKS).link(_engine(), _new_name())
    immortal(library)
    table = (ctypes.c_void_p * len(code.links)).from_address(library[LINKS])
    for i, name in enumerate(code.links):
        table[i] = _link(name)
    return _function(library[DOOR])


# ---------------------------------------------------------------- LLVM


@once
def _engine() -> Any:
    import llvmlite.binding as llvm

    return immortal(llvm.create_lljit_compiler(_machine()))


@once
def _machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


_libraries = itertools.count(1)


def _new_name() -> str:
    return f"s2s.{next(_libraries)}"


def immortal(thing: Any) -> Any:
    """Arrays may outlive everything, and are given back by code that must not be gone."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


def _addresses(symbols: tuple[str, ...]) -> dict[str, int]:
    """Of the functions that machine code calls: ours, those of the process, or Numba's."""
    import llvmlite.binding as llvm

    from . import products

    _engine()  # from then on LLVM knows the functions of the process
    ours: dict[str, int] = {}
    if any(s in memory.GIVEN for s in symbols):
        ours.update({name: memory.library()[name] for name in memory.GIVEN})
    if GEMM in symbols:
        ours.update(_runtime())
    if PARALLEL_FOR in symbols:
        from . import threads

        ours[PARALLEL_FOR] = threads.address()
    ours.update({s: products.address(s) for s in symbols if s in products.NAMES})
    ours.update({s: _routine(s) for s in symbols if s.startswith(ROUTINE)})
    found = {s: ours.get(s) or llvm.address_of_symbol(s) for s in symbols}
    if all(found.values()):
        return found
    _wake_numba()
    found = {s: llvm.address_of_symbol(s) for s in symbols}
    same = (GEMM, PARALLEL_FOR, memory.ALLOCATE, *products.NAMES)
    for name in found:
        if name in ours and (name in same or name.startswith(ROUTINE)):
            found[name] = ours[name]  # the same one in every process
    if not all(found.values()):
        raise Unlinkable(str([s for s, address in found.items() if not address]))
    return found


def _wake_numba() -> None:
    """Numba tells LLVM of its functions when it is asked for a target."""
    from numba.core.registry import cpu_target
    from numba.core.runtime.nrt import rtsys

    with compiler_lock():
        rtsys.initialize(cpu_target.target_context)


# ---------------------------------------------------------------- routines

_routines: dict[Any, Code] = {}  # by the file that keeps it


def keep_routine(name: str, code: Code) -> None:
    path = _routine_path(name)
    _routines[path] = code
    cache.keep(path, code)


def routine_code(name: str) -> Code | None:
    path = _routine_path(name)
    if path not in _routines:
        code = cache.fetch(path)
        if code is None:
            return None
        _routines[path] = code
    return _routines[path]


def _routine_path(name: str) -> Any:
    return cache.directory() / f"runtime_{name.removeprefix(ROUTINE)}"


@once
def _routine(name: str) -> int:
    """The address of a routine that kernels call by this name."""
    import llvmlite.binding as llvm

    code = routine_code(name)
    if code is None:
        raise Unlinkable(name)
    builder = llvm.JITLibraryBuilder().add_object_img(code.object).add_current_process()
    for symbol, address in _addresses(code.symbols).items():
        builder.import_symbol(symbol, address)
    return immortal(builder.export_symbol(name).link(_engine(), _new_name()))[name]


# ---------------------------------------------------------------- what kernels call

# BLAS is that of NumPy, which is there already; it wants addresses of 64-bit integers.
_RUNTIME = """
@s2s.links = global [6 x i8*] zeroinitializer
define i32 @numba_xxgemm(i8 %kind, i8 %ta, i8 %tb, i64 %m, i64 %n, i64 %k, i8* %alpha, i8* %a,
                         i64 %lda, i8* %b, i64 %ldb, i8* %beta, i8* %c, i64 %ldc) {
  %pta = alloca i8
  %ptb = alloca i8
  %sizes = alloca [6 x i64]
  store i8 %ta, i8* %pta
  store i8 %tb, i8* %ptb
  %pm = getelementptr [6 x i64], [6 x i64]* %sizes, i64 0, i64 0
  %pn = getelementptr [6 x i64], [6 x i64]* %sizes, i64 0, i64 1
  %pk = getelementptr [6 x i64], [6 x i64]* %sizes, i64 0, i64 2
  %pa = getelementptr [6 x i64], [6 x i64]* %sizes, i64 0, i64 3
  %pb = getelementptr [6 x i64], [6 x i64]* %sizes, i64 0, i64 4
  %pc = getelementptr [6 x i64], [6 x i64]* %sizes, i64 0, i64 5
  store i64 %m, i64* %pm
  store i64 %n, i64* %pn
  store i64 %k, i64* %pk
  store i64 %lda, i64* %pa
  store i64 %ldb, i64* %pb
  store i64 %ldc, i64* %pc
  %is.d = icmp eq i8 %kind, 100
  %is.c = icmp eq i8 %kind, 99
  %is.z = icmp eq i8 %kind, 122
  %i1 = select i1 %is.d, i64 1, i64 0
  %i2 = select i1 %is.c, i64 2, i64 %i1
  %i3 = select i1 %is.z, i64 3, i64 %i2
  %place = getelementptr [6 x i8*], [6 x i8*]* @s2s.links, i64 0, i64 %i3
  %raw = load i8*, i8** %place
  %gemm = bitcast i8* %raw to void (i8*, i8*, i64*, i64*, i64*, i8*, i8*, i64*, i8*, i64*, i8*,
                                    i8*, i64*, i64, i64)*
  call void %gemm(i8* %pta, i8* %ptb, i64* %pm, i64* %pn, i64* %pk, i8* %alpha, i8* %a, i64* %pa,
                  i8* %b, i64* %pb, i8* %beta, i8* %c, i64* %pc, i64 1, i64 1)
  ret i32 0
}
"""
# same(list, list): whether two lists hold the same objects; another thing is no list.
_RUNTIME += f"""
define i8* @s2s.same(i8* %self, i8** %args, i64 %count) {{
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
  %at = phi i64 [4, %yes], [5, %no]
  %place = getelementptr [6 x i8*], [6 x i8*]* @s2s.links, i64 0, i64 %at
  %answer = load i8*, i8** %place
  call void @Py_IncRef(i8* %answer)
  ret i8* %answer
}}
declare void @Py_IncRef(i8*)
"""
_SAME = "s2s.same"


def runtime(
    text: str, names: tuple[str, ...], given: dict[str, int] | None = None, care: bool = True
) -> Any:
    """Functions and variables in LLVM's language, loaded; their machine code is kept.  What they
    need is `given`, or found in the process.  Without `care` it takes less time to compile them."""
    import llvmlite.binding as llvm

    def compiled() -> bytes:
        return _machine().emit_object(_optimised(llvm.parse_assembly(text), care))

    return library(text, compiled, names, given)


def library(
    key: str, compiled: Callable[[], bytes], names: tuple[str, ...], given: dict[str, int] | None
) -> Any:
    """The same of machine code, which is made if none is kept under the key."""
    import llvmlite.binding as llvm

    path = cache.directory() / f"runtime_{cache.digest(cache.platform_key(), key)}"
    code = cache.fetch(path)
    if code is None:
        code = compiled()
        cache.keep(path, code)
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in (given or {}).items():
        builder.import_symbol(name, address)
    for name in names:
        builder.export_symbol(name)
    return immortal(builder.link(_engine(), _new_name()))


def _optimised(module: Any, care: bool) -> Any:
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=2 if care else 0)
    builder = llvm.create_pass_builder(_machine(), options)
    passes = builder.getModulePassManager() if care else llvm.create_new_module_pass_manager()
    if not care:
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return module


@once
def _runtime() -> dict[str, int]:
    """The addresses of what is written above."""
    import ctypes

    library = runtime(_RUNTIME, (GEMM, _SAME, LINKS))
    blas = _blas()
    table = (ctypes.c_void_p * 6).from_address(library[LINKS])
    table[:] = [*(blas or [0] * 4), id(True), id(False)]
    return {name: library[name] for name in (_SAME, *([GEMM] if blas else []))}


def blas() -> int:
    """The address of BLAS's product behind `GEMM`: NumPy's, or the one Numba finds."""
    import llvmlite.binding as llvm

    if found := _runtime().get(GEMM):
        return found
    _wake_numba()
    if not (found := llvm.address_of_symbol(GEMM)):
        raise Unlinkable("no BLAS")
    return found


@functools.cache
def same_items() -> Any:
    """same_items(list, list): whether both hold the same objects.  The second must be a list."""
    return _function(_runtime()[_SAME])


def _blas() -> list[int]:
    """sgemm, dgemm, cgemm and zgemm of NumPy, if they are to be had with 64-bit integers."""
    import ctypes

    try:
        numpy = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (OSError, AttributeError):
        return []
    for spelling in ("scipy_{}gemm_64_", "{}gemm_64_"):
        found = [getattr(numpy, spelling.format(letter), None) for letter in "sdcz"]
        if all(found):
            return [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in found]  # type: ignore[arg-type]
    return []


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


@functools.cache
def is_layout_known() -> bool:
    """Whether objects are laid out as doors take for granted; asked of some objects."""
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


def definition(name: bytes, address: int, flags: int) -> int:
    """The address of how CPython wants a C function described."""
    import ctypes

    class Definition(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
            ("doc", ctypes.c_char_p),
        )  # fmt: skip

    return ctypes.addressof(immortal(Definition(name, address, flags, None)))


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
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(memory.library()["NRT_Free"])(address)
    raise exception(*args)
