"""The thread pool: each chunk runs once; busy pools, nested parallel loops, forks."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import Counter
from typing import Any

import pytest

from s2s.runtime import thread_pool

RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


def launch(run: Any, count: int) -> None:
    call = ctypes.CFUNCTYPE(None, RUN, ctypes.c_void_p, ctypes.c_int64)(thread_pool.address())
    call(RUN(run), None, count)


@pytest.mark.parametrize("count", [0, 1, 2, 64, 1000])
def test_each_chunk_once(count: int) -> None:
    done: list[int] = []
    launch(lambda _, chunk: done.append(chunk), count)
    assert sorted(done) == list(range(count))


@pytest.mark.skipif(thread_pool.thread_count() < 2, reason="one thread only")
def test_threads_take_part() -> None:
    """The first chunk waits until another thread has started the second."""
    other = threading.Event()
    by: dict[int, int] = {}

    def run(_: Any, chunk: int) -> None:
        by[chunk] = threading.get_ident()
        if len(set(by.values())) > 1:
            other.set()
        assert other.wait(60)

    launch(run, 2)
    assert len(set(by.values())) == 2


def test_chunks_that_start_chunks() -> None:
    done: Counter[tuple[int, int]] = Counter()

    def outer(_: Any, first: int) -> None:
        launch(lambda _, second: done.update([(first, second)]), 3)

    launch(outer, 5)
    assert done == Counter((a, b) for a in range(5) for b in range(3))


def test_many_callers() -> None:
    done: Counter[tuple[int, int]] = Counter()
    together = threading.Barrier(4)

    def caller(who: int) -> None:
        together.wait()
        for _ in range(50):
            launch(lambda _, chunk: done.update([(who, chunk)]), 7)

    callers = [threading.Thread(target=caller, args=(who,)) for who in range(4)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    assert done == Counter({(who, chunk): 50 for who in range(4) for chunk in range(7)})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_its_work_alone() -> None:
    done: list[int] = []
    launch(lambda _, chunk: done.append(chunk), 5)
    child = os.fork()
    if child == 0:
        launch(lambda _, chunk: done.append(chunk), 7)
        os._exit(0 if len(done) == 12 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    launch(lambda _, chunk: done.append(chunk), 5)
    assert len(done) == 10
