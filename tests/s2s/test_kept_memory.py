"""Memory of arrays that is used again: never while somebody holds it, and not more than a limit."""

from __future__ import annotations

import ctypes
import gc
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from s2s import kept_memory, linking

ROOM = 4096


def functions() -> tuple[Any, Any]:
    found = linking._runtime()
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
    give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return take(found["NRT_MemInfo_alloc_aligned"]), give(found["NRT_MemInfo_call_dtor"])


def data(block: int) -> int:
    return ctypes.cast(block, ctypes.POINTER(ctypes.c_int64))[3]


@pytest.fixture(autouse=True)
def nothing_kept():
    """Blocks that other tests have left would be found first."""
    take, give = functions()
    block = kept_memory.LARGEST - ROOM
    for held in [take(block, 32) for _ in range(2 * kept_memory.MOST // kept_memory.LARGEST)]:
        give(held)


def test_a_block_is_used_again() -> None:
    take, give = functions()
    block = take(300_000, 32)
    assert data(block) % 32 == 0 and data(block) >= block + 48
    ctypes.memset(data(block), 1, 300_000)
    give(block)
    assert take(290_000, 32) == block
    assert ctypes.cast(block, ctypes.POINTER(ctypes.c_int64))[0] == 1  # one reference
    give(block)


def test_a_block_that_is_too_small_or_much_too_large_is_not() -> None:
    take, give = functions()
    first = take(300_000, 32)
    give(first)
    others = [take(size, 32) for size in (310_000, 100_000)]
    assert first not in others
    for other in others:
        give(other)


def test_blocks_that_are_held_differ() -> None:
    take, give = functions()
    held = [take(200_000, 32) for _ in range(3 * kept_memory.SLOTS)]
    assert len(set(held)) == len(held)
    for block in held:
        give(block)
    again = [take(200_000, 32) for _ in range(3 * kept_memory.SLOTS)]
    assert len(set(again)) == len(again)
    for block in again:
        give(block)


def test_no_size_is_too_large_to_be_given_back() -> None:
    take, give = functions()
    for size in (0, 1, kept_memory.LEAST, kept_memory.LARGEST, kept_memory.MOST + 1):
        for _ in range(3):
            give(take(size, 32))


def test_threads() -> None:
    take, give = functions()

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        held: list[tuple[int, int, int]] = []
        for mark in range(400):
            size = int(rng.integers(70_000, 200_000))
            block = take(size, 32)
            ctypes.memset(data(block), mark % 256, size)
            held.append((block, size, mark % 256))
            if len(held) > 5:
                block, size, mark = held.pop(int(rng.integers(5)))
                whole = (ctypes.c_ubyte * size).from_address(data(block))
                if whole[0] != mark or whole[size - 1] != mark:
                    return False
                give(block)
        for block, _, _ in held:
            give(block)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_results_keep_their_memory() -> None:
    import s2s

    double = s2s.function(lambda x: 2.0 * x)
    x = np.ones(100_000)
    results = [double(x * k) for k in range(6)]
    del results[::2]
    gc.collect()
    more = [double(x * k) for k in range(10, 14)]
    for k, result in zip((1, 3, 5, 10, 11, 12, 13), (*results, *more)):
        np.testing.assert_array_equal(result, 2.0 * k)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_child_of_this_process_has_its_own() -> None:
    take, give = functions()
    block = take(400_000, 32)
    give(block)
    child = os.fork()
    if not child:
        again = take(400_000, 32)
        ctypes.memset(data(again), 2, 400_000)
        os._exit(0 if again == block else 1)
    assert os.waitpid(child, 0)[1] == 0
