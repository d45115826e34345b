"""Reduction modulo pi / 2 with wide integers: its table, its packing, and its vector variants."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen import value_types as types
from s2s.codegen.elementary import large_argument_reduction as reduction
from s2s.codegen.elementary.vector_ops import FloatBuilder, FloatValue
from tests.s2s.codegen.elementary.kits import BITS, dtype, scalar
from tests.s2s.codegen.machine_code import DOUBLE, INT, VOID, emitted


def test_the_table_is_two_over_pi() -> None:
    with mpmath.workprec(reduction.TABLE_BITS + 64):
        exact = int(mpmath.floor(mpmath.mpf(2) / mpmath.pi * mpmath.mpf(2) ** reduction.TABLE_BITS))
    assert reduction.TWO_OVER_PI == exact
    # The last bits used for the largest exponent lie in the table.
    assert reduction.TABLE_BITS >= 1023 - 52 + reduction.WINDOW_BITS - 2


def reduced(kit: Any, size: Any, part: int) -> Any:
    r, k = reduction.unpack_reduction(kit, reduction.reduce_large(kit, size))
    return r if part == 0 else FloatValue(kit, kit.builder.sitofp(k, kit.float))


@pytest.mark.parametrize("bits", BITS)
def test_the_rest_and_the_quadrant(bits) -> None:
    r, k = (scalar(lambda kit, x, p=p: reduced(kit, x, p), bits) for p in range(2))
    limit = reduction.limit(FloatBuilder(None, types.float64 if bits == 64 else types.float32))
    most = float(np.finfo(dtype(bits)).max)
    points = [np.nextafter(dtype(bits)(limit), dtype(bits)(np.inf)), 3.3 * limit, 1e20, 1e30, most]
    points += [6381956970095103.0 * 2.0**797] if bits == 64 else []
    for x in map(dtype(bits), points):
        with mpmath.workdps(400):
            turns = mpmath.mpf(float(x)) / (mpmath.pi / 2)
            whole = mpmath.nint(turns)
            rest = (turns - whole) * (mpmath.pi / 2)
            assert k(x) == int(whole) % 4
            error = abs(mpmath.mpf(float(r(x))) / rest - 1)
        assert error < float(np.finfo(dtype(bits)).eps)


@pytest.mark.parametrize("bits", BITS)
def test_small_arguments_are_returned_as_they_are(bits) -> None:
    run = scalar(reduction.reduce_large, bits)
    limit = reduction.limit(FloatBuilder(None, types.float64 if bits == 64 else types.float32))
    for x in (0.0, 1.5, limit):
        assert run(x) == dtype(bits)(x)


@pytest.mark.parametrize("width", [2, 4, 8])
def test_vector_variants_do_the_same_for_each_element(width) -> None:
    def write(builder: Any, place: Any) -> None:
        kit = FloatBuilder(builder, types.float64)
        reduction.reduce_large(kit, kit.number(1.0))
        vector = ir.VectorType(DOUBLE, width)
        goal = builder.bitcast(place, vector.as_pointer())
        function = builder.module.globals[f"s2s.turned.double.{width}"]
        builder.store(builder.call(function, [builder.load(goal, align=8)]), goal, align=8)

    run = emitted(VOID, [INT.as_pointer()], write)
    one = scalar(reduction.reduce_large, 64)
    values = np.array([1.0, 1e20, 2.0**45, 3e300, 0.0, 1e17, 5.0, 1e40])[:width]
    for x in (values, values[::-1].copy(), np.ones(width)):
        found = x.copy()
        run(found.ctypes.data)
        np.testing.assert_array_equal(found, [one(v) for v in x])
    assert ctypes.sizeof(ctypes.c_double) == 8


def test_the_vectoriser_knows_the_variants() -> None:
    from s2s.codegen import llvm_passes

    module = ir.Module()
    kind = ir.FunctionType(DOUBLE, [DOUBLE])
    made = ir.Function(module, kind, "f")
    builder = ir.IRBuilder(made.append_basic_block())
    kit = FloatBuilder(builder, types.float64)
    builder.ret(reduction.reduce_large(kit, FloatValue(kit, made.args[0])).value)
    parsed = llvm_passes.parse_module(str(module))
    assert isinstance(parsed, llvm.ModuleRef)
    for width in (2, 4, 8):
        assert f"_ZGV_LLVM_N{width}v_s2s.turned.double" in str(parsed)
        assert parsed.get_function(f"s2s.turned.double.{width}").linkage == llvm.Linkage.weak_odr
