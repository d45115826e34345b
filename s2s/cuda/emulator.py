"""Runs a kernel on the CPU: the LLVM IR that numba-cuda gives to NVVM, compiled for the host.

All threads of a launch run one after another in one thread of the host.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..codegen.llvm_passes import target_machine
from ..runtime import jit_link
from ..runtime.locks import kernel_locks
from . import compiler, retarget
from .kernel_text import KernelText

_SCALARS: dict[str, Any] = {
    "float64": ctypes.c_double,
    "float32": ctypes.c_float,
    "bool": ctypes.c_bool,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
}


class DivergentBarrier(RuntimeError):
    """The threads of a block do not all reach the same barrier."""


def function(kernel: KernelText, shadow: dict[str, int] | None = None) -> Callable[..., None]:
    """A function `(grid, block, reversed, *arguments)` that runs a launch.  Arrays are passed by
    address.  `shadow` has the addresses of `retarget.SHADOW_FUNCTIONS`, if memory is checked."""
    symbol = kernel.symbol + ("_shadowed" if shadow is not None else "")

    def compiled() -> bytes:
        module = retarget.host_module(compiler.llvm_ir(kernel), symbol, shadow is not None)
        return _object_code(module)

    key = f"emulated {symbol} {compiler.cache_key()} {kernel.digest}"
    with kernel_locks("numba"):
        library = jit_link.library(key, compiled, (symbol,), shadow)
    # The special registers are variables of the module, so the lock of the interpreter is kept.
    prototype = ctypes.PYFUNCTYPE(
        ctypes.c_int64, *[ctypes.c_int64] * 3, *map(_argument_type, kernel.types)
    )
    entry = prototype(library[symbol])

    def launch(grid: int, block: int, reversed_: bool, *arguments: Any) -> None:
        if entry(grid, block, int(reversed_), *arguments) == retarget.DIVERGED:
            raise DivergentBarrier(f"divergent barrier in the kernel {kernel.name}")

    return launch


def _argument_type(type_: str) -> Any:
    return ctypes.c_void_p if type_.endswith("*") else _SCALARS[type_]


def _object_code(module: Any) -> bytes:
    import llvmlite.binding as llvm

    target = target_machine()
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    return target.emit_object(module)
