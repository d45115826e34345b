"""Variants of the matrix product: the dispatch, the fallback, and the call of BLAS."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen import value_types as types
from s2s.codegen.gemm import gemm_call
from s2s.codegen.gemm.gemm_names import VARIANT_TABLE, VARIANTS
from s2s.codegen.gemm_library import gemm_variants
from s2s.codegen.gemm_library.gemm_variants import leading_dimension
from s2s.codegen.llvm_utils import INT
from s2s.runtime import jit_link
from tests.s2s.codegen.gemm_library.test_gemm_dispatch import check
from tests.s2s.codegen.machine_code import VOID, emitted, linked

DTYPES = pytest.mark.parametrize("dtype", [types.float32, types.float64])


@DTYPES
@pytest.mark.parametrize("kind", ["thin", "little", "blas"])
def test_ways(dtype, kind) -> None:
    module = ir.Module()
    made = gemm_variants.variant_function(module, "way", dtype, kind)
    assert "noalias" in made.args[6].attributes
    given = {jit_link.GEMM: jit_link.blas()} if kind == "blas" else {}
    run = linked(module, **given)("way", VOID, *gemm_call.type_of(dtype).args)
    sizes = {
        "thin": [(1, 9, 4), (9, 1, 4), (1, 1, 7), (1, 3, 0), (4, 1, 0)],
        "little": [(3, 4, 5), (2, 2, 1)],
        "blas": [(30, 20, 40), (3, 4, 5), (2, 3, 0), (0, 3, 2), (3, 0, 2)],
    }
    check(run, dtype, sizes[kind])


def test_widths_that_blas_takes() -> None:
    """A matrix without columns has a leading dimension of 1: the reference implementation returns
    at once for 0, and the result would be whatever was in memory."""
    run = emitted(INT, [INT], leading_dimension)
    assert [run(n) for n in (0, 1, 2, 2**40)] == [1, 1, 2, 2**40]


ARGUMENTS = [ctypes.c_int8] * 3 + [ctypes.c_int64] * 3 + [ctypes.c_void_p] * 2 + [
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_int64,
]  # fmt: skip


def test_blas_is_called_as_it_is_specified() -> None:
    told: list[Any] = []

    def blas(kind: int, ta: int, tb: int, m: int, n: int, k: int, *rest: Any) -> int:
        # ld >= max(1, rows), in column-major order
        _, _, lda, _, ldb, _, _, ldc = rest
        told.append(lda >= max(1, m if ta == ord("n") else k)
                    and ldb >= max(1, k if tb == ord("n") else n) and ldc >= max(1, m))  # fmt: skip
        return kind

    callback = ctypes.CFUNCTYPE(ctypes.c_int32, *ARGUMENTS)(blas)
    module = ir.Module()
    gemm_variants.variant_function(module, "way", types.float64, "blas")
    given = {jit_link.GEMM: ctypes.cast(callback, ctypes.c_void_p).value}
    run = linked(module, **given)("way", VOID, *gemm_call.type_of(types.float64).args)
    place = np.zeros(1).ctypes.data
    sizes = [(m, n, k) for m in (0, 2, 5) for n in (0, 3, 4) for k in (0, 1, 6)]
    for size in sizes:
        for swap_a in (False, True):
            for swap_b in (False, True):
                run(swap_a, swap_b, 1.0, place, place, 0.0, place, *size)
    assert len(told) == 4 * len(sizes) and all(told)


@pytest.mark.parametrize(
    "whose, large", [("", "blocked"), ("builtin", "blocked"), ("blas", "blas")]
)
def test_the_callback_is_told_the_way(whose, large) -> None:
    from s2s.codegen import llvm_passes

    module = ir.Module()
    gemm_variants.dispatch_function(module, "chooser", types.float64, whose)
    parsed = llvm_passes.parse_module(str(module))
    library = jit_link.link(llvm_passes.object_code(parsed), ("chooser", VARIANT_TABLE), {})
    kinds = gemm_call.type_of(types.float64).args
    from tests.s2s.codegen.machine_code import ctype_of

    run = ctypes.CFUNCTYPE(None, *map(ctype_of, kinds))(library["chooser"])
    cells = (ctypes.c_void_p * (len(VARIANTS) + 1)).from_address(library[VARIANT_TABLE])
    asked: list[str] = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_int64)(lambda i: asked.append(VARIANTS[i]))
    cells[len(VARIANTS)] = ctypes.cast(callback, ctypes.c_void_p)
    expected = {(1, 9, 4): "thin", (9, 1, 4): "thin", (3, 4, 5): "little", (20, 30, 40): large,
                (2, 3, 0): large, (0, 3, 4): "little"}  # fmt: skip
    if not whose and gemm_variants.blocked.vector_bytes_of(gemm_variants.features()) < 32:
        expected = {k: v.replace("blocked", "blas") for k, v in expected.items()}
    for size, kind in expected.items():
        asked.clear()
        check(run, types.float64, [size])  # plain loops, since nothing was found
        assert {*asked} == {kind}
