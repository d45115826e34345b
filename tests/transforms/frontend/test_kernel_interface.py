"""Guards on objects, and readable sources that are written when they are asked for."""

from __future__ import annotations

import math
from typing import Any

import pytest

from s2s.transforms.frontend.kernel_interface import ObjectGuard, Readable, Whence, Written


def make(k: float, base: float = 1.0) -> Any:
    def f(x, y=base):
        return x + k

    return f


class Empty: ...


THING = Empty()
HOLDS = [
    ("is", THING, THING), ("is", None, None), ("type", int, 3), ("length", 2, [5, 6]),
    ("keys", ("a", "b"), {"a": 1, "b": 2}), ("attribute", ("real", True), 1.0),
    ("attribute", ("nothing", False), 1.0), ("item", ("a", True), {"a": 1}),
    ("item", ("b", False), {"a": 1}), ("equals", 1, 1), ("equals", (1, "a"), (1, "a")),
    ("equals", None, None), ("function", make(1), make(2)), ("function", make, make),
    ("function", math.sin, math.sin),
]  # fmt: skip
FAILS = [
    ("is", THING, Empty()), ("is", [], []), ("type", int, True), ("type", float, 3),
    ("length", 2, [5]), ("keys", ("a", "b"), {"b": 2, "a": 1}), ("keys", ("a",), {"a": 1, "b": 2}),
    ("attribute", ("real", True), THING), ("attribute", ("real", False), 1.0),
    ("item", ("a", True), {}), ("item", ("a", False), {"a": 1}), ("equals", 1, True),
    ("equals", 1, 1.0), ("equals", 1.0, 1), ("equals", "a", "b"), ("function", make(1), make),
    ("function", make(1), make(1, 2.0)), ("function", make(1), math.sin),
    ("function", make(1), None),
]  # fmt: skip


@pytest.mark.parametrize("kind, expected, value", HOLDS)
def test_a_guard_that_holds(kind: str, expected: Any, value: Any) -> None:
    assert ObjectGuard((("arg", "x"),), kind, expected).holds(value)


@pytest.mark.parametrize("kind, expected, value", FAILS)
def test_a_guard_that_fails(kind: str, expected: Any, value: Any) -> None:
    assert not ObjectGuard((("arg", "x"),), kind, expected).holds(value)


def test_the_source_is_written_once_when_it_is_asked_for() -> None:
    written: list[int] = []

    class Program(Readable):
        def __init__(self) -> None:
            def write() -> Any:
                written.append(1)
                return Written("text", {1: Whence("file", 3)}, [])

            self.write = write

    program = Program()
    assert not written
    assert program.source == "text" and program.places == {1: Whence("file", 3, (), 0)}
    assert program.source == "text" and written == [1]
