"""Decorators that give the compiler information on functions.  Users' classes may use them, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F")


def built_now(function: F) -> F:
    """Mark a method that builds objects: the compiler runs it in Python, for the current sizes."""
    function._s2s_build = True  # type: ignore[attr-defined]
    return function


def built_last(*counted: str) -> Callable[[F], F]:
    """Like `built_now`, for builds near the end of a program, when few objects remain to be built:
    translation restarts at once, instead of continuing to the end first.  `counted` are the
    attributes of the object that are integers set by the rest of the program."""

    def mark(function: F) -> F:
        function._s2s_counted = counted  # type: ignore[attr-defined]
        return built_now(function)

    return mark


def decided(function: F) -> F:
    """Mark the getter of a property that depends on objects only, not on scalars in them."""
    function._s2s_static = True  # type: ignore[attr-defined]
    return function


def looks_only(function: F) -> F:
    """Mark a function that raises or warns depending only on structures, shapes and dtypes.  It
    runs in Python at compile time, on arrays of the right shapes without data."""
    function._s2s_look = True  # type: ignore[attr-defined]
    return function


def compiled_as(other: Any) -> Callable[[F], F]:
    """Mark a function that compiled code replaces by `other`."""

    def mark(function: F) -> F:
        function._s2s_instead = other  # type: ignore[attr-defined]
        return function

    return mark
