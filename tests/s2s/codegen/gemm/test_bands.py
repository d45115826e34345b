"""Bands of tiles: full and partial ones multiply, and write nothing beside their part of c."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen import value_types as types
from s2s.codegen.gemm.bands import Bands
from tests.s2s.codegen.machine_code import VOID, linked


class OwnBands(Bands):
    name = "tested"


@functools.cache
def function(kind: str, height: int) -> Any:
    module = ir.Module()
    made = OwnBands(module, types.float64, 32)
    build = {
        "whole": lambda: made._full_tiles(height),
        "copying": lambda: made._full_tiles(height, copying=True),
        "edges": lambda: made._partial_tiles(height),
    }[kind]
    target = build()
    return linked(module)(target.name, VOID, *(a.type for a in target.args))


def matrices(rows: int, depth: int, columns: int, fresh: bool) -> Any:
    rng = np.random.default_rng(rows + depth + columns)
    a, b = rng.normal(size=(rows, depth + 3)), rng.normal(size=(depth, columns + 2))
    # A load of a vector may reach beyond the columns, within the last row.
    b = np.concatenate([b.ravel(), np.zeros(16)])
    around = np.full((rows + 2, columns + 5), np.nan if fresh else 0.5)
    return a, b, around


def check(around: Any, before: Any, rows: int, columns: int, product: Any, fresh: bool) -> None:
    expected = before.copy()
    goal = expected[1 : 1 + rows, 2 : 2 + columns]
    goal[...] = product if fresh else goal + product
    np.testing.assert_allclose(around, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("height", [4, 6])
@pytest.mark.parametrize("fresh", [True, False])
def test_full_tiles(height, fresh) -> None:
    for kind in ("whole", "copying"):
        for strips, across, depth in ((1, 8, 1), (2, 16, 5), (3, 8, 17), (1, 24, 3)):
            rows = strips * height
            a, b, around = matrices(rows, depth, across, fresh)
            before, c = around.copy(), around[1:, 2:]
            panel, nothing = np.full(depth * across + 8, 9.0), np.full(8, -0.0)
            function(kind, height)(
                depth, a.ctypes.data, a.shape[1], 1, b.ctypes.data, across + 2, 1, c.ctypes.data,
                around.shape[1], rows, across, 1.5, fresh, nothing.ctypes.data, panel.ctypes.data,
            )  # fmt: skip
            matrix = b[: depth * (across + 2)].reshape(depth, across + 2)[:, :across]
            check(around, before, rows, across, 1.5 * a[:, :depth] @ matrix, fresh)
            assert (panel[depth * across :] == 9.0).all()
            if kind == "copying":  # the columns of each tile, one tile after the other
                packed = panel[: depth * across].reshape(across // 8, depth, 8)
                np.testing.assert_array_equal(packed, matrix.reshape(depth, -1, 8).swapaxes(0, 1))


@pytest.mark.parametrize("height", [4, 6])
@pytest.mark.parametrize("fresh", [True, False])
def test_partial_tiles(height, fresh) -> None:
    for rows in (1, height - 1, height, 2 * height):
        for columns in (1, 3, 4, 5, 7, *([8] if rows < height else [])):
            for depth in (0, 1, 6):
                a, b, around = matrices(rows, depth, columns, fresh)
                before, c = around.copy(), around[1:, 2:]
                function("edges", height)(
                    depth, a.ctypes.data, a.shape[1], 1, b.ctypes.data, columns + 2, c.ctypes.data,
                    around.shape[1], rows, columns, -1.0, fresh,
                )  # fmt: skip
                matrix = b[: depth * (columns + 2)].reshape(depth, columns + 2)[:, :columns]
                check(around, before, rows, columns, -(a[:, :depth] @ matrix), fresh)
