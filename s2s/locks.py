"""The locks of s2s and their order.

Translating takes `lock` and never compiles with Numba; compiling takes Numba's own lock and
may be asked for by code that Numba is compiling.  So no thread holds `lock` while it waits
for Numba's.  Machine code that lies in the cache is loaded without importing Numba; as long as
nobody has, `loading` takes the place of Numba's lock, which a thread that turns out to need Numba
then waits for as well.  No thread that holds Numba's ever waits for `loading`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

lock = threading.RLock()
loading = threading.RLock()

if hasattr(os, "register_at_fork"):
    # Held across a fork, so that a child never inherits them from a thread it does not have.
    for _held in (lock, loading):
        os.register_at_fork(
            before=_held.acquire, after_in_parent=_held.release, after_in_child=_held.release
        )


@contextmanager
def making(backend: str) -> Iterator[None]:
    """Held while a kernel is made."""
    if backend == "numba" and "numba" not in sys.modules:
        with loading:
            yield
    elif backend == "numba":
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:
            yield
    else:
        with lock:
            yield
