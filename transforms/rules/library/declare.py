"""Declares the programs of the library, by the paths users know them under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...build import Builder
from ...errors import UnsupportedError
from ..registry import surface

LIBRARY: dict[str, Callable[..., Any]] = {}


KINKS: dict[str, str] = {}


def written(*paths: str, kinks: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares what stands for the function at each of these paths, and its convention where it
    has no derivative."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        for path in paths:
            assert path not in LIBRARY, path
            LIBRARY[path] = f
            KINKS[path] = kinks
        return f

    return declare


def view_of(x: Any, value: Any, writeable: bool = False) -> Any:
    """In a program of the library: the result of the function shares memory with x."""
    return value


@surface(f"{__name__}.view_of")
def build_view_of(b: Builder, x: Any, value: Any, writeable: bool = False) -> Any:
    return value if value.operand == x.operand else b.view(value, writeable)


def unsupported(message: str) -> None:
    """In a program of the library: refuses the call while it is compiled."""
    raise UnsupportedError(message)


@surface(f"{__name__}.unsupported")
def build_unsupported(b: Builder, message: str) -> None:
    unsupported(message)
