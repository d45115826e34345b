"""Kernels as intrinsics of Numba: arguments, tables, results, errors, and checks before all."""

# ruff: noqa: E402

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from s2s.backends.build_kernel import build
from s2s.codegen import value_types as types
from s2s.codegen.numba_bridge import array_table, numba_intrinsic
from s2s.codegen.numba_bridge.numba_entry import Entry
from s2s.errors import Overlap, SizeGuardFailed
from s2s.transforms.frontend.pytree import describe
from tests.s2s.codegen.machine_code import module_text

TEXT = module_text(
    """
    def f(x, y, n, seed, out):
        for i in range(x.shape[0]):
            y[i] = y[i] + x[i] * n
            out[i] = seed * y[i]
        if n > 100:
            raise ValueError("large")
        return (y[0], n)
    """
).replace("x[i] * n", "x[i] * np.float64(n)")
# x.shape[0] == y.shape[0] and n >= 0
SIZES = (("==", (0, ((1, ((0, 0),)),)), (0, ((1, ((1, 0),)),))),
         (">=", (0, ((1, ((2, None),)),)), (0, ())))  # fmt: skip


def entry(**changes: Any) -> Entry:
    plain: dict[str, Any] = {
        "parameters": 3, "results": 3, "arrays": {0: (1, "float64")}, "tabled": {},
        "seed": np.float64(2.0), "buffers": ((1, 0),), "written": (1,), "relations": SIZES,
    }  # fmt: skip
    return Entry(**{**plain, **changes})


@pytest.fixture(scope="module")
def plain() -> Any:
    vector = numba.types.Array(numba.types.float64, 1, "C")
    return build(TEXT, "f", (vector, vector, numba.types.int64), entry())


def expected(x: Any, y: Any, n: int) -> Any:
    y = y + x * n
    return y, (y[0], 2.0 * y, n)


def test_results_and_buffers(plain) -> None:
    x, y = np.arange(1.0, 5.0), np.ones(4)
    written, (first, out, n) = expected(x, y, 3)
    found = plain(x, y, 3)
    assert found[0] == first and found[2] == n
    np.testing.assert_array_equal(found[1], out)
    np.testing.assert_array_equal(y, written)


def test_errors_of_the_program(plain) -> None:
    for _ in range(50):
        with pytest.raises(ValueError, match="large"):
            plain(np.ones(3), np.ones(3), 101)


def test_checks_come_before_all_else(plain) -> None:
    y = np.ones(4)
    for x, n in ((np.ones(3), 1), (np.ones(5), 1), (np.ones(4), -1), (np.ones(0), 5)):
        with pytest.raises(SizeGuardFailed):
            plain(x, y, n)
    block = np.ones(8)
    for a, b in ((block[:4], block[2:6]), (block[2:6], block[:4]), (block, block)):
        with pytest.raises(Overlap):
            plain(a, b, 1)
    assert (y == 1.0).all() and (block == 1.0).all()


def test_buffers_of_the_caller() -> None:
    vector = numba.types.Array(numba.types.float64, 1, "C")
    kernel = build(TEXT, "f", (vector, vector, numba.types.int64, vector), entry(into=True))
    x, y, out = np.arange(1.0, 5.0), np.ones(4), np.full(4, np.nan)
    written, (first, right, n) = expected(x, y, 3)
    assert kernel(x, y, 3, out) == (first, n)
    np.testing.assert_array_equal(out, right)
    np.testing.assert_array_equal(y, written)
    for other in (np.empty(3), np.empty(5), np.empty(0)):
        with pytest.raises(SizeGuardFailed):
            kernel(x, y, 3, other)
    np.testing.assert_array_equal(y, written)


@pytest.fixture(scope="module")
def tabled() -> tuple[Any, Any, list[Any]]:
    specs = [describe(np.zeros(3)), describe(np.zeros(3))]
    made = entry(tabled={0: specs[0], 1: specs[1]})
    words = numba.types.Array(numba.types.int64, 1, "C")
    return (
        build(TEXT, "f", (numba.types.int64, words), made),
        array_table.table_builder(specs),
        specs,
    )


def test_arrays_in_a_table(tabled) -> None:
    kernel, table, _ = tabled
    x, y = np.arange(1.0, 5.0), np.ones(4)
    written, (first, out, n) = expected(x, y, 3)
    found = kernel(3, table([x, y]))
    assert (found[0], found[2]) == (first, n)
    np.testing.assert_array_equal(found[1], out)
    np.testing.assert_array_equal(y, written)


def test_what_is_no_table_is_refused(tabled) -> None:
    """Its words would be taken for addresses."""
    kernel, table, specs = tabled
    x, y = np.ones(4), np.ones(4)
    good = table([x, y])
    own = array_table.layout_hash(specs)
    others = [
        np.zeros(0, np.int64), np.zeros(len(good), np.int64), good.copy(), good[:-1], good[1:],
        np.concatenate([good, good]), np.full(len(good), own),
        array_table.table_builder([specs[0], describe(np.zeros((3, 1)))])([x, np.ones((4, 1))]),
    ]  # fmt: skip
    for other in others:
        with pytest.raises(SizeGuardFailed):
            kernel(3, other)
    with pytest.raises(SizeGuardFailed):
        kernel(3, table([x, np.ones(5)]))
    with pytest.raises(Overlap):
        kernel(3, table([y, y.view()]))
    assert (x == 1.0).all() and (y == 1.0).all()


def test_types_of_parameters() -> None:
    made = entry(tabled={1: describe(np.zeros((2, 2), np.float32))})
    kinds = numba_intrinsic.kinds_of(
        made, (numba.types.Array(numba.types.int8, 1, "C"), numba.types.literal(3))
    )
    assert kinds == (
        types.Array(types.NUMBERS["int8"], 1, "C"), types.Array(types.float32, 2, "C"), types.int64,
    )  # fmt: skip
    assert isinstance(ast.parse(TEXT), ast.Module)
