"""The back end of a call: the one the program requests, or `S2S_BACKEND`, or the default.
`s2s.backends.backends` describes each of them."""

from __future__ import annotations

import os
from typing import Any

from ..errors import S2SValueError

BACKENDS = ("numba", "njit", "native", "loops", "python")
COMPILED = ("numba", "njit", "native")  # those that generate machine code
DEFAULT = "numba"

# A lookup in os.environ takes longer than a small kernel; a lookup in its raw dict does not.
environment: Any = getattr(os.environ, "_data", os.environ) if os.name == "posix" else os.environ
BACKEND_VARIABLE: Any = "S2S_BACKEND" if environment is os.environ else b"S2S_BACKEND"


def choose_backend(chosen: str | None) -> str:
    """The back end for a call; `chosen` is the one that the program requests, or None."""
    if chosen is not None:
        return chosen
    if BACKEND_VARIABLE not in environment:
        return DEFAULT
    name = os.environ.get("S2S_BACKEND") or DEFAULT
    if name not in BACKENDS:
        raise S2SValueError(
            f"S2S_BACKEND={name}: there is no such backend", advice=f"choose from {BACKENDS}"
        )
    return name
