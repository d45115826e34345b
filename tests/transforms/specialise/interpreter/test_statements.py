"""Decorators of inner functions, and `global` in them."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import s2s

FACTOR = 3.0


def _loops(f: Any) -> Any:
    return s2s.function(f, backend="loops")


def _doubled(f: Any) -> Any:
    @functools.wraps(f)
    def made(*args: Any) -> Any:
        return 2.0 * f(*args)

    return made


class _Times:
    def __init__(self, f: Any) -> None:
        self.f = f


def test_decorators_are_calls_from_the_last_to_the_first() -> None:
    def f(x: float) -> float:
        def plus(k: float) -> Any:
            return lambda g: lambda v: g(v) + k

        @_doubled
        @plus(x)
        @functools.partial(lambda a, g: lambda v: a * g(v), 3.0)
        def square(v: float) -> float:
            return v * v

        return square(x)

    assert _loops(f)(1.5) == f(1.5)


def test_a_recursive_function_calls_what_its_decorator_made() -> None:
    def f(x: float) -> float:
        @_doubled
        def down(k: int) -> Any:
            return x if k == 0 else down(k - 1) + 1.0

        return down(3)

    assert _loops(f)(1.5) == f(1.5)


def test_other_decorators_are_refused() -> None:
    def static(x: float) -> Any:
        @staticmethod
        def g(v: float) -> float:
            return v

        return g(x)

    def cls(x: float) -> Any:
        @_Times
        def g(v: float) -> float:
            return v

        return g.f(x)

    for f in (static, cls):
        with pytest.raises(s2s.UnsupportedError, match="as the decorator of an inner function"):
            _loops(f)(1.0)


def test_a_global_is_read_past_functions_that_do_not_bind_its_name() -> None:
    def f(x: float) -> float:
        def other(FACTOR: float) -> float:  # noqa: N803
            return FACTOR * x

        def inner(v: float) -> float:
            global FACTOR
            return v * FACTOR

        return inner(x) + other(2.0)

    assert _loops(f)(1.5) == f(1.5)


def test_a_global_that_an_enclosing_function_hides_is_refused() -> None:
    def local(x: float) -> float:
        FACTOR = 2.0  # noqa: N806

        def inner(v: float) -> float:
            global FACTOR
            return v * FACTOR

        return inner(x) + FACTOR

    def outer() -> Any:
        FACTOR = 2.0  # noqa: N806

        def closed(x: float) -> float:
            def inner(v: float) -> float:
                global FACTOR
                return v * FACTOR

            return inner(x) + FACTOR

        return closed

    for f in (local, outer()):
        with pytest.raises(s2s.UnsupportedError, match="shares its name with a variable"):
            _loops(f)(1.0)
