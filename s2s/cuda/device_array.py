"""`DeviceArray`: an array in the memory of a device."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..errors import S2STypeError, S2SValueError


class Memory(Protocol):
    """Memory of a device.  It is released when the last reference to it is gone."""

    address: int
    nbytes: int


class Slice:
    """A part of a memory."""

    __slots__ = ("address", "base", "nbytes")

    def __init__(self, base: Memory, start: int, nbytes: int) -> None:
        self.base, self.address, self.nbytes = base, base.address + start, nbytes


class DeviceArray:
    """An array in the memory of a device, contiguous in row-major order.

    Compiled functions with `target="cuda"` or `"cuda-emulated"` take and return such arrays.
    `.numpy()` copies one to the host; it waits for the calls that compute it, and raises their
    errors.  CuPy, PyTorch, JAX and Numba take it as it is, by DLPack or by
    `__cuda_array_interface__`.
    """

    __slots__ = ("__weakref__", "_call", "_device", "_memory", "dtype", "shape", "writeable")
    _s2s_device = True  # by which type keys and argument specs recognise it

    def __init__(
        self,
        device: Any,
        memory: Any,
        shape: tuple[int, ...],
        dtype: Any,
        writeable: bool = True,
    ) -> None:
        self._device, self._memory = device, memory
        self._call: Any = None  # the call that computes it, if that may fail
        self.shape, self.dtype, self.writeable = shape, np.dtype(dtype), writeable

    # ---- sizes

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        found, step = [], self.dtype.itemsize
        for n in reversed(self.shape):
            found.append(step)
            step *= n
        return tuple(reversed(found))

    @property
    def target(self) -> str:
        """The target whose functions take this array: `"cuda"` or `"cuda-emulated"`."""
        return self._device.target

    @property
    def address(self) -> int:
        """The address of the first element in the memory of the device."""
        return self._memory.address

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    # ---- to the host

    def numpy(self) -> Any:
        """A copy on the host: an array, or a scalar if the array has no axes."""
        found = np.empty(self.shape, self.dtype)
        pairs = [(self._memory, found)] if found.size else []
        # Raises the errors of the calls so far, and that of the call that computes this array.
        self._device.check_calls(self._call, *pairs)
        self._call = None
        return found if self.shape else found[()]

    def _check(self) -> None:
        """Raise the errors of the calls so far, and that of the call that computes this array."""
        self._device.check_calls(self._call)
        self._call = None

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.size != 1:
            raise ValueError(f"item() of an array with {self.size} elements")
        return np.asarray(self.numpy()).item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("an array on a device is copied to the host: leave out copy=False")
        return np.asarray(self.numpy(), dtype)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "()"
        return f"<s2s.DeviceArray {shape} {self.dtype.name} on {self.target}>"

    def assign(self, value: Any) -> None:
        """Copy the elements of another array of this shape, on the host or on this device."""
        if np.shape(value) != self.shape:
            raise ValueError(f"the array has shape {self.shape}, and the value {np.shape(value)}")
        if isinstance(value, DeviceArray) and value._device is self._device:
            if value.dtype == self.dtype:
                self._device.copy_between(value._memory, self._memory, self.nbytes)
                return
        array = np.ascontiguousarray(value, self.dtype)
        if array.size:
            self._device.copy_in(self._memory, array)

    def copy(self) -> DeviceArray:
        """A copy in the memory of the same device."""
        memory = self._device.allocate(self.nbytes)
        self._device.copy_between(self._memory, memory, self.nbytes)
        return DeviceArray(self._device, memory, self.shape, self.dtype)

    def __copy__(self) -> DeviceArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceArray:
        return self.copy()

    def __reduce__(self) -> Any:
        raise TypeError("an array on a device is not pickled: pickle x.numpy()")

    # ---- to other libraries

    def __dlpack__(self, **options: Any) -> Any:
        self._check()
        return self._device.dlpack(self, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device.dlpack_device

    def __getattr__(self, name: str) -> Any:
        # An attribute only of arrays on a GPU: other libraries test whether it exists.
        if name == "__cuda_array_interface__" and self._device.target == "cuda":
            return {
                "shape": self.shape,
                "typestr": self.dtype.str,
                "data": (self.address if self.size else 0, False),
                "version": 3,
                "strides": None,
                "stream": self._device.stream_number,
            }
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


DeviceArray.__module__ = "s2s"


def checked_dtype(dtype: Any, what: str) -> np.dtype[Any]:
    """The dtype of an array that kernels can work on, or an error."""
    found = np.dtype(dtype)
    if found.kind not in "fiub" or found.itemsize > 8 or found.name == "float16":
        raise S2STypeError(
            f"{what} is an array of {found}, which the CUDA target does not compute with",
            advice="float64, float32, integers and bools are supported",
        )
    return found


def contiguous_strides(shape: tuple[int, ...], strides: Any, itemsize: int) -> bool:
    """Whether strides in bytes are those of a contiguous array in row-major order."""
    if strides is None or 0 in shape:
        return True
    step = itemsize
    for n, stride in zip(reversed(shape), reversed(tuple(strides))):
        if n > 1 and stride != step:
            return False
        step *= n
    return True


def refuse_strided(what: str) -> None:
    raise S2SValueError(
        f"{what} is not contiguous in row-major order, as kernels need it",
        advice="make it contiguous on the device first: cupy.ascontiguousarray(x), x.contiguous()",
    )
