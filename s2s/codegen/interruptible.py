"""Long calls of LLVM that Ctrl-C ends at once.

Python handles a signal in the main thread, between two of its own instructions: a call into a
library delays it until the call returns, which takes LLVM seconds for a long kernel.  So the main
thread waits while another one calls.  If it is interrupted, that call runs to its end, holding what
it works on; nobody uses the result, and the next call waits for it at LLVM's own lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """What `work` returns or raises; it must hold all that it needs, and undo what it sets."""
    if threading.current_thread() is not threading.main_thread():
        return work()  # no signal comes here
    outcome: list[Any] = []
    done = threading.Lock()  # waiting for it can be interrupted, on every Python
    done.acquire()

    def call() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            done.release()

    threading.Thread(target=call, name="s2s-llvm").start()
    done.acquire()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
