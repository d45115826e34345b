"""Pauses Python's garbage collector while the compiler runs.

A translation allocates many small objects and few cycles; repeated collections take a quarter of
its time.  The objects that are left are collected once at the end, as generations 0 and 1 together:
Python would collect the youngest generation, and soon after the same objects as the next one.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def promote_imported() -> Iterator[None]:
    """Move the objects of modules imported meanwhile to the oldest generation: they stay alive, so
    collecting them is useless."""
    before = len(sys.modules)
    yield
    # freeze and unfreeze is the only way to do so.  It would unfreeze objects that a program froze.
    if len(sys.modules) > before and hasattr(gc, "freeze") and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


@contextmanager
def paused() -> Iterator[None]:
    """Disable the garbage collector inside the block."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            if gc.get_count()[0] > gc.get_threshold()[0] > 0:
                gc.collect(1)
            gc.enable()
