"""Pauses Python's garbage collector while the compiler runs.

A translation makes many small objects and few cycles; looking through them again and again
takes a quarter of its time.  What it leaves behind is looked through once, for Python would do so
for the youngest objects, and soon after for the same objects as the next younger ones.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """What is imported meanwhile stays, so that nobody need look through it: it counts as old."""
    before = len(sys.modules)
    yield
    # Nothing but this tells Python so; objects that a program has frozen would be thawed.
    if len(sys.modules) > before and hasattr(gc, "freeze") and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


@contextmanager
def paused() -> Iterator[None]:
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            if gc.get_count()[0] > gc.get_threshold()[0] > 0:
                gc.collect(1)
            gc.enable()
