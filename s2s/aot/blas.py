"""Matrix products by calls of `cblas_sgemm` and `cblas_dgemm` from a BLAS that the user names."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..codegen import value_types as types
from ..codegen.llvm_utils import POINTER, declare_function

INT32 = ir.IntType(32)
CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_TRANS = 101, 111, 112


def emit_cblas_gemm(builder: Any, dtype: Any, args: Any) -> None:
    """Emit the CBLAS call, with the signature of `gemm_dispatch.Large`.  Sizes are truncated to C
    `int`, the integer type of most BLAS builds."""
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
    leading_dims = [builder.select(swap_a, m, k), builder.select(swap_b, k, n), n]
    sizes = [builder.trunc(v, INT32) for v in (m, n, k)]
    lda, ldb, ldc = (builder.trunc(w, INT32) for w in leading_dims)
    a, b, c = (builder.bitcast(p, POINTER) for p in (a, b, c))
    builder.call(
        function,
        [INT32(CBLAS_ROW_MAJOR), *transposes, *sizes, alpha, a, lda, b, ldb, beta, c, ldc],
    )
