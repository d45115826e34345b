"""Values of Variables that tapes may still ask for: kept when they are about to be lost.

A tape in plain Python uses the values its block saw.  Nothing is copied when the block is
entered; a Variable that is changed later hands its old value to the tapes that are still alive.
"""

from __future__ import annotations

import weakref
from typing import Any

_tapes: weakref.WeakSet[Any] = weakref.WeakSet()


def follow(tape: Any) -> None:
    """From now on the tape is told what Variables held before they change."""
    _tapes.add(tape)


def before_change(variable: Any) -> None:
    for tape in _tapes:
        tape.kept.setdefault(id(variable), (variable, variable._array.copy()))
