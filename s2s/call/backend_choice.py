"""Which back end runs a call: what the program asks for, or `S2S_BACKEND`, or the default.
`s2s.backends.backends` says what each of them is."""

from __future__ import annotations

import os
from typing import Any

from ..errors import ValueError_

BACKENDS = ("numba", "njit", "native", "loops", "python")
COMPILED = ("numba", "njit", "native")  # those that make machine code
DEFAULT = "numba"

# Looking a variable up in os.environ takes longer than a small kernel; in its raw form not.
environment: Any = getattr(os.environ, "_data", os.environ) if os.name == "posix" else os.environ
VARIABLE: Any = "S2S_BACKEND" if environment is os.environ else b"S2S_BACKEND"


def choose_backend(chosen: str | None) -> str:
    """The back end for a call; `chosen` is the one that the program asks for."""
    if chosen is not None:
        return chosen
    if VARIABLE not in environment:
        return DEFAULT
    name = os.environ.get("S2S_BACKEND") or DEFAULT
    if name not in BACKENDS:
        raise ValueError_(
            f"S2S_BACKEND={name}: there is no such backend", advice=f"choose from {BACKENDS}"
        )
    return name
