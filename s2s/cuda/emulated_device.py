"""The device of `target="cuda-emulated"`: kernels run on the CPU, on memory of the host.

Fresh memory is filled with a byte that makes floats NaN, because a device does not clear memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import S2STypeError
from . import emulator
from .device_array import DeviceArray, checked_dtype
from .execution import Device, Pair
from .kernel_text import KernelText
from .retarget import POISON

_ALIGNMENT = 256


class HostMemory:
    """Memory of the host, aligned as that of a device."""

    __slots__ = ("__weakref__", "_bytes", "address", "nbytes")

    def __init__(self, nbytes: int, margin: int = 0) -> None:
        self._bytes = np.full(nbytes + 2 * margin + _ALIGNMENT, POISON, np.uint8)
        start = self._bytes.ctypes.data + margin
        self.address, self.nbytes = start + -start % _ALIGNMENT, nbytes

    def array(self, address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        """A part of the memory as an array of the host."""
        start = address - self._bytes.ctypes.data
        count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return self._bytes[start : start + count].view(dtype).reshape(shape)


class EmulatedDevice(Device):
    """Runs launches at once.  `block` is the number of threads of a block (None: as emitted);
    `reversed` runs the threads of a block from the last one; `shadow` checks all accesses."""

    target = "cuda-emulated"
    description = "the kernels run on the CPU"
    dlpack_device = (1, 0)

    def __init__(self) -> None:
        super().__init__()
        self.block: int | None = None
        self.reversed = False
        self.shadow: Any = None
        self._loaded: dict[Any, Any] = {}

    @contextmanager
    def settings(
        self, block: int | None = None, reversed: bool = False, shadow: Any = None
    ) -> Iterator[None]:
        """Change the settings within a `with` block."""
        before = self.block, self.reversed, self.shadow
        self.block, self.reversed, self.shadow = block, reversed, shadow
        try:
            yield
        finally:
            self.block, self.reversed, self.shadow = before

    # ---- memory

    def _allocate(self, nbytes: int) -> HostMemory:
        self.counts.allocations += 1
        if self.shadow is None:
            return HostMemory(nbytes)
        memory = HostMemory(nbytes, self.shadow.margin)
        self.shadow.add(memory)
        return memory

    def _copy_in(self, memory: Any, array: np.ndarray[Any, Any]) -> None:
        base = getattr(memory, "base", memory)
        base.array(memory.address, array.shape, array.dtype)[...] = array
        if self.shadow is not None:
            self.shadow.written(memory.address, array.nbytes)

    def _copy_out(self, pairs: list[Pair]) -> None:
        for memory, array in pairs:
            base = getattr(memory, "base", memory)
            array[...] = base.array(memory.address, array.shape, array.dtype)

    def copy_between(self, source: Any, target: Any, nbytes: int) -> None:
        kept = np.empty(nbytes, np.uint8)
        self._copy_out([(source, kept)])
        self._copy_in(target, kept)

    def _fill(self, memory: Any, pattern: bytes, nbytes: int) -> None:
        count = nbytes // len(pattern)
        self._copy_in(memory, np.frombuffer(pattern * count, np.uint8))

    def adopt(self, x: Any) -> DeviceArray:
        if isinstance(x, DeviceArray):
            if x._device is not self:
                raise S2STypeError(f"{x!r} is on another device", advice="copy it with .numpy()")
            return x
        if hasattr(x, "__dlpack_device__") and not isinstance(x, np.ndarray):
            x = np.from_dlpack(x)
        array = np.asarray(x)
        checked_dtype(array.dtype, "x")
        return self.from_host(array)

    def dlpack(self, array: DeviceArray, **options: Any) -> Any:
        base = getattr(array._memory, "base", array._memory)
        return base.array(array.address, array.shape, array.dtype).__dlpack__(**options)

    # ---- launches

    def _launch(self, kernel: KernelText, blocks: int, threads: int, values: list[Any]) -> None:
        shadow = self.shadow
        key = (kernel.digest, shadow is not None)
        run = self._loaded.get(key)
        if run is None:
            addresses = None if shadow is None else shadow.addresses()
            run = self._loaded[key] = emulator.function(kernel, addresses)
        if shadow is not None:
            shadow.begin_launch(kernel, values[0])
        try:
            run(blocks, threads, self.reversed, *values)
        finally:
            if shadow is not None:
                shadow.end_launch()
