"""Products of matrices by a BLAS that the user names: `cblas_sgemm` and `cblas_dgemm`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..codegen import value_types as types
from ..codegen.llvm_utils import POINTER, declared

SHORT = ir.IntType(32)
BY_ROWS, PLAIN, TRANSPOSED = 101, 111, 112


def large(builder: Any, dtype: Any, args: Any) -> None:
    """As `gemm_dispatch.Large`.  Sizes are those of C's int, as in most builds of BLAS."""
    swap_a, swap_b, alpha, a, b, beta, c, m, n, k = args
    number = alpha.type
    kinds = [SHORT] * 6 + [number, POINTER, SHORT, POINTER, SHORT, number, POINTER, SHORT]
    name = "cblas_sgemm" if dtype == types.float32 else "cblas_dgemm"
    kind = ir.FunctionType(ir.VoidType(), kinds)
    function = declared(builder.module, kind, name)
    orders = [builder.select(s, SHORT(TRANSPOSED), SHORT(PLAIN)) for s in (swap_a, swap_b)]
    widths = [builder.select(swap_a, m, k), builder.select(swap_b, k, n), n]
    sizes = [builder.trunc(v, SHORT) for v in (m, n, k)]
    a_width, b_width, c_width = (builder.trunc(w, SHORT) for w in widths)
    a, b, c = (builder.bitcast(p, POINTER) for p in (a, b, c))
    builder.call(
        function,
        [SHORT(BY_ROWS), *orders, *sizes, alpha, a, a_width, b, b_width, beta, c, c_width],
    )
