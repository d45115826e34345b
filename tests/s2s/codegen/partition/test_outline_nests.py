"""Outlined nests: which loops may stand alone, and that equal ones share a function."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from s2s.codegen import value_types as types
from s2s.codegen.kernel_module import optimised_module
from s2s.codegen.partition import outline_nests
from s2s.codegen.partition.outline_nests import Plan, bound_in, is_parallel, mentions, spelling
from tests.s2s.aot.programs import lowered_function
from tests.s2s.codegen.machine_code import VECTOR, KernelError, kernel, kernel_source

TEXT = """
def f(x, y, n):
    a = np.empty((n,), np.float64)
    b = np.empty((n,), np.float64)
    v = b.reshape((n, 1))
    c = a
    for i in range(n):
        y[i] = x[i] * 2.0
    for j in range(n):
        b[j] = x[j] * 2.0
    for i in range(n):
        y[i] = x[i] * 3.0
    for i in rt.prange(n):
        y[i] = x[i]
    for i in range(n):
        t = np.empty((n,), np.float64)
        t[0] = y[i]
    for i in range(n):
        w = np.empty((3,), np.float64)
        w[0] = y[i]
        if w[0] > 5.0:
            raise ValueError("large")
    for i in range(n):
        if x[i] > 5.0:
            raise rt.Failure(0, i)
    return (a[0], c[0], v[0, 0])
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Plan]:
    monkeypatch.setattr(outline_nests, "LARGE", 3)
    function, known = lowered_function(TEXT, VECTOR, VECTOR, types.int64)
    return function, known, Plan(function, known)


def test_which_loops_stand_alone(made: Any) -> None:
    """Not one that runs on threads, makes arrays of any size, or tells values in errors."""
    function, _, plan = made
    loops = [s for s in function.body if isinstance(s, ast.For)]
    alone = [plan.stands_alone(s) for s in loops]
    assert alone == [True, True, True, False, False, True, False]
    assert [is_parallel(s) for s in loops].index(True) == 3
    assert plan.large and not plan.huge


def test_a_short_kernel_is_not_split() -> None:
    function, known = lowered_function(TEXT, VECTOR, VECTOR, types.int64)
    plan = Plan(function, known)
    assert not plan.large
    assert not any(plan.stands_alone(s) for s in function.body if isinstance(s, ast.For))


def test_memory_that_has_one_name(made: Any) -> None:
    _, _, plan = made
    assert plan.private == {"t", "w"} and plan.given == {"x", "y"}
    assert plan.constant == {"x"}
    assert plan.memory["v"] == plan.memory["b"] and "a" not in plan.memory
    assert plan.unaliased(["x", "b"]) == {"x", "b"} and plan.unaliased(["b", "v"]) == set()
    assert plan.unaliased(["a", "c", "w"]) == {"w"}


def test_spelling_is_the_text_without_names(made: Any) -> None:
    function, known, _ = made
    first, second, third = [s for s in function.body if isinstance(s, ast.For)][:3]
    texts, orders = [], []
    for loop in (first, second, third):
        order: dict[str, int] = {}
        texts.append(spelling(loop, known, order))
        orders.append([*order])
    assert texts[0] == texts[1] != texts[2]
    assert orders[0] == ["i", "n", "y", "x"] and orders[1] == ["j", "n", "b", "x"]
    assert bound_in(first) == {"i"} and mentions(first)["x"] == 1


KERNEL = """
def f(x, y, z, n):
    s = 0.0
    k = np.int64(0)
    for i in range(n):
        y[i] = x[i] * 2.0
        if x[i] > 5.0:
            raise ValueError("large")
    for i in range(n):
        z[i] = x[i] * 2.0
        if x[i] > 5.0:
            raise ValueError("large")
    for i in range(n):
        s = s + z[i]
        k = i
    for i in range(n):
        s = s * 0.5 + y[i]
    return (s, k)
"""


def test_equal_nests_are_one_function(monkeypatch) -> None:
    monkeypatch.setattr(outline_nests, "LARGE", 3)
    from s2s.codegen import kernel_module

    monkeypatch.setattr(kernel_module.llvm_passes, "run", lambda *args, **options: None)
    source = kernel_source(KERNEL, VECTOR, VECTOR, VECTOR, types.int64)
    final = optimised_module(source, [1, 2])
    nests = [f.name for f in final.functions if f.name.startswith("s2s.nest")]
    assert len(nests) == 3


def test_nests_leave_numbers_behind_and_fail(monkeypatch) -> None:
    monkeypatch.setattr(outline_nests, "LARGE", 3)
    run = kernel(KERNEL, VECTOR, VECTOR, VECTOR, types.int64, written=[1, 2])
    x, y, z = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    s = 12.0
    for value in (2.0, 4.0, 6.0):
        s = s * 0.5 + value
    assert run(x, y, z, 3) == [s, 2]
    assert run(x, y, z, 0) == [0.0, 0]
    with pytest.raises(KernelError) as raised:
        run(np.array([1.0, 6.0]), np.zeros(2), np.zeros(2), 2)
    assert raised.value.args == (ValueError, ("large",))
