"""The locks of s2s and their order.

1. `lock`: a function is translated, and the table of its specialisations changes.
2. `loading`: machine code is made or loaded.
3. Numba's compiler lock: the same, once Numba has been imported.  Numba holds it whenever it
   compiles, so it may be held by a user's thread before any of ours.

A thread takes them in this order only; it may leave out any of them, and take again what it
already holds.  Numba calls s2s while it compiles a user's function that calls ours: that thread
holds the third lock, and takes neither of the others.  Numba makes its target under a lock of its
own, and takes the compiler lock meanwhile; so that lock comes before the third, and `compiler_lock`
makes the target first.  Machine code in the cache is loaded without importing Numba, which takes
a second; so the third lock alone would not do.

What is computed while one of these is held must not wait for a lock that a thread may hold while
it waits for a later one.  So properties are kept by `transforms.lazy`, which has no lock.  Locks
that are held while nothing else is waited for (the start of the thread pool, LLVM's) come last.

With `S2S_CHECK_LOCKS=1`, as in all tests, taking a lock out of order is an error.
"""

from __future__ import annotations

import logging  # noqa: F401  (see forks)
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

CHECKED = os.environ.get("S2S_CHECK_LOCKS", "") not in ("", "0")


class OrderedLock:
    """A re-entrant lock; `later` are those that must not be held by a thread that takes it."""

    def __init__(self, *later: OrderedLock) -> None:
        self.later = later
        self.inner: Any = threading.RLock()

    def acquire(self, timeout: float = -1) -> bool:
        if CHECKED and not self.is_held():
            held = is_compiling() or any(other.is_held() for other in self.later)
            assert not held, "a lock of s2s is taken out of order; see s2s/runtime/locks.py"
        return self.inner.acquire(timeout=timeout)

    def release(self) -> None:
        self.inner.release()

    def is_held(self) -> bool:
        """By this thread."""
        return self.inner._is_owned()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


loading = OrderedLock()
lock = OrderedLock(loading)


def compiler_lock() -> Any:
    """Numba's compiler lock.  Imports Numba."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    assert cpu_target.target_context is not None  # made before the lock is taken
    return global_compiler_lock


def is_compiling() -> bool:
    """Whether this thread holds Numba's compiler lock."""
    module = sys.modules.get("numba.core.compiler_lock")
    # Without the lock, another thread is in the middle of importing the module.
    numba: Any = getattr(module, "global_compiler_lock", None)
    return numba is not None and numba.is_locked()


@contextmanager
def making(backend: str) -> Iterator[None]:
    """Held while a kernel is made."""
    if backend in ("loops", "python"):
        with lock:
            yield
    elif is_compiling():
        yield
    else:
        with loading, ExitStack() as stack:
            _kernels.append(stack)
            try:
                if "numba" in sys.modules:
                    hold_compiler_lock()
                yield
            finally:
                _kernels.pop()


_kernels: list[ExitStack] = []  # what `making` holds, in the thread that holds `loading`


def hold_compiler_lock() -> None:
    """Takes Numba's compiler lock, until the kernel that this thread is making is made.  Called
    before Numba is asked for anything; it may be what imports Numba."""
    numba = compiler_lock()
    if loading.is_held() and not numba.is_locked():
        _kernels[0].enter_context(numba)


# ---------------------------------------------------------------- forks

# All locks are held across a fork, so that the child inherits none from a thread it does not have.
# Handlers run before a fork in the reverse order of their registration, each taking its locks.
# `logging` has one, too, and its lock is needed to import Numba: it is imported above, so that
# ours are taken first.  Of other libraries nothing is known, so that waiting has an end; what
# could not be taken is a new lock in the child.
PATIENCE = 10.0  # seconds
_held_by_fork: list[tuple[list[Any], list[Any]]] = []


def _before_fork() -> None:
    held: list[Any] = []
    missed: list[Any] = []

    def take(one: Any) -> None:
        plain = one if isinstance(one, OrderedLock) else one._lock
        if plain.acquire(timeout=PATIENCE):
            held.append(plain)
        else:
            missed.append(one)

    if not is_compiling():
        take(lock)
        take(loading)
    # Looked up only now: while this thread waited, another may have imported Numba.
    module = sys.modules.get("numba.core.compiler_lock")
    if (numba := getattr(module, "global_compiler_lock", None)) is not None:
        take(numba)
    _held_by_fork.append((held, missed))


def _after_fork(in_child: bool) -> None:
    # Nothing is held if this module was imported while the fork had begun already.
    held, missed = _held_by_fork.pop() if _held_by_fork else ([], [])
    for one in reversed(held):
        one.release()
    for one in missed if in_child else ():
        setattr(one, "inner" if isinstance(one, OrderedLock) else "_lock", threading.RLock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(False),
        after_in_child=lambda: _after_fork(True),
    )
