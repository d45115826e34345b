"""Products of matrices: plain loops where they are small or one is a vector, our own or BLAS where
they are large.

Kernels of this process call functions that all of them share (`s2s.codegen.gemm.gemm_library`);
code that is compiled ahead of time has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...transforms.ir.record import record
from ..llvm_passes import features
from ..llvm_utils import INT, declared
from ..type_lowering import Context, memory_type
from . import blocked, gemv
from .indexed import Scattered

# Below this number of multiplications a plain loop is faster than calling BLAS.
SMALL = 512
NAME = "s2s.gemm"

# Writes what multiplies large matrices: (builder, dtype, arguments of the function around it).
Large = Callable[[Any, Any, Any], None]

# In the language of lowered text, with the matrices as vectors and steps down and to the right.
# Rows of `a` are multiplied with columns of `b` where both lie in one piece, else rows of `b` are
# added to rows of `c`.  There is at least one.
LOOPS = """
def small(swap_a, swap_b, alpha, a, b, beta, c, m, n, k, zero):
    if swap_b and not swap_a and k > 1:
        for i in range(m):
            for j in range(n):
                t = zero
                for p in range(k):
                    t = t + a[i * k + p] * b[j * k + p]
                c[i * n + j] = alpha * t + c[i * n + j] * beta if beta != zero else alpha * t
    else:
        down = 1 if swap_a else k
        right = m if swap_a else 1
        b_down = 1 if swap_b else n
        b_right = k if swap_b else 1
        for i in range(m):
            x = alpha * a[i * down]
            for j in range(n):
                t = x * b[j * b_right]
                c[i * n + j] = c[i * n + j] * beta + t if beta != zero else t
            for p in range(1, k):
                x = alpha * a[i * down + p * right]
                for j in range(n):
                    c[i * n + j] += x * b[p * b_down + j * b_right]
"""


@record(frozen=True)
class Library:
    """What multiplies matrices on a machine with vectors of so many bytes.  What is for large ones
    becomes part of a module; without it, the functions are those of
    `s2s.codegen.gemm.gemm_library`."""

    vector_bytes: int
    large: Large | None = None


def shared() -> Library:
    """For this machine."""
    return Library(blocked.width(features()))


def emit(context: Context, builder: Any, args: list[Any], library: Library) -> None:
    """c = alpha * a @ b + beta * c; as `kernels.gemm`."""
    swap_a, swap_b, alpha, a, b, beta, c = args
    called = function(context, builder.module, c.type.dtype, library.large)
    m, n = c.sizes
    k = builder.select(swap_a, a.sizes[0], a.sizes[1])
    parts = [swap_a, swap_b, alpha, a.data, b.data, beta, c.data, m, n, k]
    builder.call(called, parts)


def emit_at(builder: Any, args: list[Any], library: Library) -> None:
    """c = A @ b, or c += A @ b; as `kernels.gemm_at`."""
    a, rows, columns, b, add, c = args
    m, n = c.sizes
    scattered = Scattered(builder.module, c.type.dtype, library.vector_bytes)
    made = scattered.declared() if library.large is None else scattered.function()
    builder.call(made, [a.data, rows.data, columns.data, b.data, add, c.data, m, n, b.sizes[0]])


def builtin(vector_bytes: int) -> Large:
    """Our own products, for a machine with such vectors."""

    def large(builder: Any, dtype: Any, args: Any) -> None:
        function = blocked.Gemm(builder.module, dtype, vector_bytes).function()
        builder.call(function, list(args))

    return large


def type_of(dtype: Any) -> Any:
    """That of a function (swap_a, swap_b, alpha, a, b, beta, c, m, n, k)."""
    number, flag = memory_type(dtype), ir.IntType(1)
    array = number.as_pointer()
    kinds = [flag, flag, number, array, array, number, array, INT, INT, INT]
    return ir.FunctionType(ir.VoidType(), kinds)


def function(context: Context, module: Any, dtype: Any, large: Large | None) -> Any:
    """gemm(swap_a, swap_b, alpha, a, b, beta, c, m, n, k), part of the module if it is told what is
    for large matrices."""
    made = declared(module, type_of(dtype), f"{NAME}.f{dtype.bits}")
    if large is None or made.blocks:
        return made
    made.linkage = "internal"
    made.attributes.add("noinline")
    made.args[6].add_attribute("noalias")  # c
    builder = ir.IRBuilder(made.append_basic_block())
    m, n, k = made.args[-3:]
    little = is_little(builder, m, n, k)
    with builder.if_else(gemv.is_thin(builder, m, n)) as (single, both):
        with single:
            gemv.emit(context, builder, dtype, made.args)
        with both, builder.if_else(little) as (few, many):
            with few:
                emit_little(context, builder, dtype, made.args)
            with many:
                large(builder, dtype, made.args)
    builder.ret_void()
    return made


def is_little(builder: Any, m: Any, n: Any, k: Any) -> Any:
    """Whether plain loops are best for matrices that are not thin."""
    # Of a column with a row, nothing is read twice.
    work = builder.mul(builder.mul(m, n), k)
    once = builder.icmp_signed("==", k, INT(1))
    some = builder.icmp_signed(">", k, INT(0))
    little = builder.or_(once, builder.icmp_signed("<=", work, INT(SMALL)))
    return builder.and_(some, little)


def emit_little(context: Context, builder: Any, dtype: Any, args: Any) -> None:
    gemv.write(context, builder, dtype, LOOPS, [*args], "bbnvvnviii")
