"""Matrix products with a vector, or of small matrices only: all transpositions."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from s2s.codegen.gemm_library import gemm_library

SIZES = [
    (1, 37, 30), (41, 1, 30), (43, 31, 1), (1, 1, 601), (1, 600, 1), (603, 1, 1), (1, 130, 4),
    (1, 3, 2), (5, 1, 3), (1, 1, 1), (4, 1, 0), (1, 3, 0),
    (2, 3, 4), (7, 5, 6), (3, 2, 1), (3, 2, 0),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("swaps", [(a, b) for a in (False, True) for b in (False, True)])
@pytest.mark.parametrize("size", SIZES)
def test_equals_numpy(dtype, swaps, size) -> None:
    number, pointer = np.ctypeslib.as_ctypes_type(np.dtype(dtype)), ctypes.c_void_p
    kinds = [ctypes.c_bool, ctypes.c_bool, number, pointer, pointer, number, pointer]
    prototype = ctypes.CFUNCTYPE(None, *kinds, *[ctypes.c_int64] * 3)
    gemm = prototype(gemm_library.address(f"s2s.gemm.f{dtype[-2:]}"))
    m, n, k = size
    rng = np.random.default_rng(m + n + k)
    for alpha, beta in ((1.0, 0.0), (1.0, 1.0), (-0.5, 2.0)):
        a, b, c = (rng.normal(size=s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
        if beta == 0:
            c[...] = np.nan  # must not be read
        expected = alpha * (a.astype(np.float64) @ b) + (beta * c if beta else 0.0)
        a, b = (np.ascontiguousarray(x.T) if s else x for x, s in zip((a, b), swaps))
        gemm(*swaps, alpha, a.ctypes.data, b.ctypes.data, beta, c.ctypes.data, m, n, k)
        tolerance = 1e-4 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(c, expected, rtol=tolerance, atol=tolerance)
