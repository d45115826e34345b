"""Calls that need the Python interpreter at run time, and so are not supported in a library."""

from __future__ import annotations

from typing import Any

from .. import kernels
from ..errors import UnsupportedError
from ..kernels.operations import operation
from ..transforms.lower.loop_ir.operations import NEEDS_PYTHON as ADVICE


def error(kind: Any, place: str) -> UnsupportedError:
    """The error for a call of a function, given its Numba typing key `kind` and its source
    location."""
    key = getattr(kind, "typing_key", kind)
    module = (getattr(key, "__module__", "") or "").rpartition(".")[2].removeprefix("kernels_")
    name = name_of(key) or f"{module}.{getattr(key, '__name__', key)}"
    return UnsupportedError(f"{name} is not available ahead of time{place}", advice=ADVICE)


def name_of(function: Any) -> str | None:
    """The user-visible name of a runtime function that needs Python, or None for others."""
    if function is kernels.show:
        return "print"
    op = operation(function)
    return op.user_name if op is not None and "aot" in op.unavailable else None
