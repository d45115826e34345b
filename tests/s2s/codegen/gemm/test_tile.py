"""Register tiles: strips, partial stores and permutations stay within their bounds."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen import value_types as types
from s2s.codegen.gemm.tile import Tiles
from s2s.codegen.llvm_utils import INT
from tests.s2s.codegen.machine_code import BIT, DOUBLE, VOID, emitted, linked

BYTES = 32
POINTER = DOUBLE.as_pointer()


def tiles(builder: Any) -> Tiles:
    return Tiles(builder.module, types.float64, BYTES)


@pytest.mark.parametrize("dtype, item", [(types.float32, 4), (types.float64, 8)])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_shapes(dtype, item, width) -> None:
    made = Tiles(ir.Module(), dtype, width)
    assert made.lanes * item == width and made.columns == 2 * made.lanes
    assert made.suffix == f"f{8 * item}" and made.vector.count == made.lanes


@pytest.mark.parametrize("step", [1, 3, 4])
def test_strips_cover_each_index_once(step) -> None:
    def write(builder: Any, place: Any, stop: Any) -> None:
        with tiles(builder)._strips(builder, stop, step) as (at, length):
            with tiles(builder)._plain_loop(builder, length) as i:
                there = builder.gep(place, [builder.add(at, i)])
                builder.store(builder.fadd(builder.load(there), DOUBLE(1.0)), there)

    run = emitted(VOID, [POINTER, INT], write)
    for stop in (0, 1, 2, 3, 4, 5, 11, 12):
        counts = np.zeros(16)
        run(counts.ctypes.data, stop)
        assert counts.tolist() == [1.0] * stop + [0.0] * (16 - stop)


@functools.cache
def storer(partial: bool) -> Any:
    """Stores the first rows and columns of a tile of 3 rows with the elements 1, 2, …"""

    def write(builder: Any, c: Any, down: Any, rows: Any, columns: Any, alpha: Any,
              fresh: Any) -> None:  # fmt: skip
        made = tiles(builder)
        sums = [
            [ir.Constant(made.vector, [100.0 * i + v * made.lanes + k for k in range(made.lanes)])
             for v in range(2)] for i in range(3)
        ]  # fmt: skip
        if partial:
            made._store_part(builder, sums, c, down, rows, columns, (alpha, fresh))
        else:
            made._store_columns(builder, sums, c, down, columns, (alpha, fresh))

    return emitted(VOID, [POINTER, INT, INT, INT, DOUBLE, BIT], write)


TILE = 100.0 * np.arange(3)[:, None] + np.arange(8)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("columns", range(9))
def test_nothing_beyond_the_columns_is_written(columns, fresh) -> None:
    for partial in (False, True) if columns < 8 else (True,):  # all columns are a full tile
        for rows in range(4) if partial else (3,):
            block = np.full((5, 11), np.nan if fresh else 7.0)
            c = block[1:4, 1:]
            expected = block.copy()
            part = -2.0 * TILE[:rows, :columns]
            goal = expected[1 : 1 + rows, 1 : 1 + columns]
            goal[...] = part if fresh else goal + part
            storer(partial)(c.ctypes.data, 11, rows, columns, -2.0, fresh)
            np.testing.assert_array_equal(block, expected)


def test_products_are_accumulated() -> None:
    def write(builder: Any, a: Any, b: Any, depth: Any, out: Any) -> None:
        made = tiles(builder)

        def product(x: Any, y: Any) -> Any:
            return [x, builder.gep(x, [INT(1)])], made._load_row(builder, y, 2)

        moving = [(a, INT(2)), (b, INT(made.columns))]
        sums = made._accumulate(builder, depth, moving, product, made._zeros(2, 2))
        for i, row in enumerate(sums):
            for v, value in enumerate(row):
                made._store(builder, value, builder.gep(out, [INT(8 * i)]), v)

    run = emitted(VOID, [POINTER, POINTER, INT, POINTER], write)
    rng = np.random.default_rng(0)
    for depth in (0, 1, 2, 7):
        a, b, out = (
            rng.normal(size=(depth, 2)),
            rng.normal(size=(depth, 8)),
            np.full((2, 8), np.nan),
        )
        run(a.ctypes.data, b.ctypes.data, depth, out.ctypes.data)
        np.testing.assert_allclose(out, a.T @ b, rtol=1e-13, atol=1e-14)


def test_elements_are_permuted() -> None:
    def write(builder: Any, place: Any) -> None:
        made = tiles(builder)
        row = made._load(builder, place, 0)
        made._store(builder, made._elements(builder, row, [3, 0, 2, 2]), place, 1)
        scaled = made._broadcast(builder, builder.load(place))
        fused = made._fused(builder, scaled, row, row)
        made._store(builder, fused, place, 2)

    x = np.arange(2.0, 14.0)
    emitted(VOID, [POINTER], write)(x.ctypes.data)
    assert x.tolist() == [2.0, 3.0, 4.0, 5.0, 5.0, 2.0, 4.0, 4.0, 6.0, 9.0, 12.0, 15.0]
    assert linked is not None
