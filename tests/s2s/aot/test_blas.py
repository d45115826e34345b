"""Products by a BLAS that the user names: what it is asked for, and what it is not."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.aot import blas
from s2s.codegen import value_types as types
from s2s.codegen.gemm import gemm_call
from s2s.codegen.llvm_utils import INT
from tests.s2s.aot.programs import needs_compiler
from tests.s2s.codegen.machine_code import VOID, address, linked

pytestmark = needs_compiler

# The reference implementation refuses matrices whose leading dimension is less than their width,
# or less than 1.
SOURCE = """
#include <stdint.h>
int calls, wrong;
#define GEMM(name, T) \\
void name(int order, int ta, int tb, int m, int n, int k, T alpha, const T *a, int lda, \\
          const T *b, int ldb, T beta, T *c, int ldc) { \\
    calls++; \\
    int aw = ta == 111 ? k : m, bw = tb == 111 ? n : k; \\
    if (order != 101 || lda < (aw > 1 ? aw : 1) || ldb < (bw > 1 ? bw : 1) \\
        || ldc < (n > 1 ? n : 1) || m < 0 || n < 0 || k < 0) { wrong++; return; } \\
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { \\
        T t = 0; \\
        for (int p = 0; p < k; p++) \\
            t += (ta == 111 ? a[i * lda + p] : a[p * lda + i]) \\
               * (tb == 111 ? b[p * ldb + j] : b[j * ldb + p]); \\
        c[i * ldc + j] = alpha * t + (beta == 0 ? 0 : beta * c[i * ldc + j]); } }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("blas")
    (folder / "blas.c").write_text(SOURCE)
    out = folder / "libblas.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", out, folder / "blas.c"], check=True)
    return ctypes.CDLL(str(out))


def product(library: Any, dtype: Any, own: list[int]) -> Any:
    """The call of the library; where that is left to s2s, a number is added to `own`."""
    note = ctypes.CFUNCTYPE(None)(lambda: own.append(1))
    address_of_note = ctypes.cast(note, ctypes.c_void_p).value
    module = ir.Module()
    kind = gemm_call.type_of(dtype)
    made = ir.Function(module, kind, "product")
    builder: Any = ir.IRBuilder(made.append_basic_block())

    def count(builder: Any, dtype: Any, args: Any) -> None:
        target = ir.FunctionType(VOID, []).as_pointer()
        builder.call(builder.inttoptr(INT(address_of_note), target), [])

    blas.cblas_gemm(count)(builder, dtype, made.args)
    builder.ret_void()
    name = "cblas_sgemm" if dtype == types.float32 else "cblas_dgemm"
    given = {name: ctypes.cast(library[name], ctypes.c_void_p).value}
    function = linked(module, **given)("product", VOID, *kind.args)
    function.note = note
    return function


@pytest.mark.parametrize("dtype", [types.float32, types.float64])
@pytest.mark.parametrize("swaps", [(a, b) for a in (False, True) for b in (False, True)])
def test_products_of_all_shapes(library, dtype, swaps) -> None:
    own: list[int] = []
    run = product(library, dtype, own)
    rng = np.random.default_rng(0)
    calls = ctypes.c_int.in_dll(library, "calls")
    before = calls.value
    sizes = [(3, 4, 5), (1, 1, 1), (7, 2, 1), (3, 4, 0), (0, 4, 3), (3, 0, 2), (0, 0, 0), (1, 3, 0)]
    for m, n, k in sizes:
        for alpha, beta in ((1.0, 0.0), (-0.5, 2.0), (1.0, 1.0)):
            a, b, c = (rng.normal(size=s).astype(dtype.name) for s in ((m, k), (k, n), (m, n)))
            if beta == 0:
                c[...] = np.nan
            expected = alpha * (a @ b) + (beta * c if beta else 0)
            a, b = (np.ascontiguousarray(x.T) if s else x for x, s in zip((a, b), swaps))
            run(*swaps, alpha, address(a), address(b), beta, address(c), m, n, k)
            np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-6)
    assert calls.value == before + 3 * len(sizes) and own == []
    assert ctypes.c_int.in_dll(library, "wrong").value == 0


def test_sizes_beyond_int_are_left_to_the_own_product(library) -> None:
    """In 32 bits, 2**32 + 1 rows are one row."""
    own: list[int] = []
    run = product(library, types.float64, own)
    calls = ctypes.c_int.in_dll(library, "calls")
    before, c = calls.value, np.zeros(1)
    for m, n, k in ((2**32 + 1, 0, 1), (0, 2**31, 1), (0, 0, 2**31), (0, 0, 2**62)):
        run(False, False, 1.0, address(c), address(c), 0.0, address(c), m, n, k)
    assert len(own) == 4 and calls.value == before
    run(False, False, 1.0, address(c), address(c), 0.0, address(c), 0, 0, 2**31 - 1)
    assert len(own) == 4 and calls.value == before + 1
    assert Path(library._name).exists()
