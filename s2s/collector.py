"""Pauses Python's garbage collector while the compiler runs.

A translation makes many small objects and few cycles; looking through them again and again
takes a quarter of its time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
