"""Call stubs of native kernels: bytecode where it fits, else the Python stub, then new bytecode."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.backends.native import native_call
from s2s.backends.native.call_vm import is_vm_layout_known
from s2s.backends.native.native_call import INITIAL_REPLAN_THRESHOLD, PlannedCall
from s2s.errors import MISS

if not is_vm_layout_known():
    pytest.skip("objects are laid out in another way", allow_module_level=True)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A call whose bytecode is a function, and the plans that were asked for."""
    monkeypatch.setattr(native_call.call_vm, "runner", lambda plan: plan[0])
    asked: list[int] = []

    def call(text: Any, plans: list[Any]) -> tuple[PlannedCall, list[int]]:
        rest = iter(plans)

        def make_plan() -> Any:
            asked.append(1)
            return next(rest, None)

        entry: Any = SimpleNamespace()
        return PlannedCall(entry, text, make_plan, (lambda *args: ("plan", *args),)), asked

    return call


def test_the_bytecode_is_loaded_at_the_first_call(made) -> None:
    call, _ = made(lambda *args: MISS, [])
    first = call.run
    assert call.run(1, 2) == ("plan", 1, 2) and call.run != first


def test_new_bytecode_after_repeated_misses(made) -> None:
    call, asked = made(lambda *args: "text", [(lambda *args: "new",), None])
    call.run(1)
    for k in range(INITIAL_REPLAN_THRESHOLD):
        assert asked == [] and call.retry(1) == "text", k
    assert asked == [1] and call.run(1) == "new"
    for _ in range(2 * INITIAL_REPLAN_THRESHOLD - 1):
        call.retry(1)
    assert asked == [1]  # the threshold has doubled
    call.retry(1)
    assert asked == [1, 1] and call.run(1) == "new"  # there was no new one


def test_calls_that_neither_accepts_do_not_count(made) -> None:
    call, asked = made(lambda *args: MISS, [(lambda *args: "new",)])
    for _ in range(5 * INITIAL_REPLAN_THRESHOLD):
        assert call.retry(1) is MISS
    assert asked == []


def test_scalars_are_boxed_by_the_kernel() -> None:
    def both(x, n):
        return x * 2.0, n + 1, x > 0.0

    function = s2s.function(both, backend="native")
    for _ in range(3):
        found = function(1.5, 3)
        assert found == (3.0, 4, True)
        assert isinstance(found[0], float) and isinstance(found[1], int)
    assert type(found[2]) in (bool, np.bool_)


def test_lists_of_arrays_are_compared_as_a_whole() -> None:
    def total(ws, x):
        for w in ws:
            x = x * w
        return np.sum(x)

    gradient = s2s.grad(total, wrt="ws", backend="native")
    ws, x = [np.full(3, 2.0), np.full(3, 3.0)], np.ones(3)
    for _ in range(4):
        found = gradient(ws, x)
        np.testing.assert_array_equal(found[0], ws[1])
    ws[1] = np.full(3, 5.0)
    np.testing.assert_array_equal(gradient(ws, x)[0], np.full(3, 5.0))
    ws.append(np.ones(3))
    assert len(gradient(ws, x)) == 3
