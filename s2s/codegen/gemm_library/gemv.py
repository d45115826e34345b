"""Products of matrices of which one is a single row or column.

Each element of the matrix is used once, so that nothing is gained by packing it; tiles of a
column are mostly padding.  Four rows at a time are read along memory.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from .. import value_types as types
from ..array_values import Buffer
from ..llvm_utils import INT
from ..statements import Body, Failures
from ..type_inference import Types
from ..type_lowering import Context, memory_type

# In the language of lowered text.  The m numbers of `c` are those of a matrix with a vector of k:
# the rows of the matrix either lie along the vector, or are multiplied by its elements and added.
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


def is_thin(builder: Any, m: Any, n: Any) -> Any:
    """Whether there is a single row or column."""
    return builder.or_(*(builder.icmp_signed("==", size, INT(1)) for size in (m, n)))


def emit(context: Context, builder: Any, dtype: Any, args: Any) -> None:
    """c = alpha * a @ b + beta * c, the arguments being those of `gemm.function`."""
    swap_a, swap_b, alpha, a, b, beta, c, m, n, k = args
    column = builder.icmp_signed("==", n, INT(1))
    size = builder.select(column, m, n)
    # A matrix that is a vector itself lies along the other, unless that is a number.
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
    write(context, builder, dtype, VECTOR, given, "bnvvnvii")


def write(
    context: Context,
    builder: Any,
    dtype: Any,
    text: str,
    values: list[Any],
    kinds: str,
) -> None:
    """Lowered text in the current block, of booleans, numbers, vectors and integers; its last
    argument is a zero.  There shall be no more of its loops than it says: each is compiled before
    the first product of a machine."""
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    letters = {
        "b": types.boolean,
        "n": dtype,
        "v": types.Array(dtype, 1, "C"),
        "i": types.intp,
    }
    spelled = [letters[kind] for kind in kinds + "n"]
    known = Types(function, {}, tuple(spelled))
    body = Body(context, builder, known, Failures())
    body.brief = True
    zero = ir.Constant(memory_type(dtype), 0)
    for name, kind, value in zip(known.names, spelled, [*values, zero]):
        if isinstance(kind, types.Array):
            value = Buffer(kind, value, [INT(0)])
        body.parameter(name, value)
    for stmt in function.body:
        body.stmt(stmt)
