"""Run long LLVM calls so that Ctrl-C takes effect at once.

Python handles signals in the main thread, between two bytecode instructions.  A call into a library
delays them until it returns, and LLVM takes seconds for a long kernel.  So a second thread makes
the call while the main thread waits for it.  After an interrupt, the call runs to completion and
keeps its operands alive.  Its result is discarded, and the next LLVM call blocks on LLVM's lock
until it has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

MAX_WAIT = 0.2  # seconds


def interruptible(work: Callable[[], T]) -> T:
    """Return or raise what `work` does.  `work` may outlive this call, so it must hold references
    to all it uses and restore all options it sets."""
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals are handled in the main thread only
    outcome: list[Any] = []
    done = threading.Lock()  # acquiring a lock is interruptible in every Python version
    done.acquire()

    def call() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            done.release()

    threading.Thread(target=call, name="s2s-llvm").start()
    # A signal that arrives just before a wait begins is handled when the wait ends.
    while not done.acquire(timeout=MAX_WAIT):
        pass
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
