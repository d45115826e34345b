"""What is known of a callable without its source: its parameters, and why it has no source."""

from __future__ import annotations

import inspect
import types
from typing import Any


def signature(function: Any) -> inspect.Signature:
    """The parameters of the code itself: under `functools.wraps`, Python shows those of another."""
    plain = isinstance(function, types.FunctionType)
    return inspect.signature(function, follow_wrapped=not plain)


# Objects that Numba creates from a function and that do not do what its text says.
_NOT_READ = {
    "GUFunc": (
        "a function under @numba.guvectorize is not supported",
        "use s2s.vmap of a plain function",
    ),
    "StencilFunc": (
        "a function under @numba.stencil is not supported",
        "write the neighbours as slices: a[:-2] + a[2:]",
    ),
}


def why_not_read(value: Any) -> tuple[str, str] | None:
    """Message and advice for a callable whose source does not tell what it does."""
    kind = type(value)
    return _NOT_READ.get(kind.__name__) if kind.__module__.startswith("numba.") else None
