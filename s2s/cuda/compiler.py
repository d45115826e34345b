"""Compiles one kernel to PTX.  This is the only module that imports a CUDA compiler for Python.

There are two of them.  numba-cuda is the default.  numba-cuda-mlir is its successor and takes the
same kernels; it queries the driver even if a compute capability is given, so the result of the
query is set beforehand.  Arrays are passed to numba-cuda as pointers, which makes a parameter one
word instead of seven; to numba-cuda-mlir as one-dimensional arrays.

Two functions of numba-cuda are used that are not public: `compiler._compile_pyfunc_with_fixup`,
which compiles a kernel without a driver and leaves its LLVM IR accessible, and `nvvmutils`, for
atomics on pointers.  The supported range of versions is therefore narrow.

Compilers with a compute capability below 10 and from 10 on use different dialects of NVVM.

A compiled kernel is stored in the cache of s2s.  Its entry point is renamed to a hash of its text,
because the compilers number the entry points of a process.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..cache import store
from ..cache.source_key import source_key
from ..errors import S2SValueError, VersionError, internal
from ..runtime import versions
from ..runtime.locks import kernel_locks
from ..transforms.ir.lazy import memoize
from .kernel_text import ENTRY, KernelText

# Tested versions of the compilers, as in pyproject.toml.
SUPPORTED = {"numba-cuda": ">=0.30,<0.31", "numba-cuda-mlir": ">=0.6,<0.7"}
PROVIDERS = tuple(SUPPORTED)
DEFAULT_PROVIDER = "numba-cuda"
# Compute capabilities of both dialects of NVVM, which every kernel is tested with.
TESTED_CAPABILITIES = ((8, 0), (10, 0))
EMULATED_CAPABILITY = (8, 0)  # of the LLVM IR that the emulator runs
INSTALL = "pip install 's2s-autodiff[cuda]'"


@dataclass(frozen=True)
class Compiled:
    """A compiled kernel: PTX with the entry point `symbol`."""

    ptx: str
    symbol: str


def ptx(kernel: KernelText, cc: tuple[int, int], provider: str = DEFAULT_PROVIDER) -> Compiled:
    """The PTX of a kernel for a compute capability."""
    key = ("ptx", provider, version(provider), repr(cc), cache_key(), kernel.digest)
    text = _cached(key, lambda: _renamed(PROVIDER[provider]().ptx(kernel, cc), kernel.symbol))
    return Compiled(text, kernel.symbol)


def llvm_ir(kernel: KernelText) -> tuple[str, ...]:
    """The LLVM IR of a kernel that numba-cuda gives to NVVM, one text per module.  The first one
    defines the kernel."""
    key = ("llvm", version(DEFAULT_PROVIDER), cache_key(), kernel.digest)
    return _cached(key, lambda: NumbaCuda().llvm_ir(kernel, EMULATED_CAPABILITY))


def version(provider: str) -> str:
    """The version of a compiler; an error if it is missing or not supported."""
    if provider not in SUPPORTED:
        raise S2SValueError(f"there is no CUDA compiler {provider!r}", advice=f"one of {PROVIDERS}")
    try:
        found = importlib.metadata.version(provider)
    except importlib.metadata.PackageNotFoundError:
        raise VersionError(
            f"the CUDA target needs {provider}, which is not installed", advice=INSTALL
        ) from None
    if not versions.is_supported(found, SUPPORTED[provider]):
        if not versions.is_untested_allowed():
            raise VersionError(
                f"{provider} {found} is not supported: the CUDA target needs "
                f"{provider} {SUPPORTED[provider]}",
                advice=f'pip install "{provider}{SUPPORTED[provider]}"',
            )
    return found


# ---------------------------------------------------------------- the compilers


class NumbaCuda:
    """numba-cuda: kernels with pointers, by numba's front end and NVVM."""

    def ptx(self, kernel: KernelText, cc: tuple[int, int]) -> str:
        library = self._compiled(kernel, cc)
        (text,) = library.get_asm_strs(cc=cc)
        return text

    def llvm_ir(self, kernel: KernelText, cc: tuple[int, int]) -> tuple[str, ...]:
        return tuple(self._compiled(kernel, cc).llvm_strs)

    def _compiled(self, kernel: KernelText, cc: tuple[int, int]) -> Any:
        with kernel_locks("numba"):
            from numba import types

            cuda = import_module("numba.cuda")
            compiler = import_module("numba.cuda.compiler")

            def type_of(name: str) -> Any:
                if not name.endswith("*"):
                    return types.boolean if name == "bool" else getattr(types, name)
                name = name[:-1]
                return types.CPointer(types.uint8 if name == "bool" else getattr(types, name))

            space = {"cuda": cuda, "libdevice": cuda.libdevice, **_atomics()}
            function = _function(_with_pointer_atomics(kernel.text), kernel, space)
            signature = types.void(*map(type_of, kernel.types))
            library, _ = _reporting(
                kernel,
                lambda: compiler._compile_pyfunc_with_fixup(
                    function, signature, device=False, abi="numba", cc=cc, fastmath=False
                ),
            )
            return library


class NumbaCudaMlir:
    """numba-cuda-mlir: kernels with one-dimensional arrays."""

    def ptx(self, kernel: KernelText, cc: tuple[int, int]) -> str:
        with kernel_locks("numba"):
            cuda = import_module("numba_cuda_mlir.cuda")
            tools: Any = import_module("numba_cuda_mlir.tools")
            libdevice, types = cuda.libdevice, cuda.types

            def type_of(name: str) -> Any:
                if not name.endswith("*"):
                    return types.boolean if name == "bool" else getattr(types, name)
                dtype = types.uint8 if name == "bool*" else getattr(types, name[:-1])
                return types.Array(dtype, 1, "C")

            function = _function(kernel.text, kernel, {"cuda": cuda, "libdevice": libdevice})
            signature = types.void(*map(type_of, kernel.types))
            before, tools._cached_cc = tools._cached_cc, cc
            try:
                text, _ = _reporting(kernel, lambda: cuda.compile_ptx(function, signature, cc=cc))
            finally:
                tools._cached_cc = before
            return text


PROVIDER: dict[str, Callable[[], Any]] = {
    "numba-cuda": NumbaCuda,
    "numba-cuda-mlir": NumbaCudaMlir,
}


def _function(text: str, kernel: KernelText, space: dict[str, Any]) -> Any:
    """The plain Python function of a kernel."""
    import math

    import numpy as np

    space = {**space, "math": math, "np": np, "BLOCK": kernel.block, "__name__": "s2s_kernel"}
    exec(compile(text, f"<s2s kernel {kernel.name}>", "exec"), space)
    found = space[ENTRY]
    return getattr(found, "py_func", found)


def _reporting(kernel: KernelText, compiled: Callable[[], Any]) -> Any:
    try:
        return compiled()
    except Exception as error:
        raise internal(f"compiling the CUDA kernel {kernel.name}", error) from error


# ---------------------------------------------------------------- atomics on pointers

_ADD, _CAS = "s2s_atomic_add", "s2s_atomic_cas"


def _with_pointer_atomics(text: str) -> str:
    return text.replace("cuda.atomic.add(", f"{_ADD}(").replace("cuda.atomic.cas(", f"{_CAS}(")


@memoize
def _atomics() -> dict[str, Any]:
    """`add(pointer, index, value)` and `cas(pointer, index, old, new)`; both return the old
    value."""
    from numba import types

    nvvmutils = import_module("numba.cuda.nvvmutils")
    intrinsic = import_module("numba.cuda.extending").intrinsic

    @intrinsic
    def add(context: Any, pointer: Any, index: Any, value: Any) -> Any:
        if not isinstance(pointer, types.CPointer):
            return None
        dtype = pointer.dtype

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.gep(args[0], [args[1]])
            if dtype == types.float64:
                function = nvvmutils.declare_atomic_add_float64(builder.module)
            elif dtype == types.float32:
                function = nvvmutils.declare_atomic_add_float32(builder.module)
            else:
                return builder.atomic_rmw("add", place, args[2], "monotonic")
            return builder.call(function, (place, args[2]))

        return dtype(pointer, types.int64, dtype), generate

    @intrinsic
    def cas(context: Any, pointer: Any, index: Any, old: Any, new: Any) -> Any:
        if not isinstance(pointer, types.CPointer):
            return None
        dtype = pointer.dtype

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.gep(args[0], [args[1]])
            return nvvmutils.atomic_cmpxchg(
                builder, builder.module, dtype.bitwidth, place, args[2], args[3]
            )

        return dtype(pointer, types.int64, dtype, dtype), generate

    return {_ADD: add, _CAS: cas}


# ---------------------------------------------------------------- cache


def _cached(key: tuple[str, ...], make: Callable[[], Any]) -> Any:
    path = store.directory() / f"cuda_{store.digest(*key)}"
    found = store.read_entry(path)
    if found is None:
        found = make()
        store.write_entry(path, found)
    return found


@memoize
def cache_key() -> str:
    """A hash of what compiled kernels depend on besides their text."""
    import os
    import platform

    parts = [importlib.metadata.version(p) for p in ("numba", "llvmlite", "numpy")]
    folder = os.path.dirname(os.path.abspath(__file__))
    return store.digest(*parts, _nvvm_version(), platform.python_version(), source_key(folder))


def _nvvm_version() -> str:
    try:
        return importlib.metadata.version("nvidia-nvvm")
    except importlib.metadata.PackageNotFoundError:
        return "of the toolkit"


def _renamed(text: str, symbol: str) -> str:
    """PTX with another name for its only entry point.  The variable that holds the environment of a
    Python function, whose name has a number of the process, is not read and is left out; so is the
    final zero byte of numba-cuda-mlir, which ptxas takes for the end of an unfinished line."""
    text = re.sub(r"^\.common .*NumbaEnv.*\n", "", text.rstrip("\0"), flags=re.MULTILINE)
    (name,) = re.findall(r"^\.visible \.entry ([\w$]+)\(", text, re.MULTILINE)
    return text.replace(name, symbol)
