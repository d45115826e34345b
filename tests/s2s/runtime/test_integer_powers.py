"""Powers with integer exponents, which LLVM calls: those of the C library."""

from __future__ import annotations

import ctypes
import math

import llvmlite.binding as llvm
import numpy as np
import pytest

from s2s.runtime import integer_powers


@pytest.mark.parametrize(
    "name, number", [("__powidf2", ctypes.c_double), ("__powisf2", ctypes.c_float)]
)
def test_powers(name, number) -> None:
    integer_powers.register_symbols()
    address = llvm.address_of_symbol(name)
    assert address
    run = ctypes.CFUNCTYPE(number, number, ctypes.c_int32)(address)
    dtype = np.float64 if number is ctypes.c_double else np.float32
    for x in (0.0, -0.0, 1.0, -1.5, 2.0, math.inf, -math.inf, math.nan, 1e30):
        for n in (0, 1, 2, 3, -1, -2, 7, 2**31 - 1, -(2**31)):
            with np.errstate(all="ignore"):
                expected = np.power(dtype(x), dtype(n))
            np.testing.assert_allclose(dtype(run(x, n)), expected, rtol=4 * np.finfo(dtype).eps)
