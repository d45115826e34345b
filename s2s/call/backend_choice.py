"""The target of a function, and the back end of a call: what the program requests, or `S2S_TARGET`
and `S2S_BACKEND`, or the default.  `s2s.backends.backends` describes the back ends, which are ways
to run on the CPU.  Another target is a back end of its own inside this package."""

from __future__ import annotations

import os
from typing import Any

from ..errors import S2SValueError

BACKENDS = ("numba", "njit", "native", "loops", "python")
COMPILED = ("numba", "njit", "native")  # those that generate machine code
DEFAULT = "numba"
DEVICE_TARGETS = ("cuda", "cuda-emulated")
TARGETS = ("cpu", *DEVICE_TARGETS)
# Those whose specialisations are kept on disk.
STORED = (*COMPILED, *DEVICE_TARGETS)

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


def choose_target(chosen: str | None, backend: str | None) -> str:
    """The target of a function; `chosen` and `backend` are what the program requests.  A request
    for a back end is one for the CPU, whatever `S2S_TARGET` says."""
    name = chosen
    if name is None:
        name = "cpu" if backend is not None else os.environ.get("S2S_TARGET") or "cpu"
    if name not in TARGETS:
        origin = "target" if chosen is not None else "S2S_TARGET"
        raise S2SValueError(
            f"{origin}={name}: there is no such target", advice=f"choose from {TARGETS}"
        )
    if name != "cpu" and backend is not None:
        raise S2SValueError(
            f"backend={backend!r} is a way to run on the CPU, and the target is {name}",
            advice="leave one of them out",
        )
    return name
