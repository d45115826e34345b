"""The size query: bytes of arrays without overflow, and limits of sizes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.aot.size_query import (
    MAX_AXIS_SIZE,
    emit_array_bytes,
    emit_size_query,
    emit_size_query_function,
    is_invalid_size,
)
from s2s.aot.workspace_plan import HEADER_BYTES, MAX_BYTES, plan, workspace_bytes
from s2s.codegen import value_types as types
from s2s.codegen.llvm_utils import INT
from s2s.codegen.partition.outline_nests import Plan
from s2s.codegen.type_lowering import Context
from tests.s2s.aot.programs import lowered_function
from tests.s2s.codegen.machine_code import BIT, DOUBLE, POINTER, address, emitted

EXTREMES = (-(2**63), -1, 0, 1, 3, 2**20, 2**31, 2**47, 2**48, 2**61, 2**62, 2**63 - 1)


@pytest.mark.parametrize("item", [1, 4, 16])
def test_bytes_are_clamped_where_they_overflow(item) -> None:
    run = emitted(INT, [INT] * 3, lambda b, *sizes: emit_array_bytes(b, item, list(sizes)))
    for sizes in itertools.product(EXTREMES, (0, 1, 5, 2**40, 2**63 - 1), (1, 2**30, -7)):
        found = run(*sizes)
        total = item * np.prod([max(n, 0) for n in sizes], dtype=object)
        assert found == min(total, MAX_BYTES) or (
            0 in [max(n, 0) for n in sizes] and found == MAX_BYTES
        )
        assert 0 <= found <= MAX_BYTES


def test_limits_of_sizes() -> None:
    run = emitted(BIT, [INT], is_invalid_size)
    assert not any(map(run, (0, 1, MAX_AXIS_SIZE - 1)))
    assert all(map(run, (-1, -(2**63), MAX_AXIS_SIZE, 2**63 - 1)))


def query(text: str, kinds: Any, conditions: list[str], **options: Any) -> tuple[Any, Any]:
    """The query over sizes of vectors and integers, and the plan."""
    function, known = lowered_function(text, *kinds)
    memory = plan(function, known, Plan(function, known).private, **options)
    context = Context(lambda: pytest.fail("Numba is not workspace_bytes"))

    def write(builder: Any, places: Any, *given: Any) -> Any:
        made = emit_size_query_function(context, builder.module, "sizes", memory, known, conditions)
        arguments: list[Any] = []
        for kind, value in zip(kinds, given):
            if isinstance(kind, types.Array):
                arguments.append(ir.Constant(DOUBLE.as_pointer(), None))
            arguments.append(value)
        return emit_size_query(builder, made, builder.bitcast(places, INT.as_pointer()), arguments)

    return emitted(INT, [POINTER, *[INT] * len(kinds)], write), memory


VECTOR = types.Array(types.float64, 1, "C")
TEXT = """
    def f(x, n):
        a = np.empty((x.shape[0], 2), np.float64)
        b = np.empty((n,), np.float32)
        a[0, 0] = b[0]
        return (a[0, 0],)
"""


def test_the_sum_is_that_of_the_plan() -> None:
    run, memory = query(TEXT, (VECTOR, types.int64), [])
    places = np.full(4, -5)
    for x, n in itertools.product((0, 1, 7, 1000), (-3, 0, 1, 999)):
        sizes = {"a": [x, 2], "b": [n]}
        flat = [k for group, _ in memory.groups() for s in group for k in sizes[s.name]]
        assert run(None, x, n) == run(address(places), x, n) == workspace_bytes(memory, flat)
        bytes_ = {"a": 16 * x, "b": 4 * max(n, 0)}
        expected = [-(-bytes_[g[0].name] // 64) * 64 for g, _ in memory.groups()]
        assert places.tolist() == [*expected, -5, -5]


def test_no_sum_is_negative_or_small_by_overflow() -> None:
    run, _ = query(TEXT, (VECTOR, types.int64), [])
    for x, n in ((2**60, 1), (1, 2**62), (2**61 - 1, 2**63 - 1), (2**59, 2**62)):
        assert run(None, x, n) >= MAX_BYTES


def test_conditions_on_sizes() -> None:
    conditions = ["x.shape[0] == n + 1", "n >= 2"]
    run, _ = query(TEXT, (VECTOR, types.int64), conditions)
    for x, n in itertools.product(range(6), range(6)):
        assert (run(None, x, n) != -1) == (x == n + 1 and n >= 2)


def test_growth_counts_if_trips_are_limited() -> None:
    text = """
        def f(x, n):
            a = np.empty((0,), np.float64)
            a = rt.reserve(a, 0, n)
            return (a[0],)
    """
    run, memory = query(text, (VECTOR, types.int64), [], trips=100)
    assert run(None, 3, 4) == workspace_bytes(memory, [0, 4]) > HEADER_BYTES + 4 * 8 * 100 * 4
    assert run(None, 3, 2**62) >= MAX_BYTES and run(None, 3, -1) == workspace_bytes(memory, [0, -1])
