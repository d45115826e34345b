"""What classes tell the compiler about their methods.  Classes of users may bear these marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F")


def built_now(function: F) -> F:
    """A method that completes objects: run in Python, for the sizes at hand."""
    function._s2s_build = True  # type: ignore[attr-defined]
    return function


def built_last(*counted: str) -> Callable[[F], F]:
    """As `built_now`, where most of a program has run and little is left to be completed: it is
    translated anew at once, and not to its end first.  Of the object's attributes, those `counted`
    are integers that the rest of the program sets."""

    def mark(function: F) -> F:
        function._s2s_counted = counted  # type: ignore[attr-defined]
        return built_now(function)

    return mark


def decided(function: F) -> F:
    """The getter of a property that depends on objects only, not on numbers in them."""
    function._s2s_static = True  # type: ignore[attr-defined]
    return function


def looks_only(function: F) -> F:
    """A function that raises or warns by what it can tell from structures, shapes and dtypes: run
    in Python while a step is compiled, on arrays of the right shapes that hold no numbers."""
    function._s2s_look = True  # type: ignore[attr-defined]
    return function


def compiled_as(other: Any) -> Callable[[F], F]:
    """A function in whose place compiled code runs another."""

    def mark(function: F) -> F:
        function._s2s_instead = other  # type: ignore[attr-defined]
        return function

    return mark
