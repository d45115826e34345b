"""Context managers of the user's own classes: order of effects, and which are refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import s2s


class Log:
    def __init__(self, log: list[float], name: float) -> None:
        self.log, self.name = log, name

    def __enter__(self) -> float:
        self.log.append(self.name)
        return 10.0 * self.name

    def __exit__(self, *error: object) -> None:
        self.log.append(-self.name)


class Swallows(Log):
    def __exit__(self, *error: object) -> bool:  # type: ignore[override]
        return True


class Asks(Log):
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:  # type: ignore[override]
        if kind is not None:
            self.log.append(0.0)


class Raises(Log):
    def __exit__(self, *_: object) -> None:
        raise ValueError("left")


@contextlib.contextmanager
def generator(log: list[float], name: float) -> Iterator[float]:
    yield name


def test_they_are_left_in_reverse_order() -> None:
    def f(x: float) -> Any:
        log: list[float] = []
        with Log(log, 1.0) as a, Log(log, a + x) as b:
            with Log(log, b):
                log.append(x)
        with Log(log, 5.0):
            pass
        return np.array(log)

    assert list(s2s.function(f, backend="loops")(0.5)) == list(f(0.5))


def test_an_error_in_the_body_passes_through() -> None:
    def f(x: float) -> float:
        log = [x]
        with Log(log, 1.0):
            if x > 0.0:
                raise KeyError("inside")
        return log[-1]

    compiled = s2s.function(f, backend="loops")
    assert compiled(-1.0) == f(-1.0) == -1.0
    with pytest.raises(KeyError, match="inside"):
        compiled(1.0)


@pytest.mark.parametrize(
    ("manager", "says"),
    [
        (Swallows, "returns a value"),
        (Asks, "uses its arguments"),
        (Raises, "an `__exit__` that raises"),
        (generator, "`with` is not supported here"),
    ],
)
def test_refused(manager: Any, says: str) -> None:
    def f(x: float) -> float:
        log = [x]
        with manager(log, 1.0):
            x += 1.0
        return x

    with pytest.raises(s2s.UnsupportedError, match=says):
        s2s.function(f, backend="loops")(1.0)


def test_a_jump_out_of_the_body_is_refused() -> None:
    def f(x: float) -> float:
        log = [x]
        with Log(log, 1.0):
            return x

    with pytest.raises(s2s.UnsupportedError, match="a return inside this block"):
        s2s.function(f, backend="loops")(1.0)
