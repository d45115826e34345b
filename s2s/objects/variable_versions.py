"""What tapes in plain Python are told of Variables: that they are read, and what they held before
they change.

A tape uses the values its block saw.  Variables are not copied when the block is entered; one
that is changed later hands its old value to the tapes that are still alive.
"""

from __future__ import annotations

import weakref
from typing import Any

# References to those that are alive; looked at in every call that changes arrays.
tapes: set[Any] = set()
_open: list[Any] = []


def follow(tape: Any) -> None:
    """From now on the tape is told; of reading until it is closed."""
    tapes.add(weakref.ref(tape, tapes.discard))
    _open.append(tape)


def close(tape: Any) -> None:
    _open.remove(tape)


def accessed(variable: Any) -> None:
    for tape in _open:
        tape.accessed(variable)


def before_change(array: Any) -> None:
    for reference in list(tapes):
        tape = reference()
        if tape is not None:
            tape.before_change(array)
