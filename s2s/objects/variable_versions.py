"""Notifies tapes in plain Python of reads and changes of Variables.

A tape uses the values that its block read.  Variables are not copied when the block is entered
(copy on write): before a Variable changes, the tapes that are still alive save its old value.

While `tapes` is not empty, calls that write to arrays take the general path, which notifies them;
call stubs and their bytecode do not.  A tape leaves the set when it has saved all its Variables, or
when it is freed.  An exception that was raised in the block may keep it in a reference cycle until
the next garbage collection.
"""

from __future__ import annotations

import weakref
from typing import Any

# Weak references to the live tapes that changes may still affect.  Every call that writes to arrays
# checks them.
tapes: set[Any] = set()
_open: list[Any] = []


def follow(tape: Any) -> None:
    """Register a tape: it is notified of changes while it is alive, and of reads until `close`."""
    tapes.add(weakref.ref(tape, tapes.discard))
    _open.append(tape)


def close(tape: Any) -> None:
    """End the notification of reads."""
    _open.remove(tape)


def accessed(variable: Any) -> None:
    """Notify the open tapes that a Variable is read."""
    for tape in _open:
        tape.accessed(variable)


def before_change(array: Any) -> None:
    """Notify the live tapes that an array is about to be written to."""
    for reference in list(tapes):
        tape = reference()
        if tape is not None and tape.before_change(array):
            tapes.discard(reference)
