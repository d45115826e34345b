"""Dispatch by size: which sizes are small, and that all ways compute the product."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen import value_types as types
from s2s.codegen.gemm import gemm_call
from s2s.codegen.gemm_library.gemm_dispatch import (
    MAX_LOOP_PRODUCTS,
    dispatching,
    emit_small,
    is_small,
)
from s2s.codegen.llvm_utils import INT
from s2s.codegen.type_lowering import Context
from tests.s2s.codegen.machine_code import BIT, VOID, emitted, linked


def context() -> Context:
    return Context(lambda: pytest.fail("Numba is not needed"))


def test_which_sizes_are_small() -> None:
    run = emitted(BIT, [INT] * 3, is_small)
    for m, n, k in itertools.product((0, 2, 3, 8, 9, 1000), repeat=3):
        assert run(m, n, k) == (k > 0 and (k == 1 or m * n * k <= MAX_LOOP_PRODUCTS))
    assert run(1000, 1000, 1) and not run(1000, 1000, 0) and not run(8, 8, 9)


def compiled(define: Any, dtype: Any) -> Any:
    module = ir.Module()
    kind = gemm_call.type_of(dtype)
    made = ir.Function(module, kind, "product")
    define(made)
    return linked(module)("product", VOID, *kind.args)


def check(run: Any, dtype: Any, sizes: Any) -> None:
    rng = np.random.default_rng(0)
    for (m, n, k), swap_a, swap_b in itertools.product(sizes, (False, True), (False, True)):
        for alpha, beta in ((1.0, 0.0), (-0.5, 1.0), (2.0, -3.0)):
            a, b = (rng.normal(size=s).astype(dtype.name) for s in ((m, k), (k, n)))
            around = np.full(m * n + 8, np.nan if beta == 0 else 0.5, dtype.name)
            expected = alpha * (a @ b) + (beta * 0.5 if beta else 0.0)
            a, b = (np.ascontiguousarray(x.T) if s else x for x, s in ((a, swap_a), (b, swap_b)))
            c = around[4 : 4 + m * n]
            run(swap_a, swap_b, alpha, a.ctypes.data, b.ctypes.data, beta, c.ctypes.data, m, n, k)
            np.testing.assert_allclose(c.reshape(m, n), expected, rtol=1e-4, atol=1e-5)
            rest = np.concatenate([around[:4], around[4 + m * n :]])
            np.testing.assert_array_equal(rest, np.full(8, rest[0]))


@pytest.mark.parametrize("dtype", [types.float32, types.float64])
def test_loops(dtype) -> None:
    def define(made: Any) -> None:
        builder = ir.IRBuilder(made.append_basic_block())
        emit_small(context(), builder, dtype, made.args)
        builder.ret_void()

    check(compiled(define, dtype), dtype, [(1, 1, 1), (2, 3, 1), (3, 2, 4), (5, 7, 9), (0, 2, 3)])


def test_only_large_products_are_handed_on() -> None:
    seen: list[Any] = []

    def large(builder: Any, dtype: Any, args: Any) -> None:
        seen.append(dtype)
        zero = ir.Constant(args[6].type.pointee, 42.0)
        builder.store(zero, args[6])

    run = compiled(lambda made: dispatching(large)(context(), made, types.float64), types.float64)
    assert seen == [types.float64]
    check(
        run, types.float64, [(1, 40, 30), (40, 1, 30), (8, 8, 8), (50, 60, 1), (1, 3, 0), (1, 1, 0)]
    )
    for m, n, k in ((9, 8, 8), (30, 40, 50), (3, 4, 0)):
        a, b, c = np.ones((m, k)), np.ones((k, n)), np.zeros((m, n))
        run(False, False, 1.0, a.ctypes.data, b.ctypes.data, 0.0, c.ctypes.data, m, n, k)
        assert c[0, 0] == 42.0 and c.sum() == 42.0
