"""Indexed matrix products: all remainders and vector widths."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from s2s import kernels
from s2s.aot import object_file
from s2s.codegen import value_types
from s2s.codegen.gemm.blocked import MAX_DEPTH_BYTES
from s2s.codegen.gemm.indexed import Scattered

DTYPES = {"float32": value_types.float32, "float64": value_types.float64}
LONG = MAX_DEPTH_BYTES // 4 + 3
SIZES = [
    (12, 8, 5), (1, 1, 1), (13, 6, 25), (30, 16, 7), (7, 17, LONG), (90, 33, 40), (14, 3, LONG),
    (3, 40, 0), (0, 4, 3), (5, 0, 3),
]  # fmt: skip


@functools.cache
def compiled(dtype: str, vector_bytes: int) -> Any:
    """The compiled function, and the objects that own its code."""
    machine = object_file.find(None, None).machine
    module = ir.Module()
    module.triple = llvm.get_process_triple()
    function = Scattered(module, DTYPES[dtype], vector_bytes).function()
    function.linkage = ""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    p = ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(None, p, p, p, p, ctypes.c_bool, p, *[ctypes.c_int64] * 3)
    return prototype(engine.get_function_address(function.name)), engine


def product(dtype: str, width: int, add: bool, size: Any) -> tuple[Any, Any]:
    """The result of the function for some matrices, and the expected result."""
    m, n, k = size
    rng = np.random.default_rng(m + n + k)
    a = rng.normal(size=400).astype(dtype)
    rows, columns = (rng.integers(0, 200, size) for size in (m, k))
    # The memory around the results must not change, and that around `b` must not be read.
    b = rng.normal(size=(k, n)).astype(dtype)
    around = np.full(m * n + 64, 7.0, dtype)
    c = around[32 : 32 + m * n].reshape(m, n)
    c[...] = rng.normal(size=(m, n)) if add else np.nan
    expected = c.copy()
    kernels.gemm_at(a, rows, columns, b, add, expected)
    function, _ = compiled(dtype, width)
    places = (x.ctypes.data for x in (a, rows, columns, b))
    function(*places, add, c.ctypes.data, m, n, k)
    assert (around[:32] == 7).all() and (around[32 + m * n :] == 7).all()
    return c, expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("add", [False, True])
def test_equals_numpy(dtype, add) -> None:
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for size in SIZES:
        found, expected = product(dtype, 32, add, size)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_width_of_vectors_makes_no_difference(dtype) -> None:
    for size in SIZES:
        results = [product(dtype, w, True, size)[0] for w in (16, 32, 64)]
        for other in results[1:]:
            np.testing.assert_array_equal(results[0], other)
