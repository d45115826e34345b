"""The device of `target="cuda"`: a GPU, by cuda.core.

All work is issued on one stream.  Memory comes from the pool of the device, in the order of the
stream, and is used again (`memory_cache.py`).  Arrays of other libraries are taken over after the
work that produces them; libraries that take ours wait for our stream.  When memory goes back to its
owner, the owner's stream waits for the other one, as far as it is known: that of DLPack's consumer,
and the default stream of a library whose array we have read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from ctypes import memmove
from importlib import import_module
from itertools import accumulate
from threading import Lock
from typing import Any

import numpy as np

from ..errors import DeviceError, S2STypeError, VersionError
from . import compiler, cublas, dlpack
from .device_array import (
    DeviceArray,
    checked_dtype,
    contiguous_strides,
    refuse_strided,
)
from .execution import Device, Pair
from .kernel_text import KernelText
from .memory_cache import Allocation, MemoryCache

NO_DRIVER = (
    'target="cuda-emulated" runs the same kernels on the CPU; for a GPU, install NVIDIA\'s driver'
)


# Flags of errors and scalar results are copied by way of so much pinned memory.
PINNED_BYTES = 32768


class Borrowed:
    """Memory of an array of another library, which is kept alive.  `released` is called before the
    library may use the memory again."""

    __slots__ = ("__weakref__", "address", "nbytes", "owner", "released")

    def __init__(self, owner: Any, address: int, nbytes: int, released: Callable[[], None]) -> None:
        self.owner, self.address, self.nbytes = owner, address, nbytes
        self.released = released

    def __del__(self) -> None:
        self.released()


class CudaDevice(Device):
    """The current GPU of the process."""

    target = "cuda"

    def __init__(self) -> None:
        super().__init__()
        self._core, self._driver = _packages()
        try:
            self._device = self._core.Device()
            self._device.set_current()
        except Exception as error:
            raise DeviceError(f"there is no usable GPU: {error}", advice=NO_DRIVER) from error
        self._stream = self._device.create_stream()
        self.stream_number = int(self._stream.handle)
        self.dlpack_device = (dlpack.CUDA, int(self._device.device_id))
        found = self._device.compute_capability
        self.capability: tuple[int, int] = (int(found.major), int(found.minor))
        self.description = f"{self._device.name}, compute capability {found.major}.{found.minor}"
        self._loaded: dict[str, Any] = {}
        self._pinned: int | None = None
        self._pinned_lock = Lock()
        self._gemm = cublas.Gemm(self.stream_number)
        self._memory = MemoryCache(
            lambda nbytes: self._device.allocate(nbytes, stream=self._stream)
        )

    # ---- memory

    def _allocate(self, nbytes: int) -> Allocation:
        found, is_new = self._memory.allocation(nbytes)
        self.counts.allocations += is_new
        return found

    def release(self) -> None:
        self._memory.release()

    def _copy_in(self, memory: Any, array: np.ndarray[Any, Any]) -> None:
        # The source is pageable: the driver has read it when this returns.
        self._done(
            self._driver.cuMemcpyHtoDAsync(
                memory.address, array.ctypes.data, array.nbytes, self.stream_number
            )
        )

    def _copy_out(self, pairs: list[Pair]) -> None:
        places = list(accumulate((-(-array.nbytes // 8) * 8 for _, array in pairs), initial=0))
        if places[-1] > PINNED_BYTES:
            for memory, array in pairs:
                self._copy_to(array.ctypes.data, memory, array.nbytes)
            self._stream.sync()
            return
        with self._pinned_lock:
            page = self._pinned_page()
            for (memory, array), place in zip(pairs, places):
                self._copy_to(page + place, memory, array.nbytes)
            self._stream.sync()
            for (_, array), place in zip(pairs, places):
                memmove(array.ctypes.data, page + place, array.nbytes)

    def _copy_to(self, address: int, memory: Any, nbytes: int) -> None:
        self._done(
            self._driver.cuMemcpyDtoHAsync(address, memory.address, nbytes, self.stream_number)
        )

    def _pinned_page(self) -> int:
        """The address of memory of the host that the device copies into without the driver."""
        if self._pinned is None:
            status, address = self._driver.cuMemAllocHost(PINNED_BYTES)
            self._done(status)
            self._pinned = int(address)
        return self._pinned

    def copy_between(self, source: Any, target: Any, nbytes: int) -> None:
        if nbytes:
            self._done(
                self._driver.cuMemcpyDtoDAsync(
                    target.address, source.address, nbytes, self.stream_number
                )
            )

    def _fill(self, memory: Any, pattern: bytes, nbytes: int) -> None:
        fill, address = self._driver.cuMemsetD32Async, memory.address
        words = [int.from_bytes(pattern[i : i + 4], "little") for i in range(0, len(pattern), 4)]
        if len(pattern) < 4:
            one = {1: self._driver.cuMemsetD8Async, 2: self._driver.cuMemsetD16Async}[len(pattern)]
            self._done(one(address, words[0], nbytes // len(pattern), self.stream_number))
        elif len(set(words)) == 1:
            self._done(fill(address, words[0], nbytes // 4, self.stream_number))
        else:
            assert nbytes == len(pattern)
            for i, word in enumerate(words):
                self._done(fill(address + 4 * i, word, 1, self.stream_number))

    def _done(self, result: Any) -> None:
        """Raise an error for a result of the driver that is one."""
        status = result[0] if isinstance(result, tuple) else result
        if int(status) != 0:
            raise DeviceError(f"the CUDA driver reports {status}")

    # ---- arrays of other libraries

    def adopt(self, x: Any) -> DeviceArray:
        if isinstance(x, DeviceArray):
            if x._device is not self:
                raise S2STypeError(f"{x!r} is on another device", advice="copy it with .numpy()")
            return x
        foreign = hasattr(x, "__cuda_array_interface__")
        if not foreign and hasattr(type(x), "__dlpack_device__"):
            foreign = x.__dlpack_device__()[0] in (dlpack.CUDA, dlpack.CUDA_MANAGED)
        if not foreign:
            array = np.asarray(x)
            checked_dtype(array.dtype, "x")
            return self.from_host(array)
        view = self._core.utils.StridedMemoryView.from_any_interface(
            x, stream_ptr=self.stream_number
        )
        name = type(x).__name__
        if view.device_id != self.dlpack_device[1]:
            raise S2STypeError(
                f"the {name} is on GPU {view.device_id}, and compiled functions run on GPU "
                f"{self.dlpack_device[1]}",
                advice="copy it to the current GPU",
            )
        dtype = checked_dtype(view.dtype, f"the {name}")
        strides = None if view.strides is None else [s * dtype.itemsize for s in view.strides]
        if not contiguous_strides(view.shape, strides, dtype.itemsize):
            refuse_strided(f"the {name}")
        count = int(np.prod(view.shape, dtype=np.int64)) * dtype.itemsize
        memory = Borrowed((x, view), int(view.ptr), count, self._let_default_stream_wait)
        return DeviceArray(self, memory, view.shape, dtype, writeable=not view.readonly)

    def dlpack(self, array: DeviceArray, *, stream: int | None = None, **options: Any) -> Any:
        if stream != -1:  # the consumer's stream has to wait for ours
            self._wait(stream)
        return dlpack.capsule(array, self.dlpack_device, lambda: self._wait_for(stream))

    def _wait(self, stream: int | None) -> None:
        """Let a stream of another library wait for the work so far."""
        self._core.Stream.from_handle(_handle(stream)).wait(self._stream)

    def _wait_for(self, stream: int | None) -> None:
        """Let our stream wait for the work of a library that releases an array of ours, whose
        memory may be used again then."""
        with suppress(Exception):  # at the end of the process there may be no driver
            self._stream.wait(self._core.Stream.from_handle(_handle(stream)))

    def _let_default_stream_wait(self) -> None:
        """Let the default stream wait for ours: a library may use memory again that our kernels
        still read."""
        with suppress(Exception):
            self._wait(None)

    # ---- launches

    def _launch(self, kernel: KernelText, blocks: int, threads: int, values: list[Any]) -> None:
        found = self._loaded.get(kernel.digest)
        if found is None:
            found = self._loaded[kernel.digest] = self._load(kernel)
        config = self._core.LaunchConfig(grid=blocks, block=threads)
        # Python integers are passed as 8 bytes, which fits addresses and int64.
        arguments = [_typed(t, v) for t, v in zip(kernel.types, values)]
        self._core.launch(self._stream, config, found, *arguments)

    def _load(self, kernel: KernelText) -> Any:
        made = compiler.ptx(kernel, self.capability)
        return self._core.ObjectCode.from_ptx(made.ptx.encode()).get_kernel(made.symbol)

    def library_gemm(self, *arguments: Any) -> bool:
        return self._gemm(*arguments)

    def synchronise(self) -> None:
        self.counts.synchronisations += 1
        self._stream.sync()


def _handle(stream: int | None) -> int:
    """The handle of a stream by its number in DLPack's protocol; that of the default stream if it
    is not known."""
    return 0 if stream in (None, 1, -1) else int(stream or 0)


_SCALARS: dict[str, Any] = {
    name: getattr(np, name if name != "bool" else "bool_")
    for name in "float64 float32 bool uint64 int32 uint32 int16 uint16 int8 uint8".split()
}


def _typed(type_: str, value: Any) -> Any:
    """An argument of a launch with its size."""
    return value if type_ == "int64" or type_.endswith("*") else _SCALARS[type_](value)


def _packages() -> tuple[Any, Any]:
    """cuda.core, and the driver's functions."""
    try:
        core, driver = import_module("cuda.core"), import_module("cuda.bindings.driver")
    except ImportError as error:
        raise VersionError(
            'target="cuda" needs cuda-core, which is not installed', advice=compiler.INSTALL
        ) from error
    try:
        (status,) = driver.cuInit(0)
    except Exception as error:  # the driver's library is missing
        raise DeviceError("there is no CUDA driver on this machine", advice=NO_DRIVER) from error
    if int(status) != 0:
        raise DeviceError(f"the CUDA driver does not start: {status}", advice=NO_DRIVER)
    return core, driver
