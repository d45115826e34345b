"""Functions of other libraries that the user has given programs for.

A compiled function that calls one of them calls the program instead.  The programs are kept
by number, so that a path leads to each: what they read is found again, and guarded."""

from __future__ import annotations

from typing import Any

from .pytree import Path

FUNCTIONS: list[Any] = []
PROGRAMS: list[Any] = []


def replace_calls(function: Any, program: Any) -> None:
    for k, known in enumerate(FUNCTIONS):
        if known is function:
            PROGRAMS[k] = program
            return
    FUNCTIONS.append(function)
    PROGRAMS.append(program)


def replacement(function: Any) -> tuple[Any, Path] | None:
    """The program for a function, and the path to it."""
    for k, known in enumerate(FUNCTIONS):
        if known is function:
            return PROGRAMS[k], (("module", __name__), (".", "PROGRAMS"), ("[]", k))
    return None
