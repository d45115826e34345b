"""The two locks of s2s and their order.

Translating takes `lock` and never compiles with Numba; compiling takes Numba's own lock and
may be asked for by code that Numba is compiling.  So no thread holds ours while it waits
for Numba's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

lock = threading.RLock()

if hasattr(os, "register_at_fork"):
    # Held across a fork, so that a child never inherits it from a thread it does not have.
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


@contextmanager
def making(backend: str) -> Iterator[None]:
    """Held while a kernel is made."""
    if backend == "numba":
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:
            yield
    else:
        with lock:
            yield
