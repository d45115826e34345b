"""Calls of matrix products from kernels: sizes by transposition, and whose function is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen import value_types as types
from s2s.codegen.array_values import Buffer
from s2s.codegen.gemm import gemm_call
from s2s.codegen.gemm_library import gemm_dispatch
from s2s.codegen.llvm_utils import INT
from s2s.codegen.type_lowering import Context
from tests.s2s.codegen.machine_code import BIT, DOUBLE, MATRIX, VOID, emitted

POINTER = DOUBLE.as_pointer()


def no_numba() -> Any:
    raise AssertionError("Numba is not needed")


def own() -> gemm_call.Library:
    return gemm_call.Library(32, gemm_dispatch.dispatching(gemm_dispatch.builtin(32)))


@pytest.mark.parametrize("swap_a", [False, True])
@pytest.mark.parametrize("swap_b", [False, True])
def test_products(swap_a, swap_b) -> None:
    def write(builder: Any, a: Any, b: Any, c: Any, m: Any, n: Any, k: Any) -> None:
        buffers = [
            Buffer(MATRIX, a, [k, m] if swap_a else [m, k]),
            Buffer(MATRIX, b, [n, k] if swap_b else [k, n]),
            Buffer(MATRIX, c, [m, n]),
        ]
        args = [BIT(swap_a), BIT(swap_b), DOUBLE(2.0), *buffers[:2], DOUBLE(-1.0), buffers[2]]
        gemm_call.emit(Context(no_numba), builder, args, own())

    run = emitted(VOID, [POINTER] * 3 + [INT] * 3, write)
    rng = np.random.default_rng(0)
    for m, n, k in ((1, 1, 1), (3, 4, 5), (9, 20, 30), (1, 7, 3), (5, 1, 2), (4, 3, 0), (0, 3, 2)):
        a, b, c = (rng.normal(size=s) for s in ((m, k), (k, n), (m, n)))
        expected = 2.0 * a @ b - c
        a, b = (np.ascontiguousarray(x.T) if s else x for x, s in ((a, swap_a), (b, swap_b)))
        run(a.ctypes.data, b.ctypes.data, c.ctypes.data, m, n, k)
        np.testing.assert_allclose(c, expected, rtol=1e-12, atol=1e-12)


def test_functions_are_declared_or_defined_once() -> None:
    module = ir.Module()
    made = gemm_call.function(Context(no_numba), module, types.float64, None)
    assert made.is_declaration and made.name == "s2s.gemm.f64"
    assert gemm_call.function(Context(no_numba), module, types.float64, None) is made
    single = gemm_call.function(Context(no_numba), module, types.float32, own().define)
    assert single.blocks and single.linkage == "internal"
    assert "noalias" in single.args[6].attributes
    assert gemm_call.function(Context(no_numba), module, types.float32, own().define) is single


def test_types() -> None:
    kind = gemm_call.type_of(types.float32)
    assert len(kind.args) == 10 and kind.args[2] == ir.FloatType() and kind.args[-1] == INT
    assert (
        gemm_call.process_library().define is None
        and gemm_call.process_library().vector_bytes in (16, 32, 64)
    )
