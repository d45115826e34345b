"""The base class of both devices, and the object `dev` that host functions take."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .. import kernels as rt
from ..errors import exception
from .device_array import DeviceArray, Slice
from .kernel_text import KernelText

# A bound on the number of blocks.  It does not depend on the device, so neither do the results.
MAX_BLOCKS = 1024
GEMM_TILE, GEMM_THREADS = 16, 256
_ERRORS, _VALUES = 5, 4  # elements of `err` and `err_values`
# The maximal number of calls whose errors are unchecked; with more, all are checked.
MAX_UNCHECKED = 256


# A memory of the device, and the array of the host that it is copied to.
Pair = tuple[Any, "np.ndarray[Any, Any]"]


@dataclass
class Counts:
    """The operations of a device since the counts were set to 0.  `bytes_accessed` are the sizes of
    the arrays that kernels and products are given."""

    launches: int = 0
    gemm_calls: int = 0
    allocations: int = 0
    synchronisations: int = 0
    copies_in: int = 0
    copies_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_accessed: int = 0

    def reset(self) -> None:
        for field in fields(self):
            setattr(self, field.name, 0)


class Device:
    """A device: memory, copies, launches, and the calls whose errors are unchecked.

    A subclass has the methods at the end of the class; it may have `library_gemm`.
    """

    target = ""
    description = ""
    dlpack_device = (1, 0)
    stream_number: int | None = None

    def __init__(self) -> None:
        self.counts = Counts()
        self._own = threading.local()

    # ---- memory

    def allocate(self, nbytes: int) -> Any:
        """Memory, not initialised."""
        return self._allocate(nbytes)

    def release(self) -> None:
        """Give memory that is not in use back to the system."""

    def copy_in(self, memory: Any, array: np.ndarray[Any, Any]) -> None:
        """Copy a contiguous array of the host into a memory."""
        self.counts.copies_in += 1
        self.counts.bytes_in += array.nbytes
        self._copy_in(memory, array)

    def copy_out(self, *pairs: Pair) -> None:
        """For each pair, copy the start of a memory into a contiguous array of the host; waits for
        the device once."""
        if pairs:
            self.counts.copies_out += len(pairs)
            self.counts.bytes_out += sum(array.nbytes for _, array in pairs)
            self.counts.synchronisations += 1
            self._copy_out(list(pairs))

    def from_host(self, value: Any, dtype: Any = None) -> DeviceArray:
        """A copy of an array of the host."""
        array = np.ascontiguousarray(value, dtype).reshape(np.shape(value))
        memory = self.allocate(array.nbytes)
        if array.size:
            self.copy_in(memory, array)
        return DeviceArray(self, memory, array.shape, array.dtype)

    def fill(self, memory: Any, pattern: bytes, nbytes: int) -> None:
        """Fill a memory with a pattern of 1, 2, 4 or 8 bytes, without a copy from the host."""
        self._fill(memory, pattern, nbytes)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        dtype = np.dtype(dtype)
        count = 1
        for n in shape:
            count *= n
        return DeviceArray(self, self.allocate(count * dtype.itemsize), shape, dtype)

    # ---- launches

    def launch(self, kernel: KernelText, blocks: int, threads: int, values: list[Any]) -> None:
        self.counts.launches += 1
        self._launch(kernel, blocks, threads, values)

    def library_gemm(self, *arguments: Any) -> bool:
        """Compute a matrix product by a library; False if there is none."""
        return False

    # ---- errors

    @property
    def unchecked(self) -> list[Call]:
        """The calls of this thread whose errors are unchecked."""
        if not hasattr(self._own, "calls"):
            self._own.calls = []
        return self._own.calls

    def defer_check(self, call: Call) -> None:
        """Check the errors of a call later: when an array is copied to the host."""
        self.unchecked.append(call)
        if len(self.unchecked) > MAX_UNCHECKED:
            self.check_calls()

    def check_calls(self, last: Call | None = None, *pairs: Pair) -> None:
        """Raise the first error of the calls of this thread so far, and of the call `last`.  Those
        after it are checked next time.  The flags are copied together with `pairs`."""
        calls = self.unchecked
        others = [] if last is None or any(c is last for c in calls) else [last]
        flags = (pair for call in [*calls, *others] for pair in call.flags_to_copy())
        self.copy_out(*flags, *pairs)
        while calls:
            calls.pop(0).finish()
        for call in others:
            call.finish()

    # ---- methods of subclasses

    def _allocate(self, nbytes: int) -> Any:
        raise NotImplementedError

    def _copy_in(self, memory: Any, array: Any) -> None:
        raise NotImplementedError

    def _copy_out(self, pairs: list[Pair]) -> None:
        raise NotImplementedError

    def copy_between(self, source: Any, target: Any, nbytes: int) -> None:
        raise NotImplementedError

    def _fill(self, memory: Any, pattern: bytes, nbytes: int) -> None:
        raise NotImplementedError

    def adopt(self, x: Any) -> DeviceArray:
        """An array or number of the host copied to the device, or an array on it as it is."""
        raise NotImplementedError

    def dlpack(self, array: DeviceArray, **options: Any) -> Any:
        """The DLPack capsule of an array."""
        raise NotImplementedError

    def _launch(self, kernel: KernelText, blocks: int, threads: int, values: list[Any]) -> None:
        raise NotImplementedError


class Call:
    """One call of a host function: the object `dev` of docs/design/cuda.md.  `translate` turns an
    error of a kernel into the user's."""

    def __init__(
        self,
        device: Any,
        kernels: dict[str, KernelText],
        translate: Callable[[Exception], Exception],
    ) -> None:
        self.device, self.kernels, self.translate = device, kernels, translate
        self.failures: Any = ()
        self.error: Exception | None = None
        self._flags: Any = None
        self._read: Any = None  # a copy of the flags

    def begin(self, failures: Any) -> tuple[DeviceArray, DeviceArray]:
        self.failures = failures
        whole = self._flags = self.device.allocate(8 * (_ERRORS + _VALUES))
        self.device.fill(whole, bytes(8), whole.nbytes)
        errors = Slice(whole, 0, 8 * _ERRORS)
        values = Slice(whole, 8 * _ERRORS, 8 * _VALUES)
        self._err = DeviceArray(self.device, errors, (_ERRORS,), np.int64)
        return self._err, DeviceArray(self.device, values, (_VALUES,), np.float64)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        return self.device.empty(tuple(map(int, shape)), dtype)

    def scalar(self, value: Any, dtype: Any) -> DeviceArray:
        found = self.device.empty((1,), dtype)
        pattern = np.array(value, dtype).tobytes()
        self.device.fill(found._memory, pattern, len(pattern))
        return found

    def view(self, array: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
        found = DeviceArray(self.device, array._memory, tuple(map(int, shape)), array.dtype)
        assert found.size == array.size, (array.shape, shape)
        return found

    def blocks(self, cells: int, block: int) -> int:
        return max(1, min(MAX_BLOCKS, -(-int(cells) // block)))

    def launch(self, kernel: Any, blocks: int, threads: int, *arguments: Any) -> None:
        text = self.kernels[kernel.__name__]
        if blocks < 1 or len(arguments) != len(text.types):
            raise AssertionError(f"{text.name}: {blocks} blocks, {len(arguments)} arguments")
        values = [argument(t, v) for t, v in zip(text.types, arguments)]
        arrays = (a for a in arguments if isinstance(a, DeviceArray) and a is not self._err)
        self.device.counts.bytes_accessed += sum(a.nbytes for a in arrays)
        self.device.launch(text, int(blocks), int(threads), values)

    def gemm(
        self, kernel: Any, swap_a: bool, swap_b: bool, m: int, n: int, k: int, alpha: Any, a: Any,
        a_at: int, b: Any, b_at: int, beta: Any, c: Any, c_at: int,
    ) -> None:  # fmt: skip
        self.gemm_batched(
            kernel, swap_a, swap_b, m, n, k, alpha, a, a_at, b, b_at, beta, c, c_at, 1, 0, 0, 0
        )

    def gemm_batched(
        self, kernel: Any, swap_a: bool, swap_b: bool, m: int, n: int, k: int, alpha: Any, a: Any,
        a_at: int, b: Any, b_at: int, beta: Any, c: Any, c_at: int, batch: int, a_step: int,
        b_step: int, c_step: int,
    ) -> None:  # fmt: skip
        if m < 1 or n < 1 or batch < 1:
            return
        given = (
            swap_a, swap_b, m, n, k, alpha, a, a_at, b, b_at, beta, c, c_at, batch, a_step, b_step,
            c_step,
        )  # fmt: skip
        self.device.counts.gemm_calls += 1
        # Before a library call nothing tests the flag; what it computes after an error is not used.
        if self.device.library_gemm(*given):
            self.device.counts.bytes_accessed += a.nbytes + b.nbytes + c.nbytes
            return
        tiles = -(-m // GEMM_TILE) * -(-n // GEMM_TILE)
        self.launch(kernel, batch * tiles, GEMM_THREADS, self._err, *given)

    def fetch(self, array: DeviceArray) -> Any:
        found = np.empty(1, array.dtype)
        self.device.copy_out(*self.flags_to_copy(), (array._memory, found))
        self._raise()
        return found[0]

    def check(self) -> None:
        self.report()

    def report(self) -> None:
        """Raise the error of the call, if there is one; waits for the device."""
        self.device.copy_out(*self.flags_to_copy())
        self._raise()

    def flags_to_copy(self) -> list[Pair]:
        """The flags of the call and where they are to be copied to, if it may have failed."""
        if self.error is not None or not self.failures or self._flags is None:
            return []
        self._read = np.empty(_ERRORS + _VALUES, np.int64)
        return [(self._flags, self._read)]

    def _raise(self) -> None:
        """Raise the error that the copied flags tell of."""
        if self.error is None and self._read is not None and self._read[0]:
            self.error = self.translate(failure(self.failures, self._read))
        if self.error is not None:
            raise self.error

    def finish(self) -> None:
        """Report the error of a call that has returned, by the flags copied last.  If there is
        none, later calls return at once."""
        self._raise()
        self._flags = None


def failure(failures: Any, flags: np.ndarray[Any, Any]) -> Exception:
    """The error that a kernel has reported."""
    name, message, number, dtypes = failures[int(flags[0]) - 1]
    if number is None:
        return exception(getattr(name, "__name__", name))(message)
    integers, floats = flags[1:_ERRORS], flags[_ERRORS:].view(np.float64)
    values = []
    for k, dtype in enumerate(dtypes[:_VALUES]):
        if np.dtype(dtype).kind == "f":
            values.append(float(floats[k]))
        else:
            values.append(bool(integers[k]) if dtype == "bool" else int(integers[k]))
    return rt.Failure(number, *values)


def argument(type_: str, value: Any) -> Any:
    """What a launch passes for an argument: an address, or a number of Python."""
    if isinstance(value, DeviceArray):
        assert type_ == f"{value.dtype.name}*", (type_, value)
        return value._memory.address
    assert not type_.endswith("*"), (type_, value)
    if type_.startswith("float"):
        return float(value)
    return bool(value) if type_ == "bool" else int(value)
