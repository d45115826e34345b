"""Calls of matrix products from kernels.

Kernels of a process call functions that all of them share (`codegen/gemm_library`).  A library that
is compiled ahead of time contains its own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...transforms.ir.record import record
from ..llvm_passes import features
from ..llvm_utils import INT, declare_function
from ..type_lowering import Context, memory_type
from . import blocked
from .indexed import Scattered

NAME = "s2s.gemm"

# Emits the body of a gemm function: (context, function, dtype).
Define = Callable[[Context, Any, Any], None]


@record(frozen=True)
class Library:
    """Matrix products for a target with vectors of `vector_bytes`.  With `define`, the functions
    are defined in the module; without it, the shared functions of the process are called."""

    vector_bytes: int
    define: Define | None = None


def process_library() -> Library:
    """The shared functions of the process."""
    return Library(blocked.vector_bytes_of(features()))


def emit(context: Context, builder: Any, args: list[Any], library: Library) -> None:
    """Emit c = alpha * a @ b + beta * c (`kernels.gemm`)."""
    swap_a, swap_b, alpha, a, b, beta, c = args
    called = function(context, builder.module, c.type.dtype, library.define)
    m, n = c.sizes
    k = builder.select(swap_a, a.sizes[0], a.sizes[1])
    parts = [swap_a, swap_b, alpha, a.data, b.data, beta, c.data, m, n, k]
    builder.call(called, parts)


def emit_at(builder: Any, args: list[Any], library: Library) -> None:
    """Emit c = A @ b, or c += A @ b (`kernels.gemm_at`)."""
    a, rows, columns, b, add, c = args
    m, n = c.sizes
    scattered = Scattered(builder.module, c.type.dtype, library.vector_bytes)
    made = scattered.declared() if library.define is None else scattered.function()
    builder.call(made, [a.data, rows.data, columns.data, b.data, add, c.data, m, n, b.sizes[0]])


def type_of(dtype: Any) -> Any:
    """The LLVM type of gemm(swap_a, swap_b, alpha, a, b, beta, c, m, n, k)."""
    number, flag = memory_type(dtype), ir.IntType(1)
    array = number.as_pointer()
    kinds = [flag, flag, number, array, array, number, array, INT, INT, INT]
    return ir.FunctionType(ir.VoidType(), kinds)


def function(context: Context, module: Any, dtype: Any, define: Define | None) -> Any:
    """gemm(swap_a, swap_b, alpha, a, b, beta, c, m, n, k), defined by `define` or only declared."""
    made = declare_function(module, type_of(dtype), f"{NAME}.f{dtype.bits}")
    if define is None or made.blocks:
        return made
    made.linkage = "internal"
    made.attributes.add("noinline")
    made.args[6].add_attribute("noalias")  # c
    define(context, made, dtype)
    return made
