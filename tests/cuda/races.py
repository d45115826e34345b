"""Detection of data races and wrong indices on Numba's CUDA simulator.

Two accesses to one element are a race if they are of different threads, one of them writes, they
are not both atomic, and no barrier orders them: they are of different blocks, or between the same
two barriers of one block.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
from numba.cuda.simulator.kernel import BlockThread
from numba.cuda.simulator.kernelapi import FakeCUDAAtomic, FakeCUDAShared


class Race(AssertionError):
    """Two threads access one element in no order."""


_add, _syncthreads = FakeCUDAAtomic.add, BlockThread.syncthreads


def _atomic_add(self: Any, array: Any, index: Any, value: Any) -> Any:
    thread: Any = threading.current_thread()
    thread.is_atomic = True
    try:
        return _add(self, array, index, value)
    finally:
        thread.is_atomic = False


def _barrier(self: Any) -> None:
    _syncthreads(self)
    self.barriers = getattr(self, "barriers", 0) + 1


class Accesses:
    """The accesses of one launch, by address.  `current` are those of the last one."""

    current: Accesses

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.found: dict[tuple[int, int], set[tuple[int, int, int, str]]] = {}
        Accesses.current = self

    def add(self, name: str, address: tuple[int, int], kind: str) -> None:
        thread: Any = threading.current_thread()
        if getattr(thread, "is_atomic", False):
            kind = "atomic"
        block, number = thread.blockIdx.x, thread.threadIdx.x
        barriers = getattr(thread, "barriers", 0)
        here = (block, number, barriers, kind)
        seen = self.found.setdefault(address, set())
        if here in seen:
            return
        for other in seen:
            b, t, when, what = other
            if (b, t) == (block, number) or (b == block and when != barriers):
                continue
            if kind == what and kind in ("atomic", "load"):
                continue
            raise Race(f"{self.kernel}: {kind} and {what} of one element by two threads ({name})")
        seen.add(here)


class WatchedArray(FakeCUDAArray):
    """An array whose accesses in a kernel are recorded."""

    def __init__(self, array: Any, accesses: Accesses, name: str, block: int = -1) -> None:
        super().__init__(array)
        self.accesses, self.name, self.block = accesses, name, block
        self.first = array.__array_interface__["data"][0]

    def _record(self, index: Any, kind: str) -> None:
        assert 0 <= index < self._ary.size, f"{self.name}[{index}] of {self._ary.size} elements"
        address = self.first + int(index) * self._ary.itemsize
        self.accesses.add(self.name, (self.block, address), kind)

    def __getitem__(self, index: Any) -> Any:
        self._record(index, "load")
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._record(index, "store")
        super().__setitem__(index, value)


def _shared_array(self: Any, shape: Any, dtype: Any) -> Any:
    """A shared array; the simulator identifies it by the line of the call."""
    frame = sys._getframe(1)
    key = frame.f_code.co_filename, frame.f_lineno
    if key not in self._allocations:
        self._allocations[key] = np.empty(shape, dtype)
    thread: Any = threading.current_thread()
    block = thread.blockIdx.x
    return WatchedArray(self._allocations[key], Accesses.current, "shared memory", block)


FakeCUDAAtomic.add = _atomic_add
BlockThread.syncthreads = _barrier
FakeCUDAShared.array = _shared_array
