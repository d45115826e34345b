"""Imports inside functions, and names that `del` forgets: what is raised, and what is looked at
again in later calls."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import s2s


@pytest.fixture
def tools() -> Iterator[Any]:
    module = types.ModuleType("tools_of_a_test")
    module.factor = 3.0  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def test_what_is_imported_is_read_at_each_call(tools: Any) -> None:
    @s2s.grad(backend="loops")
    def scaled(x: float) -> float:
        import tools_of_a_test  # pyright: ignore[reportMissingImports]
        from tools_of_a_test import factor  # pyright: ignore[reportMissingImports]

        return x * x * factor + tools_of_a_test.factor * x

    assert scaled(1.0) == 9.0
    tools.factor = 5.0
    assert scaled(1.0) == 15.0


def test_a_module_that_is_not_there() -> None:
    @s2s.function(backend="loops")
    def wants(x: float) -> float:
        import no_such_module  # pyright: ignore[reportMissingImports]

        return no_such_module.f(x)

    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        wants(1.0)


def test_a_name_that_a_module_does_not_have() -> None:
    @s2s.function(backend="loops")
    def wants(x: float) -> float:
        from math import no_such_function  # pyright: ignore

        return no_such_function(x)

    with pytest.raises(ImportError, match="no_such_function"):
        wants(1.0)


def test_a_name_that_was_forgotten() -> None:
    @s2s.function(backend="loops")
    def reads(x: float) -> float:
        y = x
        del y
        return y  # noqa: F821  # pyright: ignore[reportUnboundVariable]

    with pytest.raises(UnboundLocalError, match="y"):
        reads(1.0)


@pytest.mark.parametrize("flag", [True, False])
def test_a_name_that_was_forgotten_on_one_path(flag: bool) -> None:
    @s2s.grad(backend="loops")
    def reads(x: float, forget: bool) -> float:
        y = x * x
        if forget:
            del y
        return y + x

    if flag:
        with pytest.raises(UnboundLocalError, match="y"):
            reads(1.0, flag)
    else:
        assert reads(1.0, flag) == 3.0


def test_a_name_forgotten_before_it_was_bound() -> None:
    @s2s.function(backend="loops")
    def forgets(x: float) -> float:
        if x > 0.0:
            y = x
        del y
        return x

    assert forgets(1.0) == 1.0
    with pytest.raises(UnboundLocalError, match="y"):
        forgets(-1.0)


def test_a_tape_is_forgotten() -> None:
    x = s2s.Variable(3.0)

    @s2s.function(backend="loops")
    def twice() -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            y = x * x
            z = y * y
        first, second = tape.gradient(z, x), tape.gradient(y, x)
        del tape
        return first, second

    assert [float(g) for g in twice()] == [108.0, 6.0]


def _loops(f: Any) -> Any:
    return s2s.function(f, backend="loops")


def test_del_of_parts_is_as_in_python() -> None:
    def f(x: float) -> Any:
        d, items = {"a": x, "b": 2.0 * x, "c": 3.0 * x}, [x, 2.0 * x, 3.0 * x, 4.0 * x]
        k = 0
        del d["b"], (items[k], items[-1])
        if x > 1.0:
            del items[0]
        return d["a"] * len(d) + items[0] * len(items)

    assert (_loops(f)(0.5), _loops(f)(1.5)) == (f(0.5), f(1.5))


class _Slots:
    def __init__(self, x: float) -> None:
        self.values = [x, x]

    def __delitem__(self, k: int) -> None:
        self.values[k] = 0.0

    def pop(self, k: int) -> None:
        raise AssertionError


def test_del_calls_delitem() -> None:
    def f(x: float) -> float:
        slots = _Slots(x)
        del slots[1]
        return slots.values[0] + 2.0 * slots.values[1]

    assert _loops(f)(1.5) == f(1.5)


def test_del_of_a_slice_and_of_an_attribute() -> None:
    def f(x: float) -> float:
        slots = _Slots(x)
        items = [x, 2.0 * x, 3.0 * x]
        del items[:2], slots.values
        return items[0] + len(items) + (0.0 if hasattr(slots, "values") else 1.0)

    assert _loops(f)(1.5) == f(1.5) == 6.5


def test_del_of_what_is_not_there() -> None:
    def key(x: float) -> float:
        d = {"a": x}
        del d["b"]
        return x

    def index(x: float) -> float:
        items = [x]
        del items[1]
        return x

    with pytest.raises(KeyError):
        _loops(key)(1.0)
    with pytest.raises(IndexError):
        _loops(index)(1.0)


def _element(x: Any) -> Any:
    row = x + np.zeros(3)
    del row[0]
    return row


def _key_from_outside(x: Any, d: Any) -> Any:
    del d["a"]
    return x


@pytest.mark.parametrize(
    ("f", "args", "says"),
    [
        (_element, (), "`del` of a part of an array"),
        (_key_from_outside, ({"a": 1.0},), "a dict from outside"),
    ],
)
def test_del_that_is_refused(f: Any, args: Any, says: str) -> None:
    with pytest.raises(s2s.UnsupportedError, match=says):
        _loops(f)(1.0, *args)
