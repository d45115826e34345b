"""Matrix products by calls of `cblas_sgemm` and `cblas_dgemm` from a BLAS that the user names."""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from ..codegen import value_types as types
from ..codegen.gemm_library.gemm_dispatch import Large
from ..codegen.gemm_library.gemm_variants import leading_dimension
from ..codegen.llvm_utils import INT, POINTER, declare_function

INT32 = ir.IntType(32)
CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_TRANS = 101, 111, 112


MAX_SIZE = 2**31 - 1


def cblas_gemm(own: Large) -> Large:
    """Emitter of the CBLAS call.  Sizes are C `int`, the integer type of most BLAS builds; for
    larger ones `own` emits the call of the product of s2s."""

    def emit(builder: Any, dtype: Any, args: Any) -> None:
        m, n, k = args[-3:]
        fits = [builder.icmp_unsigned("<=", v, INT(MAX_SIZE)) for v in (m, n, k)]
        with builder.if_else(functools.reduce(builder.and_, fits), likely=True) as (
            then,
            otherwise,
        ):
            with then:
                _emit_call(builder, dtype, args)
            with otherwise:
                own(builder, dtype, args)

    return emit


def _emit_call(builder: Any, dtype: Any, args: Any) -> None:
    swap_a, swap_b, alpha, a, b, beta, c, m, n, k = args
    scalar_type = alpha.type
    param_types = [INT32] * 6 + [
        scalar_type,
        POINTER,
        INT32,
        POINTER,
        INT32,
        scalar_type,
        POINTER,
        INT32,
    ]
    name = "cblas_sgemm" if dtype == types.float32 else "cblas_dgemm"
    function_type = ir.FunctionType(ir.VoidType(), param_types)
    function = declare_function(builder.module, function_type, name)
    transposes = [
        builder.select(s, INT32(CBLAS_TRANS), INT32(CBLAS_NO_TRANS)) for s in (swap_a, swap_b)
    ]
    widths = [builder.select(swap_a, m, k), builder.select(swap_b, k, n), n]
    sizes = [builder.trunc(v, INT32) for v in (m, n, k)]
    lda, ldb, ldc = (builder.trunc(leading_dimension(builder, w), INT32) for w in widths)
    a, b, c = (builder.bitcast(p, POINTER) for p in (a, b, c))
    builder.call(
        function,
        [INT32(CBLAS_ROW_MAJOR), *transposes, *sizes, alpha, a, lda, b, ldb, beta, c, ldc],
    )
