"""Products of matrices: BLAS or our own, or plain loops where they are small.

`S2S_GEMM=builtin` chooses our own, which is what code that is compiled ahead of time uses; the two
agree in rounding then.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ..compile import gemm_choice
from . import blocked
from . import kinds as types
from .buffers import Buffer
from .context import Context, memory_type
from .optimise import features
from .scattered import Scattered
from .writing import INT, POINTER, declared, new_function

# Below this number of multiplications a plain loop is faster than calling BLAS.
SMALL = 512
CHAR = ir.IntType(8)

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
    """What multiplies matrices: `large` ones, and others on a machine with such vectors."""

    large: Large
    vector_bytes: int


def usual() -> Library:
    """For this machine."""
    vector_bytes = blocked.width(features())
    own = gemm_choice() == "builtin"
    return Library(builtin(vector_bytes) if own else _blas, vector_bytes)


def emit(context: Context, builder: Any, args: list[Any], library: Library) -> None:
    """c = alpha * a @ b + beta * c; as `kernels.gemm`."""
    swap_a, swap_b, alpha, a, b, beta, c = args
    function = _function(context, builder.module, c.type.dtype, library.large)
    m, n = c.sizes
    k = builder.select(swap_a, a.sizes[0], a.sizes[1])
    parts = [swap_a, swap_b, alpha, a.data, b.data, beta, c.data, m, n, k]
    builder.call(function, parts)


def emit_at(builder: Any, args: list[Any], library: Library) -> None:
    """c = A @ b, or c += A @ b; as `kernels.gemm_at`."""
    a, rows, columns, b, add, c = args
    m, n = c.sizes
    made = Scattered(builder.module, c.type.dtype, library.vector_bytes).function()
    builder.call(made, [a.data, rows.data, columns.data, b.data, add, c.data, m, n, b.sizes[0]])


def builtin(vector_bytes: int) -> Large:
    """Our own products, for a machine with such vectors."""

    def large(builder: Any, dtype: Any, args: Any) -> None:
        function = blocked.Gemm(builder.module, dtype, vector_bytes).function()
        builder.call(function, list(args))

    return large


def _function(context: Context, module: Any, dtype: Any, large: Large) -> Any:
    name = f"s2s.gemm.{dtype}"
    function = module.globals.get(name)
    if function is not None:
        return function
    number, flag = memory_type(dtype), ir.IntType(1)
    array = number.as_pointer()
    kinds = [flag, flag, number, array, array, number, array, INT, INT, INT]
    function = new_function(module, ir.FunctionType(ir.VoidType(), kinds), name, "noinline")
    function.args[6].add_attribute("noalias")  # c
    builder = ir.IRBuilder(function.append_basic_block())
    m, n, k = function.args[-3:]
    work = builder.mul(builder.mul(m, n), k)
    with builder.if_else(builder.icmp_signed("<=", work, INT(SMALL))) as (few, many):
        with few:
            _loops(context, builder, dtype, function.args)
        with many:
            large(builder, dtype, function.args)
    builder.ret_void()
    return function


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


def _blas(builder: Any, dtype: Any, args: Any) -> None:
    """BLAS counts columns first, so it is told to compute c.T = b.T @ a.T."""
    swap_a, swap_b, alpha, a, b, beta, c, m, n, k = args
    kinds = [CHAR] * 3 + [INT] * 3 + [POINTER, POINTER, INT, POINTER, INT, POINTER, POINTER, INT]
    type_ = ir.FunctionType(ir.IntType(32), kinds)
    blas = declared(builder.module, type_, "numba_xxgemm")
    letter = {
        flag: builder.select(flag, CHAR(ord("t")), CHAR(ord("n"))) for flag in (swap_a, swap_b)
    }
    places = []
    for number in (alpha, beta):
        place = builder.alloca(number.type)
        builder.store(number, place)
        places.append(builder.bitcast(place, POINTER))
    a, b, c = (builder.bitcast(p, POINTER) for p in (a, b, c))
    b_width = builder.select(swap_b, k, n)
    a_width = builder.select(swap_a, m, k)
    kind = CHAR(ord("s" if dtype == types.float32 else "d"))
    builder.call(
        blas,
        [kind, letter[swap_b], letter[swap_a], n, m, k,
         places[0], b, b_width, a, a_width, places[1], c, n],
    )  # fmt: skip
