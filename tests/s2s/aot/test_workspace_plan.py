"""The workspace plan: which arrays share memory, and how many bytes are needed."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from s2s import kernels
from s2s.aot.workspace_plan import (
    HEADER_BYTES,
    MAX_BYTES,
    alias_sets,
    align_up,
    growth_bytes_per_element,
    plan,
    workspace_bytes,
)
from s2s.codegen import value_types as types
from s2s.codegen.partition.outline_nests import Plan
from tests.s2s.aot.programs import lowered_function

VECTOR = types.Array(types.float64, 1, "C")


def planned(text: str, *kinds: Any, **options: Any) -> Any:
    function, known = lowered_function(text, *kinds)
    return plan(function, known, Plan(function, known).private, **options)


def sizes_of(memory: Any, *args: Any) -> list[int]:
    module = ast.fix_missing_locations(ast.Module([memory.sizes], []))
    space: dict[str, Any] = {"np": np, "rt": kernels}
    exec(compile(module, "<sizes>", "exec"), space)
    return [int(n) for n in space["sizes"](*args)]


def names(memory: Any) -> list[list[str]]:
    return [[s.name for s in group] for group in memory.slots]


def test_arrays_that_live_at_different_times_share_a_slot() -> None:
    memory = planned(
        """
        def f(x, out):
            a = np.empty((x.shape[0],), np.float64)
            a[0] = x[0]
            b = np.empty((x.shape[0],), np.float64)
            b[0] = a[0]
            c = np.empty((x.shape[0],), np.float64)
            c[0] = b[0]
            out[0] = c[0]
            return ()
        """,
        VECTOR,
        VECTOR,
    )
    assert names(memory) == [["a", "c"], ["b"]]
    assert not memory.heap and not memory.counted and not memory.pools
    x = np.zeros(10)
    sizes = sizes_of(memory, x, x)
    assert sizes == [10, 10, 10]
    assert workspace_bytes(memory, sizes) == HEADER_BYTES + 2 * align_up(80)


def test_an_alias_keeps_its_array_alive() -> None:
    text = """
        def f(x):
            a = np.empty((4,), np.float64)
            v = a.reshape((2, 2))
            b = np.empty((4,), np.float64)
            b[0] = x[0]
            v[0, 0] = b[0]
            return (v[0, 0],)
        """
    function, known = lowered_function(text, VECTOR)
    family = alias_sets(function, known)
    assert family["a"] == family["v"] != family["b"]
    assert sorted(names(planned(text, VECTOR))) == [["a"], ["b"]]


def test_arrays_of_a_loop_that_take_turns_are_a_pool() -> None:
    memory = planned(
        """
        def f(x, n):
            u = x
            for i in range(n):
                v = np.empty((x.shape[0],), np.float64)
                v[0] = u[0] + 1.0
                u = v
            return (u[0],)
        """,
        VECTOR,
        types.int64,
    )
    (pool,) = memory.pools
    assert pool.count == len({"x", "u", "v"}) + 1  # all names, and the one being made
    assert memory.counted == {"x", "u", "v"} and not memory.heap
    assert workspace_bytes(memory, [100]) == HEADER_BYTES + 4 * (align_up(800) + HEADER_BYTES)


def test_sizes_known_only_later_need_the_heap() -> None:
    memory = planned(
        """
        def f(x):
            n = np.int64(x[0])
            a = np.empty((n,), np.float64)
            b = np.empty((3,), np.float64)
            return (a[0] + b[0],)
        """,
        VECTOR,
    )
    assert memory.heap and names(memory) == [["b"]] and memory.counted == {"a"}


def test_sizes_on_entry_follow_definitions_but_no_division_that_may_not_happen() -> None:
    memory = planned(
        """
        def f(x, n):
            k = x.shape[0] * 2 + n
            a = np.empty((k, 3), np.float64)
            m = a.shape[0] - 1
            b = np.empty((m if m > 0 else 0,), np.float64)
            if n > 0:
                q = x.shape[0] // n
                c = np.empty((q,), np.float64)
                b[0] = c[0]
            return (a[0, 0] + b[0],)
        """,
        VECTOR,
        types.int64,
    )
    assert memory.heap  # c
    assert sorted(sizes_of(memory, np.zeros(5), 0)) == sorted([10, 3, 9])
    assert sorted(sizes_of(memory, np.zeros(0), -7)) == sorted([-7, 3, 0])


def test_negative_sizes_count_as_none_and_large_ones_are_clamped() -> None:
    memory = planned(
        "def f(n, m):\n    a = np.empty((n, m), np.float64)\n    return (a[0, 0],)",
        types.int64,
        types.int64,
    )
    assert workspace_bytes(memory, [-3, 5]) == HEADER_BYTES
    assert workspace_bytes(memory, [2**40, 2**40]) == HEADER_BYTES + MAX_BYTES
    assert workspace_bytes(memory, [1, 1]) == HEADER_BYTES + 64


def test_growth_is_bounded_by_the_limit_of_trips() -> None:
    text = """
        def f(x, n):
            a = np.empty((0,), np.float64)
            used = np.int64(0)
            while True:
                if used > n:
                    break
                a = rt.reserve(a, used, 1)
                a[used] = x[0]
                used = used + 1
            return (a[0],)
        """
    without = planned(text, VECTOR, types.int64)
    assert without.heap and without.growth == [] and "a" in without.counted
    memory = planned(text, VECTOR, types.int64, trips=1000)
    assert len(memory.growth) == 1
    assert workspace_bytes(memory, sizes_of(memory, np.zeros(1), 5)) >= HEADER_BYTES + 4 * 8 * 1000


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 2**40 + 1])
def test_sizes_are_rounded_up(n) -> None:
    assert align_up(n) % 64 == 0 and 0 <= align_up(n) - n < 64
    assert growth_bytes_per_element(8, n) >= 4 * 8 * n


def test_calls_need_a_heap() -> None:
    memory = planned("def f(x):\n    return (x[0],)", VECTOR, calls=True)
    assert memory.heap and memory.groups() == []
