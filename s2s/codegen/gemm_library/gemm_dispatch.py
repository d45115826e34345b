"""The body of a gemm function that dispatches by size: loops for small matrices, a blocked product
or BLAS for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..gemm import blocked
from ..gemm.gemm_call import Define
from ..llvm_utils import INT
from ..type_lowering import Context
from . import gemv

# Up to this number of multiplications, plain loops are faster than a call of BLAS.
MAX_LOOP_PRODUCTS = 512

# Emits the call for large matrices: (builder, dtype, arguments of the enclosing function).
Large = Callable[[Any, Any, Any], None]

# Lowered source.  Matrices are passed as vectors and indexed with row and column strides.  If rows
# of `a` and columns of `b` are contiguous, their dot products are computed; else multiples of rows
# of `b` are added to rows of `c`.  k is at least 1.
LOOPS_SOURCE = """
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


def builtin(vector_bytes: int) -> Large:
    """Emitter of the call of the blocked product, for a target with vectors of `vector_bytes`."""

    def large(builder: Any, dtype: Any, args: Any) -> None:
        function = blocked.Gemm(builder.module, dtype, vector_bytes).function()
        builder.call(function, list(args))

    return large


def dispatching(large: Large) -> Define:
    """Emitter of the body that dispatches by size; `large` emits the call for large matrices."""

    def define(context: Context, made: Any, dtype: Any) -> None:
        builder = ir.IRBuilder(made.append_basic_block())
        m, n, k = made.args[-3:]
        little = is_small(builder, m, n, k)
        with builder.if_else(gemv.is_vector(builder, m, n)) as (single, both):
            with single:
                gemv.emit(context, builder, dtype, made.args)
            with both, builder.if_else(little) as (few, many):
                with few:
                    emit_small(context, builder, dtype, made.args)
                with many:
                    large(builder, dtype, made.args)
        builder.ret_void()

    return define


def is_small(builder: Any, m: Any, n: Any, k: Any) -> Any:
    """Emit the test whether plain loops are fastest, for matrices that are not thin."""
    # An outer product (k = 1) reads nothing twice, so blocking gains nothing.
    work = builder.mul(builder.mul(m, n), k)
    once = builder.icmp_signed("==", k, INT(1))
    some = builder.icmp_signed(">", k, INT(0))
    little = builder.or_(once, builder.icmp_signed("<=", work, INT(MAX_LOOP_PRODUCTS)))
    return builder.and_(some, little)


def emit_small(context: Context, builder: Any, dtype: Any, args: Any) -> None:
    """Emit the loops for small matrices."""
    gemv.emit_source(context, builder, dtype, LOOPS_SOURCE, [*args], "bbnvvnviii")
