"""A cache of GPU memory.

Memory that a call releases is used by the next call with the same sizes: a training step then
allocates nothing.  All work is on one stream, so memory can be used again as soon as no array
refers to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SMALLEST = 512


class Allocation:
    """Memory of the device; it goes back to the cache when nothing refers to it."""

    __slots__ = ("__weakref__", "address", "buffer", "cache", "nbytes")

    def __init__(self, cache: MemoryCache, buffer: Any, nbytes: int) -> None:
        self.cache, self.buffer, self.nbytes = cache, buffer, nbytes
        self.address = int(buffer.handle)

    def __del__(self) -> None:
        self.cache.take_back(self.buffer)


class MemoryCache:
    """Buffers by size.  `allocate(n)` makes a new one of n bytes."""

    def __init__(self, allocate: Callable[[int], Any]) -> None:
        self._allocate = allocate
        self._free: dict[int, list[Any]] = {}

    def allocation(self, nbytes: int) -> tuple[Allocation, bool]:
        """Memory of at least `nbytes` bytes, and whether it is new."""
        size = size_class(nbytes)
        free = self._free.get(size)
        try:
            buffer = free.pop() if free else None
        except IndexError:  # another thread took it
            buffer = None
        if buffer is not None:
            return Allocation(self, buffer, nbytes), False
        try:
            buffer = self._allocate(size)
        except Exception:
            self.release()  # the free memory has other sizes
            buffer = self._allocate(size)
        return Allocation(self, buffer, nbytes), True

    def take_back(self, buffer: Any) -> None:
        self._free.setdefault(buffer.size, []).append(buffer)

    def release(self) -> None:
        """Give the free memory back to the device."""
        self._free = {}


def size_class(nbytes: int) -> int:
    """The size of the buffer for `nbytes` bytes: at most an eighth more, at least 512."""
    step = max(_SMALLEST, 1 << max(nbytes.bit_length() - 4, 0))
    return max(-(-nbytes // step), 1) * step
