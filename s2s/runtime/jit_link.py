"""JIT linking: functions given as LLVM IR or object code are compiled, cached and linked into the
process.

Kernels of all back ends call such functions: memory (`runtime/block_pool.py`), matrix products
(`codegen/gemm_library`), integer powers (`runtime/integer_powers.py`) and threads
(`runtime/thread_pool.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cache import store
from ..cache.source_key import platform_key
from ..transforms.ir.lazy import memoize
from .locks import compiler_lock

PARALLEL_FOR = "s2s_parallel_for"
GEMM = "numba_xxgemm"
ROUTINE = "s2s.routine."  # prefix of the symbols of routines (`codegen/external_routines.py`)
_BLAS = "s2s.blas"


@dataclass(frozen=True)
class Code:
    """Object code of a kernel or routine.  `symbols` are its undefined symbols; `links` are the
    symbols whose addresses its table holds, in order (`s2s.backends.native`)."""

    object: bytes
    links: tuple[str, ...]
    symbols: tuple[str, ...]


class Unlinkable(Exception):
    """Machine code with a symbol that cannot be resolved in this process."""


# ---------------------------------------------------------------- LLVM


@memoize
def engine() -> Any:
    """The LLJIT engine of the process."""
    import llvmlite.binding as llvm

    return keep_alive_forever(llvm.create_lljit_compiler(_machine()))


@memoize
def _machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


_library_numbers = itertools.count(1)


def link(code: bytes, exports: tuple[str, ...], given: dict[str, int]) -> Any:
    """Link object code; it is never unloaded.  Returns a library with the addresses of its
    `exports`.  Undefined symbols are resolved from `given` or from the process."""
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in given.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    return keep_alive_forever(builder.link(engine(), f"s2s.{next(_library_numbers)}"))


def keep_alive_forever(thing: Any) -> Any:
    """Keep an object alive until the process ends: an array may outlive all Python objects, and the
    code that frees it must still be loaded."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


def prepare_numba() -> None:
    """Initialise Numba's runtime, which registers its functions as LLVM symbols."""
    from numba.core.registry import cpu_target
    from numba.core.runtime.nrt import rtsys

    with compiler_lock():
        rtsys.initialize(cpu_target.target_context)


def runtime(
    text: str, names: tuple[str, ...], given: dict[str, int] | None = None, care: bool = True
) -> Any:
    """Compile and link functions and variables given as LLVM IR; their object code is cached.
    Undefined symbols are resolved from `given` or from the process.  Without `care`, few passes
    run, which shortens compile time."""
    import llvmlite.binding as llvm

    def compiled() -> bytes:
        return _machine().emit_object(_optimised(llvm.parse_assembly(text), care))

    return library(text, compiled, names, given)


def library(
    key: str, compiled: Callable[[], bytes], names: tuple[str, ...], given: dict[str, int] | None
) -> Any:
    """Link object code that is cached under `key`, or else made by `compiled`."""
    path = store.directory() / f"runtime_{store.digest(platform_key(), key)}"
    code = store.read_entry(path)
    if code is None:
        code = compiled()
        store.write_entry(path, code)
    return link(code, names, given or {})


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


# ---------------------------------------------------------------- routines

_routines: dict[Any, Code] = {}  # by the path of the cache entry


def cache_routine(name: str, code: Code) -> None:
    path = _routine_path(name)
    _routines[path] = code
    store.write_entry(path, code)


def routine_code(name: str) -> Code | None:
    """The cached object code of a routine, or None."""
    path = _routine_path(name)
    if path not in _routines:
        code = store.read_entry(path)
        if code is None:
            return None
        _routines[path] = code
    return _routines[path]


def _routine_path(name: str) -> Any:
    return store.directory() / f"runtime_{name.removeprefix(ROUTINE)}"


# ---------------------------------------------------------------- BLAS

# The BLAS of NumPy is used, which is loaded already; it takes sizes as pointers to 64-bit integers.
_GEMM_TEXT = """
@s2s.blas = global [4 x i8*] zeroinitializer
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
  %place = getelementptr [4 x i8*], [4 x i8*]* @s2s.blas, i64 0, i64 %i3
  %raw = load i8*, i8** %place
  %gemm = bitcast i8* %raw to void (i8*, i8*, i64*, i64*, i64*, i8*, i8*, i64*, i8*, i64*, i8*,
                                    i8*, i64*, i64, i64)*
  call void %gemm(i8* %pta, i8* %ptb, i64* %pm, i64* %pn, i64* %pk, i8* %alpha, i8* %a, i64* %pa,
                  i8* %b, i64* %pb, i8* %beta, i8* %c, i64* %pc, i64 1, i64 1)
  ret i32 0
}
"""


@memoize
def numpy_gemm() -> int:
    """The address of the function above; 0 if NumPy's BLAS is not accessible."""
    import ctypes

    found = _blas()
    if not found:
        return 0
    made = runtime(_GEMM_TEXT, (GEMM, _BLAS))
    (ctypes.c_void_p * 4).from_address(made[_BLAS])[:] = found
    return made[GEMM]


def blas() -> int:
    """The address of `GEMM`, the product of NumPy's BLAS, or of the BLAS that Numba finds."""
    import llvmlite.binding as llvm

    if found := numpy_gemm():
        return found
    prepare_numba()
    if not (found := llvm.address_of_symbol(GEMM)):
        raise Unlinkable("no BLAS")
    return found


def _blas() -> list[int]:
    """The addresses of NumPy's sgemm, dgemm, cgemm and zgemm with 64-bit integers; empty if they
    are not exported."""
    import ctypes

    try:
        numpy = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (OSError, AttributeError):
        return []
    for pattern in ("scipy_{}gemm_64_", "{}gemm_64_"):
        found = [getattr(numpy, pattern.format(letter), None) for letter in "sdcz"]
        if all(found):
            return [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in found]  # type: ignore[arg-type]
    return []
