"""Tables of methods: by class of core syntax, by builtin function, by kind of derivative.

A decorator gives the keys of a method; the part that looks it up makes the table of its own methods
and those of the parts below it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

M = TypeVar("M", bound=Callable[..., Any])


def entry(kind: str, *keys: object) -> Callable[[M], M]:
    """A decorator: the method is found by each of these keys in tables of this kind."""

    def mark(method: M) -> M:
        marks: Any = method
        marks.entries = [*getattr(method, "entries", ()), *((kind, key) for key in keys)]
        return method

    return mark


# expressions and statements, by class of core syntax
evaluates = partial(entry, "evaluates")
runs = partial(entry, "runs")
# Python's own functions
builtin = partial(entry, "builtin")
# derivatives, by kind, and methods of tapes, by name
derives = partial(entry, "derives")
answers = partial(entry, "answers")


def table(kind: str, *parts: object) -> dict[Any, Callable[..., Any]]:
    """The methods of these parts that have an entry of this kind, by key."""
    return {
        key: getattr(part, name)
        for part in parts
        for own, key, name in _entries(type(part))
        if own == kind
    }


@cache
def _entries(cls: type) -> list[tuple[str, object, str]]:
    """(kind, key, name) of the methods of a class."""
    return [
        (kind, key, name)
        for name, method in vars(cls).items()
        for kind, key in getattr(method, "entries", ())
    ]
