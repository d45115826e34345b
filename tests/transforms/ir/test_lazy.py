"""Lazy values are computed at the first use, and concurrent threads get the same object."""

from __future__ import annotations

import threading
from typing import Any

from s2s.transforms.ir.lazy import lazy_property, memoize


class Thing:
    """Counts how often its property is computed."""

    def __init__(self) -> None:
        self.computed = 0

    @lazy_property
    def value(self) -> list[int]:
        """A new list."""
        self.computed += 1
        return [self.computed]


def in_two_threads(call: Any) -> list[Any]:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(call())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_a_property_is_computed_once_per_object() -> None:
    thing, other = Thing(), Thing()
    assert thing.value is thing.value
    assert thing.computed == 1 and other.computed == 0
    assert Thing.value.__doc__ == "A new list."


def test_threads_compute_at_the_same_time_and_get_the_same() -> None:
    """Each computation waits for the other one, which would deadlock under a lock."""
    together = threading.Barrier(2, timeout=60)

    class Both:
        @lazy_property
        def value(self) -> object:
            together.wait()
            return object()

    both = Both()
    first, second = in_two_threads(lambda: both.value)
    assert first is second is both.value


def test_a_function_gives_all_threads_the_same() -> None:
    together = threading.Barrier(2, timeout=60)

    @memoize
    def made(name: str) -> object:
        together.wait()
        return object()

    first, second = in_two_threads(lambda: made("a"))
    assert first is second is made("a")
    assert [*made.kept] == [("a",)]
