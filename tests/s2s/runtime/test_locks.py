"""The locks and their order, kernels that are made under them, and forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from s2s.runtime import locks
from s2s.runtime.locks import (
    OrderedLock,
    compiler_lock,
    hold_compiler_lock,
    is_compiling,
    kernel_locks,
)

ROOT = Path(__file__).parents[3]


def in_thread(work: Any) -> Any:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_the_order_is_checked(monkeypatch) -> None:
    last = OrderedLock()
    first = OrderedLock(last)
    with first, last, first, last:  # what is held may be taken again
        assert first.is_held() and last.is_held()
    assert not first.is_held() and not last.is_held()
    with last, pytest.raises(AssertionError, match="out of order"):
        first.acquire()
    assert not first.is_held() and in_thread(lambda: first.acquire(timeout=0)) is True
    monkeypatch.setattr(locks, "CHECKED", False)
    with OrderedLock() as one:
        assert one is None
    with last:
        other = OrderedLock(last)
        assert other.acquire() and other.is_held()
        other.release()


def test_threads_exclude_each_other() -> None:
    lock = OrderedLock()
    with lock:
        assert in_thread(lambda: lock.acquire(timeout=0.01)) is False
        assert in_thread(lock.is_held) is False
    assert isinstance(in_thread(lock.release), RuntimeError)


def test_the_order_of_s2s() -> None:
    assert locks.translation_lock.later == (locks.codegen_lock,)
    with locks.codegen_lock, pytest.raises(AssertionError):
        locks.translation_lock.acquire()
    with compiler_lock():
        assert is_compiling()
        for one in (locks.translation_lock, locks.codegen_lock):
            with pytest.raises(AssertionError):
                one.acquire()
    assert not is_compiling() and in_thread(is_compiling) is False


def test_kernels_are_made_under_locks() -> None:
    for backend in ("loops", "python"):
        with kernel_locks(backend):
            assert (
                locks.translation_lock.is_held()
                and not locks.codegen_lock.is_held()
                and not is_compiling()
            )
    for backend in ("numba", "native"):
        with kernel_locks(backend):
            assert locks.codegen_lock.is_held() and not locks.translation_lock.is_held()
            hold_compiler_lock()
            hold_compiler_lock()
            assert is_compiling()
            with kernel_locks(backend):  # a kernel that another one needs
                assert is_compiling()
            assert is_compiling() and locks.codegen_lock.is_held()
        assert (
            not is_compiling() and not locks.codegen_lock.is_held() and locks._making_stacks == []
        )
    with compiler_lock(), kernel_locks("numba"):  # Numba compiles a function that calls one of s2s
        assert not locks.codegen_lock.is_held()


def test_locks_are_released_after_an_error() -> None:
    for backend in ("loops", "numba"):
        with pytest.raises(KeyError), kernel_locks(backend):
            hold_compiler_lock()
            raise KeyError
        assert (
            not any(one.is_held() for one in (locks.translation_lock, locks.codegen_lock))
            and not is_compiling()
        )
        assert locks._making_stacks == []


FORK = """
import os, sys, threading, time
from s2s.runtime import locks
locks.FORK_TIMEOUT = float(sys.argv[1])
held, done = threading.Event(), threading.Event()

def work():
    with locks.translation_lock, locks.codegen_lock:
        held.set()
        done.wait(float(sys.argv[2]))

thread = threading.Thread(target=work)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    ok = locks.translation_lock.acquire(timeout=5) and locks.codegen_lock.acquire(timeout=5)
    os._exit(0 if ok else 3)
done.set()
thread.join()
_, status = os.waitpid(child, 0)
assert locks.translation_lock.acquire(timeout=5)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("timeout, hold", [("10", "0.2"), ("0.1", "30")])
def test_a_child_can_take_the_locks(timeout, hold) -> None:
    """Whether the thread of the parent gives them back in time, or not."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", FORK, timeout, hold], check=True, env=env, timeout=60)


def test_handlers_of_forks_are_balanced() -> None:
    locks._before_fork()
    assert locks.translation_lock.is_held() and locks.codegen_lock.is_held()
    locks._after_fork(False)
    assert (
        not locks.translation_lock.is_held()
        and not locks.codegen_lock.is_held()
        and not is_compiling()
    )
    locks._after_fork(False)  # registered during a fork: nothing is held
