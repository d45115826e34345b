"""Matrix-vector products: one of the matrices is a single row or column.

Each element of the matrix is used once, so packing gains nothing, and tiles of a column would be
mostly padding.  Four rows at a time are read contiguously.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from .. import value_types as types
from ..array_values import Buffer
from ..llvm_utils import INT
from ..statements import Body, ErrorCodes
from ..type_inference import Types
from ..type_lowering import Context, memory_type

# Lowered source.  `c` has m elements, the product of a matrix with a vector of k elements.  If
# `along`, the rows of the matrix have length k and dot products are computed; else the rows have
# length m and multiples of them are added up.
VECTOR = """
def vector(along, alpha, a, x, beta, c, m, k, zero):
    for j in range(m):
        c[j] = c[j] * beta if beta != zero else zero
    if along:
        rest = m - m % 4
        for i in range(0, rest, 4):
            t_0 = zero
            t_1 = zero
            t_2 = zero
            t_3 = zero
            for p in range(k):
                t_0 = t_0 + a[i * k + p] * x[p]
                t_1 = t_1 + a[(i + 1) * k + p] * x[p]
                t_2 = t_2 + a[(i + 2) * k + p] * x[p]
                t_3 = t_3 + a[(i + 3) * k + p] * x[p]
            c[i] += alpha * t_0
            c[i + 1] += alpha * t_1
            c[i + 2] += alpha * t_2
            c[i + 3] += alpha * t_3
        for i in range(rest, m):
            t = zero
            for p in range(k):
                t = t + a[i * k + p] * x[p]
            c[i] += alpha * t
    else:
        rest = k - k % 4
        for p in range(0, rest, 4):
            x_0 = alpha * x[p]
            x_1 = alpha * x[p + 1]
            x_2 = alpha * x[p + 2]
            x_3 = alpha * x[p + 3]
            for j in range(m):
                c[j] = c[j] + x_0 * a[p * m + j] + x_1 * a[(p + 1) * m + j] \\
                    + x_2 * a[(p + 2) * m + j] + x_3 * a[(p + 3) * m + j]
        for p in range(rest, k):
            x_4 = alpha * x[p]
            for j in range(m):
                c[j] += x_4 * a[p * m + j]
"""


def is_vector(builder: Any, m: Any, n: Any) -> Any:
    """Emit the test whether the result has a single row or column."""
    return builder.or_(*(builder.icmp_signed("==", size, INT(1)) for size in (m, n)))


def emit(context: Context, builder: Any, dtype: Any, args: Any) -> None:
    """Emit c = alpha * a @ b + beta * c; the arguments are those of `gemm_call.function`."""
    swap_a, swap_b, alpha, a, b, beta, c, m, n, k = args
    column = builder.icmp_signed("==", n, INT(1))
    size = builder.select(column, m, n)
    # If both are vectors, a dot product is computed, unless k is 1.
    along = builder.select(column, builder.not_(swap_a), swap_b)
    along = builder.or_(along, builder.icmp_signed("==", size, INT(1)))
    along = builder.and_(along, builder.icmp_signed(">", k, INT(1)))
    given = [
        along,
        alpha,
        builder.select(column, a, b),
        builder.select(column, b, a),
        beta,
        c,
        size,
        k,
    ]
    emit_source(context, builder, dtype, VECTOR, given, "bnvvnvii")


def emit_source(
    context: Context,
    builder: Any,
    dtype: Any,
    text: str,
    values: list[Any],
    kinds: str,
) -> None:
    """Emit lowered source in the current block.  `kinds` has a letter for each argument: boolean
    "b", scalar "n", vector "v" or integer "i"; the last argument, a zero, is appended.  Loops are
    not unrolled or interleaved (`brief`): all copies would be compiled before the first product on
    a machine."""
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    letters = {
        "b": types.boolean,
        "n": dtype,
        "v": types.Array(dtype, 1, "C"),
        "i": types.intp,
    }
    types_ = [letters[kind] for kind in kinds + "n"]
    known = Types(function, {}, tuple(types_))
    body = Body(context, builder, known, ErrorCodes())
    body.few_iterations = True
    zero = ir.Constant(memory_type(dtype), 0)
    for name, kind, value in zip(known.names, types_, [*values, zero]):
        if isinstance(kind, types.Array):
            value = Buffer(kind, value, [INT(0)])
        body.parameter(name, value)
    for stmt in function.body:
        body.stmt(stmt)
