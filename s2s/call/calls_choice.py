"""Whether calls of functions stay calls in the program that is differentiated: `S2S_CALLS`.

It is a switch for tests and measurements.  It is read when a transform first compiles, and is part
of the key of every specialisation, in memory and on disk."""

from __future__ import annotations

import os

from ..errors import S2SValueError

CALLS = ("inline", "keep", "keep+inline")


def choose_calls() -> str:
    """The value of `S2S_CALLS`; "inline" if it is not set."""
    name = os.environ.get("S2S_CALLS") or "inline"
    if name not in CALLS:
        raise S2SValueError(
            f"S2S_CALLS={name}: there is no such mode", advice=f"choose from {CALLS}"
        )
    return name
