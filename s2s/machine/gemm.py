"""Products of matrices: plain loops where they are small, our own or BLAS where they are large.

Kernels of this process call functions that all of them share (`s2s.products`); code that is
compiled ahead of time has its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from . import blocked
from . import kinds as types
from .buffers import Buffer
from .context import Context, memory_type
from .optimise import features
from .scattered import Scattered
from .writing import INT, declared

# Below this number of multiplications a plain loop is faster than calling BLAS.
SMALL = 512
NAME = "s2s.gemm"

# Writes what multiplies large matrices: (builder, dtype, arguments of the function around it).
Large = Callable[[Any, Any, Any], None]

# In the language of lowered text, with the matrices as vectors and steps down and to the right.
# Rows of `a` are multiplied with columns of `b` where both lie in one piece, else rows of `b` are
# added to rows of `c`; a single column of `c` may just as well be a row.
LOOPS = """
def small(swap_a, swap_b, alpha, a, b, beta, c, m, n, k):
    if (m == 1 or not swap_a) and (n == 1 or swap_b) and k > 1:
        for i in range(m):
            for j in range(n):
                t = zero
                for p in range(k):
                    t = t + a[i * k + p] * b[j * k + p]
                c[i * n + j] = alpha * t + c[i * n + j] * beta if beta != zero else alpha * t
    elif n == 1:
        for j in range(m):
            c[j] = c[j] * beta if beta != zero else zero
        for p in range(k):
            x = alpha * b[p]
            for j in range(m):
                c[j] += x * a[p * m + j]
    else:
        down = 1 if swap_a else k
        right = m if swap_a else 1
        b_down = 1 if swap_b else n
        b_right = k if swap_b else 1
        for i in range(m):
            for j in range(n):
                c[i * n + j] = c[i * n + j] * beta if beta != zero else zero
            for p in range(k):
                x = alpha * a[i * down + p * right]
                for j in range(n):
                    c[i * n + j] += x * b[p * b_down + j * b_right]
"""


@dataclass(frozen=True)
class Library:
    """What multiplies matrices on a machine with vectors of so many bytes.  What is for large ones
    becomes part of a module; without it, the functions are those of `s2s.products`."""

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


def function(context: Context, module: Any, dtype: Any, large: Large | None) -> Any:
    """gemm(swap_a, swap_b, alpha, a, b, beta, c, m, n, k), part of the module if it is told what is
    for large matrices."""
    number, flag = memory_type(dtype), ir.IntType(1)
    array = number.as_pointer()
    kinds = [flag, flag, number, array, array, number, array, INT, INT, INT]
    made = declared(module, ir.FunctionType(ir.VoidType(), kinds), f"{NAME}.f{dtype.bits}")
    if large is None or made.blocks:
        return made
    made.linkage = "internal"
    made.attributes.add("noinline")
    made.args[6].add_attribute("noalias")  # c
    builder = ir.IRBuilder(made.append_basic_block())
    m, n, k = made.args[-3:]
    work = builder.mul(builder.mul(m, n), k)
    with builder.if_else(builder.icmp_signed("<=", work, INT(SMALL))) as (few, many):
        with few:
            _loops(context, builder, dtype, made.args)
        with many:
            large(builder, dtype, made.args)
    builder.ret_void()
    return made


def _loops(context: Context, builder: Any, dtype: Any, args: Any) -> None:
    from .emit import Body, Failures
    from .infer import Types

    (text,) = ast.parse(LOOPS).body
    assert isinstance(text, ast.FunctionDef)
    vector = types.Array(dtype, 1, "C")
    kinds = [types.boolean] * 2 + [dtype, vector, vector, dtype, vector] + [types.intp] * 3
    text.args.args.append(ast.arg("zero"))
    known = Types(text, {}, (*kinds, dtype))
    body = Body(context, builder, known, Failures())
    body.brief = True
    values = [*args, ir.Constant(memory_type(dtype), 0)]
    for name, kind, value in zip(known.names, (*kinds, dtype), values):
        if isinstance(kind, types.Array):
            value = Buffer(kind, value, [INT(0)])
        body.parameter(name, value)
    for stmt in text.body:
        body.stmt(stmt)
