"""Imports inside functions, and names that `del` forgets: what is raised, and what is looked at
again in later calls."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

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
