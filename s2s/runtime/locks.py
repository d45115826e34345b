"""The locks of s2s and their order.

1. `translation_lock`: held while a function is translated or the table of its specialisations
   changes.
2. `codegen_lock`: held while machine code is compiled or loaded.
3. Numba's compiler lock: as 2, once Numba has been imported.  Numba holds it whenever it compiles,
   so a user's thread may hold it before it takes any lock of s2s.

A thread acquires them in this order only.  It may skip any of them, and may re-acquire those it
holds.  Numba calls s2s while it compiles a user's function that calls an s2s function: that thread
holds the third lock and acquires neither of the others.  Numba creates its target under a lock of
its own and acquires the compiler lock meanwhile; so that lock comes before the third, and
`compiler_lock` creates the target first.  Cached machine code is loaded without importing Numba,
which takes a second; so the third lock alone would not suffice.

Code that runs while one of these is held must not wait for a lock that another thread may hold
while that thread waits for a later one.  So lazy properties use `transforms/ir/lazy.py`, which has
no lock.  Leaf locks, under which no other lock is acquired (the start of the thread pool, LLVM's),
come last.

With `S2S_CHECK_LOCKS=1`, as in all tests, acquiring a lock out of order is an error.
"""

from __future__ import annotations

import logging  # noqa: F401  (see forks)
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from . import versions

CHECKED = os.environ.get("S2S_CHECK_LOCKS", "") not in ("", "0")


class OrderedLock:
    """A re-entrant lock.  A thread that acquires it must not hold any of the locks `later`."""

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
        """True if this thread holds the lock."""
        return self.inner._is_owned()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


codegen_lock = OrderedLock()
translation_lock = OrderedLock(codegen_lock)


def compiler_lock() -> Any:
    """Numba's compiler lock.  Imports Numba."""
    # A module that is being imported is locked, too: so imports happen under a lock of s2s.
    with nullcontext() if is_compiling() else codegen_lock:
        versions.require_numba()
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import cpu_target

        assert cpu_target.target_context is not None  # created before the lock is acquired
    return global_compiler_lock


def is_compiling() -> bool:
    """True if this thread holds Numba's compiler lock."""
    module = sys.modules.get("numba.core.compiler_lock")
    # If the attribute is missing, another thread is still importing the module.
    numba: Any = getattr(module, "global_compiler_lock", None)
    return numba is not None and numba.is_locked()


@contextmanager
def kernel_locks(backend: str) -> Iterator[None]:
    """Hold the locks for compiling or loading a kernel.  Refuses versions that are not supported,
    before anything that they might break."""
    if backend in ("loops", "python", "cuda", "cuda-emulated"):
        with translation_lock:
            yield
        return
    require = versions.require_llvm if backend == "native" else versions.require_numba
    if is_compiling():
        require()
        yield
    else:
        with codegen_lock, ExitStack() as stack:
            require()
            _making_stacks.append(stack)
            try:
                if "numba" in sys.modules:
                    hold_compiler_lock()
                yield
            finally:
                _making_stacks.pop()


_making_stacks: list[
    ExitStack
] = []  # the locks that `kernel_locks` holds, in the thread that holds `codegen_lock`


def hold_compiler_lock() -> None:
    """Acquire Numba's compiler lock until `kernel_locks` ends in this thread.  Called before any
    use of Numba; it may import Numba."""
    numba = compiler_lock()
    if codegen_lock.is_held() and not numba.is_locked():
        _making_stacks[0].enter_context(numba)


# ---------------------------------------------------------------- forks

# All locks are held across a fork, so that the child inherits none that is held by a thread it does
# not have.  A thread that imports a part of s2s, or Numba, holds one of them: the child inherits no
# half-imported module either.  Handlers run before a fork in the reverse order of their
# registration, each acquiring its locks.  `logging` has a handler, too, and its lock is needed to
# import Numba: it is imported above, so that the locks of s2s are acquired first.  The locks of
# other libraries are unknown, so the wait has a timeout; a lock that could not be acquired is
# replaced by a new one in the child.
FORK_TIMEOUT = 10.0  # seconds
_held_by_fork: list[tuple[list[Any], list[Any]]] = []


def _before_fork() -> None:
    held: list[Any] = []
    missed: list[Any] = []

    def take(one: Any) -> None:
        plain = one if isinstance(one, OrderedLock) else one._lock
        if plain.acquire(timeout=FORK_TIMEOUT):
            held.append(plain)
        else:
            missed.append(one)

    if not is_compiling():
        take(translation_lock)
        take(codegen_lock)
    # Looked up only now: another thread may have imported Numba in the meantime.
    module = sys.modules.get("numba.core.compiler_lock")
    if (numba := getattr(module, "global_compiler_lock", None)) is not None:
        take(numba)
    _held_by_fork.append((held, missed))


def _after_fork(in_child: bool) -> None:
    # Nothing is held if this module was imported after the fork had begun.
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
