"""Decorators for the compiler: the function is unchanged in Python, and the hint is followed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.objects.compiler_hints import built_last, built_now, compiled_as, decided, looks_only


@pytest.mark.parametrize(
    "mark", [built_now, built_last("steps"), decided, looks_only, compiled_as(abs)]
)
def test_a_function_is_marked_and_returned(mark: Callable[..., Any]) -> None:
    def function(x: Any) -> Any:
        return x + 1

    assert mark(function) is function and function(1) == 2


def test_compiled_as() -> None:
    @compiled_as(lambda x: x * 10.0)
    def scaled(x: Any) -> Any:
        return x * 2.0

    assert scaled(3.0) == 6.0
    assert s2s.function(lambda x: scaled(x), backend="loops")(3.0) == 30.0
    assert s2s.grad(lambda x: scaled(x), backend="loops")(3.0) == 10.0


def test_looks_only() -> None:
    """The function runs at compile time, on arrays of the right shapes."""
    seen: list[Any] = []

    @looks_only
    def check(x: Any) -> None:
        seen.append((np.shape(x), x.dtype))
        if x.ndim > 1:
            raise ValueError("one axis")
        warnings.warn("looked", stacklevel=1)

    @s2s.function(backend="loops")
    def run(x: Any) -> Any:
        check(x)
        return np.sum(x)

    with pytest.warns(UserWarning, match="looked"):
        assert run(np.ones(3)) == 3.0
    count = len(seen)
    assert seen[0] == ((3,), np.float64) and run(np.ones(3)) == 3.0 and len(seen) == count
    with pytest.raises(ValueError, match="one axis"):
        run(np.ones((2, 2)))


@pytest.mark.parametrize("mark", [built_now, built_last("steps")])
def test_builds_run_in_python_once(mark: Any) -> None:
    class Thing:
        def __init__(self) -> None:
            self.steps, self.ready = 0, False

        @mark
        def build(self, size: int) -> None:
            if not self.ready:
                self.weight = s2s.Variable(np.full(size, 2.0), name="weight")
                self.ready = True

        def __call__(self, x: Any) -> Any:
            if not self.ready:
                self.build(x.shape[0])
            self.steps += 1
            return np.sum(x * self.weight)

    thing = Thing()
    run = s2s.function(lambda x: thing(x), backend="loops")
    assert run(np.ones(3)) == 6.0 and thing.weight.shape == (3,)
    weight = thing.weight
    assert run(np.ones(3)) == 6.0 and thing.weight is weight and thing.steps == 2


def test_decided() -> None:
    """The list of a property depends on objects only, so it is constant in compiled code."""

    class Thing:
        def __init__(self) -> None:
            self.parts = {"a": s2s.Variable(1.0), "b": s2s.Variable(2.0, trainable=False)}

        @property
        @decided
        def chosen(self) -> list[Any]:
            return [v for v in self.parts.values() if v.trainable]

    thing = Thing()
    run = s2s.function(lambda: [v * 1.0 for v in thing.chosen], backend="loops")
    assert run() == [1.0]
    thing.parts["b"].trainable = True
    assert run() == [1.0, 2.0]
