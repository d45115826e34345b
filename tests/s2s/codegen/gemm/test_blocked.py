"""Blocked matrix products: all transpositions, remainders and vector widths."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from s2s.aot import object_file
from s2s.codegen import value_types as kinds
from s2s.codegen.gemm.blocked import MAX_DEPTH_BYTES, Gemm

DTYPES = {"float32": kinds.float32, "float64": kinds.float64}
SIZES = [
    (6, 16, 8), (1, 1, 1), (7, 17, 5), (13, 33, MAX_DEPTH_BYTES // 4 + 3), (70, 10, 40), (3, 40, 0),
    (12, 64, 1), (20, 96, 33), (31, 80, 3 * MAX_DEPTH_BYTES // 4), (41, 48, 200), (25, 512, 34),
]  # fmt: skip

FACTORS = [(1.0, 0.0), (1.0, 1.0), (-0.5, 2.0), (1.5, 0.0), (-0.7, 1.0)]


@functools.cache
def compiled(dtype: str, vector_bytes: int) -> Any:
    """The compiled function, and the objects that own its code."""
    machine = object_file.find(None, None).machine
    module = ir.Module()
    module.triple = llvm.get_process_triple()
    function = Gemm(module, DTYPES[dtype], vector_bytes).function()
    function.linkage = ""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    number = np.ctypeslib.as_ctypes_type(np.dtype(dtype))
    pointer = ctypes.c_void_p
    kinds = [ctypes.c_bool, ctypes.c_bool, number, pointer, pointer, number, pointer]
    prototype = ctypes.CFUNCTYPE(None, *kinds, *[ctypes.c_int64] * 3)
    return prototype(engine.get_function_address(function.name)), engine


def product(
    dtype: str, width: int, swaps: tuple[bool, bool], alpha: float, beta: float, size: Any
) -> tuple[Any, Any]:
    """The result of the function for some matrices, and the expected result."""
    m, n, k = size
    rng = np.random.default_rng(m + n + k)
    a, b, c = (rng.normal(size=s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
    if beta == 0:
        c[...] = np.nan  # must not be read
    expected = alpha * (a.astype(np.float64) @ b) + (beta * c if beta else 0.0)
    a, b = (np.ascontiguousarray(x.T) if s else x for x, s in zip((a, b), swaps))
    function, _ = compiled(dtype, width)
    function(*swaps, alpha, a.ctypes.data, b.ctypes.data, beta, c.ctypes.data, m, n, k)
    return c, expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("swaps", [(a, b) for a in (False, True) for b in (False, True)])
def test_equals_numpy(dtype, swaps) -> None:
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for size in SIZES:
        for alpha, beta in FACTORS:
            found, expected = product(dtype, 32, swaps, alpha, beta, size)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_width_of_vectors_makes_no_difference(dtype) -> None:
    for size in SIZES:
        for alpha, beta in FACTORS:
            results = [product(dtype, w, (False, True), alpha, beta, size)[0] for w in (16, 32, 64)]
            for other in results[1:]:
                np.testing.assert_array_equal(results[0], other)
