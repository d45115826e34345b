"""Checks every access to memory of emulated kernels.  It is slow, and used by tests.

Found are

- data races: two accesses to an element in one launch, one of which writes, by threads that no
  barrier orders.  Atomic accesses race with plain ones only.  Threads of different blocks are never
  ordered within a launch;
- reads of elements that have not been written;
- accesses outside of all arrays, or outside of a shared or local array.

The flags of errors (`err`, `err_values`) are exempt from the test for races: kernels read the flag
while others may set it, and the first writer wins.

Kernels call a function before each access (`retarget.py`).  An access is described by its thread,
its block, and its epoch, the number of barriers that the thread has passed.
"""

from __future__ import annotations

import ctypes
import weakref
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from typing import Any

from ..transforms.ir.lazy import memoize
from . import retarget
from .kernel_text import KernelText

MANY = -1  # more than one thread or block


class MemoryViolation(RuntimeError):
    """A violation that the shadow memory has found in a launch."""


@dataclass
class _Accesses:
    """The accesses of one kind to an element in the current launch: the block, or `MANY`; in this
    block the last epoch, and there the thread, or `MANY`."""

    block: int
    epoch: int
    thread: int

    def add(self, block: int, epoch: int, thread: int) -> None:
        if self.block != block:
            self.block = MANY
        elif self.epoch != epoch:
            self.epoch, self.thread = epoch, thread
        elif self.thread != thread:
            self.thread = MANY

    def races_with(self, block: int, epoch: int, thread: int) -> bool:
        return self.block != block or (self.epoch == epoch and self.thread != thread)


# Kinds of accesses, and those that they race with.
_RACING = {
    "load": ("store", "atomic"),
    "store": ("load", "store", "atomic"),
    "atomic": ("load", "store"),
}


@dataclass
class _Region:
    """A range of addresses: an array, or a shared or local array of a kernel."""

    start: int
    size: int
    kind: str  # "array", "shared", "local"
    memory: Any = None  # a weak reference, if it is an array
    defined: set[int] = field(default_factory=set)  # offsets of bytes with a value


class ShadowMemory:
    """The checks of one test.  Arrays are allocated with `margin` bytes around them, so that an
    index slightly out of bounds does not reach another array."""

    def __init__(self, margin: int = 4096) -> None:
        self.margin = margin
        self._starts: list[int] = []
        self._regions: dict[int, _Region] = {}
        self._in_kernel: list[int] = []  # starts of shared and local arrays
        self._accesses: dict[int, dict[str, _Accesses]] = {}
        self._exempt: tuple[int, int] = (0, 0)
        self._block = self._thread = self._epoch = 0
        self._seen: set[int] = set()  # threads of this epoch of the block
        self._kernel: KernelText | None = None
        self.problem = ""

    def addresses(self) -> dict[str, int]:
        """The addresses of the functions that kernels call."""
        return {
            name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in _callbacks().items()
        }

    # ---- arrays

    def add(self, memory: Any) -> None:
        self._forget_dead()
        self._insert(_Region(memory.address, memory.nbytes, "array", weakref.ref(memory)))

    def written(self, address: int, nbytes: int) -> None:
        """Note that the host has written to an array."""
        region = self._region(address, nbytes)
        if region is not None:
            start = address - region.start
            region.defined.update(range(start, start + nbytes))

    def _insert(self, region: _Region) -> None:
        if region.start not in self._regions:
            insort(self._starts, region.start)
        self._regions[region.start] = region

    def _remove(self, start: int) -> None:
        del self._regions[start]
        self._starts.remove(start)

    def _forget_dead(self) -> None:
        for start, region in list(self._regions.items()):
            if region.memory is not None and region.memory() is None:
                self._remove(start)

    def _region(self, address: int, size: int) -> _Region | None:
        i = bisect_right(self._starts, address) - 1
        if i < 0:
            return None
        region = self._regions[self._starts[i]]
        inside = region.start <= address and address + size <= region.start + region.size
        return region if inside else None

    # ---- launches

    def begin_launch(self, kernel: KernelText, errors: int) -> None:
        """`errors` is the address of the flags, which are exempt from the test for races."""
        global _active
        self._forget_dead()
        self._kernel = kernel
        self._accesses.clear()
        self._exempt = (errors, errors + 72)
        self._block = -1
        _active = self

    def end_launch(self) -> None:
        global _active
        _active = None
        for start in self._in_kernel:
            self._remove(start)
        self._in_kernel = []
        problem, self.problem = self.problem, ""
        if problem:
            assert self._kernel is not None
            raise MemoryViolation(f"{problem} in the kernel {self._kernel.name}")

    def begin_block(self, block: int) -> None:
        for start in self._in_kernel:
            region = self._regions[start]
            for address in range(start, start + region.size):
                self._accesses.pop(address, None)
            self._remove(start)
        self._in_kernel = []
        self._block, self._epoch = block, 0
        self._seen = set()

    def begin_thread(self, thread: int) -> None:
        if thread in self._seen:
            self._epoch += 1
            self._seen = set()
        self._seen.add(thread)
        self._thread = thread

    def begin_array(self, address: int, size: int, kind: str) -> None:
        if address not in self._regions:
            self._in_kernel.append(address)
        self._insert(_Region(address, size, kind))

    def access(self, address: int, size: int, kind: str) -> None:
        region = self._region(address, size)
        if region is None:
            self._report(f"{kind} of {size} bytes outside of all arrays")
            return
        start = address - region.start
        own = range(start, start + size)
        if kind != "store" and not region.defined.issuperset(own):
            self._report(f"{kind} of an element of a {region.kind} array that was never written")
        if kind != "load":
            region.defined.update(own)
        if region.kind == "local" or self._exempt[0] <= address < self._exempt[1]:
            return
        known = self._accesses.setdefault(address, {})
        here = self._block, self._epoch, self._thread
        for other in _RACING[kind]:
            if other in known and known[other].races_with(*here):
                self._report(f"race between {kind} and {other} of a {region.kind} array")
        if kind in known:
            known[kind].add(*here)
        else:
            known[kind] = _Accesses(*here)

    def _report(self, text: str) -> None:
        if not self.problem:
            self.problem = f"{text} by thread {self._thread} of block {self._block}"


_active: ShadowMemory | None = None


@memoize
def _callbacks() -> dict[str, Any]:
    """Functions for the kernels, which act on the shadow memory that is active."""
    one = ctypes.CFUNCTYPE(None, ctypes.c_int64)
    two = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)

    def access(kind: str) -> Any:
        def announce(address: int, size: int) -> None:
            assert _active is not None
            _active.access(address, size, kind)

        return two(announce)

    def array(kind: str) -> Any:
        def announce(address: int, size: int) -> None:
            assert _active is not None
            _active.begin_array(address, size, kind)

        return two(announce)

    def block(number: int) -> None:
        assert _active is not None
        _active.begin_block(number)

    def thread(number: int) -> None:
        assert _active is not None
        _active.begin_thread(number)

    found = {
        "s2s_shadow_block": one(block),
        "s2s_shadow_thread": one(thread),
        "s2s_shadow_load": access("load"),
        "s2s_shadow_store": access("store"),
        "s2s_shadow_atomic": access("atomic"),
        "s2s_shadow_local": array("local"),
        "s2s_shadow_shared": array("shared"),
    }
    assert set(found) == set(retarget.SHADOW_FUNCTIONS)
    return found
