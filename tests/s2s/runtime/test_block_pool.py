"""The block pool: reuse of blocks by one or many threads, after errors, and its size limit."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.runtime import block_pool

pytest.importorskip("numba")
MB = 1 << 20
ROOT = Path(__file__).parents[3]


class Blocks:
    """The functions that kernels call."""

    def __init__(self) -> None:
        made = block_pool.library()
        self.make = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)(
            made["NRT_MemInfo_alloc_aligned"]
        )
        self.give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(made["NRT_MemInfo_call_dtor"])

    def take(self, size: int, align: int = 32) -> int:
        block = self.make(size, align)
        assert block
        return block

    @staticmethod
    def data(block: int) -> int:
        return ctypes.c_int64.from_address(block + 24).value


@pytest.fixture
def blocks() -> Blocks:
    s2s.release_memory()
    return Blocks()


def running(x: Any) -> Any:
    h = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        h[i] = h[i - 1] * 0.5 + np.sin(x[i])
    return np.sum(h * h)


def test_blocks_hold_what_was_asked_for(blocks: Blocks) -> None:
    rng = np.random.default_rng(0)
    sizes = [0, 1, 16255, 16256, 16257, 2**14, 2**14 + 1, 2**20 - 1, *rng.integers(0, 2**22, 200)]
    for align in (16, 32, 64, 128):
        taken = [blocks.take(int(size), align) for size in sizes]
        for k, (block, size) in enumerate(zip(taken, sizes)):
            assert blocks.data(block) % align == 0
            ctypes.memset(blocks.data(block), k % 256, int(size))
        for k, (block, size) in enumerate(zip(taken, sizes)):
            assert ctypes.string_at(blocks.data(block), int(size)) == bytes([k % 256]) * int(size)
            blocks.give(block)
    assert block_pool.usage()["kept"] > 0


def test_there_is_an_end_to_memory(blocks: Blocks) -> None:
    before = block_pool.usage()
    for power in (46, 47, 48, 52, 56, 60, 62):
        assert not blocks.make(1 << power, 32) and not blocks.make((1 << power) - 1, 64)
    assert not blocks.make(2**63 - 1, 64)
    after = block_pool.usage()
    for name in ("in_use", "kept", "most"):
        assert after[name] == before[name]

    def wide(x: Any, n: Any) -> Any:
        h = np.zeros(n)
        h[0] = x[0]
        for i in range(1, 3):
            h[i] = h[i - 1] * 2.0 + x[1]
        return h

    f = s2s.function(wide, backend="numba")
    assert f(np.ones(2), 3)[2] == 7.0
    for n in (2**45, 2**50, 2**59):
        with pytest.raises(MemoryError if n < 2**47 else ValueError):
            f(np.ones(2), n)
    assert f(np.ones(2), 3)[2] == 7.0


def test_the_block_given_back_last_is_the_next(blocks: Blocks) -> None:
    a, b = blocks.take(MB), blocks.take(MB)
    assert a != b
    blocks.give(a)
    blocks.give(b)
    assert blocks.take(MB - 100) == b and blocks.take(MB) == a
    c = blocks.take(MB)
    assert c not in (a, b)
    for block in (a, b, c):
        blocks.give(block)


def test_arrays_begin_at_different_places_of_a_page(blocks: Blocks) -> None:
    taken = [blocks.take(MB) for _ in range(16)]
    assert len({blocks.data(b) % 4096 for b in taken}) > 8
    for block in taken:
        blocks.give(block)


def test_what_is_kept_is_bounded(blocks: Blocks) -> None:
    """If sizes keep changing, old blocks are freed."""
    before = block_pool.usage()
    for size in range(8 * MB, 80 * MB, MB):
        blocks.give(blocks.take(size))
        now = block_pool.usage()
        assert now["in_use"] == before["in_use"]
        most = now["most"]
        assert now["kept"] + now["in_use"] <= most + most // 8 + block_pool.SLACK_BYTES
    # The sizes asked for last are there.
    kept = block_pool.usage()["kept"]
    blocks.give(blocks.take(79 * MB))
    assert block_pool.usage()["kept"] == kept


def test_old_demand_is_forgotten(blocks: Blocks) -> None:
    blocks.give(blocks.take(400 * MB))
    assert block_pool.usage()["kept"] >= 400 * MB
    for _ in range(2 * block_pool.PEAK_WINDOW):
        blocks.give(blocks.take(MB))
    now = block_pool.usage()
    assert now["kept"] <= now["most"] + now["most"] // 8 + block_pool.SLACK_BYTES < 300 * MB


def test_memory_that_is_released(blocks: Blocks) -> None:
    f = s2s.grad(running, backend="numba")
    x = np.linspace(0.0, 1.0, 10_000)
    expected = f(x).copy()
    assert block_pool.usage()["kept"] > 0
    s2s.release_memory()
    assert block_pool.usage()["kept"] == 0
    np.testing.assert_array_equal(f(x), expected)


def test_results_are_not_overwritten() -> None:
    f = s2s.grad(running, backend="numba")
    xs = [np.full(10_000, 0.1 * k) for k in range(8)]
    kept = [f(x) for x in xs for _ in range(2)]
    copies = [k.copy() for k in kept]
    views = [k[1:] for k in kept]
    del kept
    for x in xs:
        f(x + 1.0)
    for view, copy in zip(views, copies):
        np.testing.assert_array_equal(view, copy[1:])


def test_nothing_grows() -> None:
    f = s2s.value_and_grad(lambda x: np.sum(np.cumsum(x) ** 2), backend="numba")
    x = np.ones(2100)
    for _ in range(3):
        f(x)
    before = block_pool.usage()
    for _ in range(100_000):
        f(x)
    after = block_pool.usage()
    assert after["asked"] > before["asked"]
    assert (after["in_use"], after["kept"]) == (before["in_use"], before["kept"])


def test_errors_give_their_blocks_back() -> None:
    def picks(x: Any, at: Any) -> Any:
        h = np.cumsum(x)
        total = 0.0
        for i in range(at.shape[0]):
            total += h[at[i]] * h[i]
        return total

    f = s2s.grad(picks, backend="numba")
    x, at = np.ones(10_000), np.arange(10_000)
    f(x, at)
    f(x, at)
    before = block_pool.usage()
    at[-1] = 10_000
    for _ in range(50):
        with pytest.raises(IndexError):
            f(x, at)
    after = block_pool.usage()
    assert (after["in_use"], after["kept"]) == (before["in_use"], before["kept"])


def test_threads_at_once() -> None:
    f = s2s.grad(running, backend="numba")
    xs = [np.linspace(k, k + 1.0, 5000 + 700 * k) for k in range(4)]
    expected = [f(x).copy() for x in xs]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(200):
            if not np.array_equal(f(xs[k]), expected[k]):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_a_call_within_a_call() -> None:
    """A call in another thread, or by Python code between two calls, does not get a block that is
    in use."""
    f = s2s.grad(running, backend="numba")
    x = np.linspace(0.0, 1.0, 10_000)
    expected = f(x).copy()

    class Meddling(list):  # type: ignore[type-arg]
        def __del__(self) -> None:
            np.testing.assert_array_equal(f(x), expected)

    for _ in range(5):
        Meddling()
        np.testing.assert_array_equal(f(x), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_children(blocks: Blocks) -> None:
    """A process that is forked while other threads allocate can allocate."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            blocks.give(blocks.take(MB))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                for _ in range(10):
                    blocks.give(blocks.take(MB))
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        worker.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_blocks_that_come_back_while_a_process_is_forked(tmp_path: Path) -> None:
    """Fork handlers of other libraries may release results or run the garbage collector."""
    program = """
    import os
    import numpy as np
    held = []
    os.register_at_fork(before=held.clear, after_in_child=held.clear)
    import s2s
    f = s2s.function(lambda x: x * 2.0 + 1.0, backend="numba")
    held += [f(np.ones(100_000)) for _ in range(3)]
    child = os.fork()
    if child == 0:
        os._exit(int(f(np.ones(100_000))[0]))
    assert os.waitpid(child, 0)[1] == 3 << 8
    """
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    space = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(file)], check=True, timeout=60, env=space)
