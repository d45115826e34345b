"""`Variable`: a named array that tapes watch and optimizers update in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from .change_counter import Announces
from .placement import is_on_device, on_device
from .tensor import tensor
from .variable_versions import accessed, before_change

_IN_PLACE = ("fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap")


# Size of a cache line, and of the smallest array that is aligned to one, in bytes.
_CACHE_LINE, _MIN_ALIGNED_BYTES = 64, 4096


def _aligned(array: Any) -> Any:
    """The array, or for a large matrix a copy aligned to a cache line, which is fastest in matrix
    products."""
    size = array.nbytes
    if (
        array.ndim < 2
        or size < _MIN_ALIGNED_BYTES
        or array.dtype.hasobject
        or _address(array) % _CACHE_LINE == 0
    ):
        return array
    memory = np.empty(size + _CACHE_LINE, np.uint8)
    start = -_address(memory) % _CACHE_LINE
    copy = memory[start : start + size].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


class Variable(Announces, np.lib.mixins.NDArrayOperatorsMixin):
    """A named array, which tapes watch automatically if it is `trainable`.

    A Python float becomes float32, the default in training; arrays keep their dtype.  In NumPy
    functions and arithmetic it behaves like an array.  `assign`, `assign_add`, `assign_sub` and
    indexed writes change it in place.

    device: "cpu", "cuda" or "cuda-emulated", by default that of the initial value.  Compiled
        functions with that target update a Variable in place.  Everything else, such as arithmetic
        in plain Python, copies its value to the host first.
    """

    _s2s_variable = True
    _tensor = staticmethod(tensor)  # converts results for the user; subclasses override it

    def __init__(
        self,
        initial_value: Any,
        trainable: bool = True,
        name: str = "Variable",
        dtype: Any = None,
        device: str | None = None,
    ) -> None:
        if isinstance(initial_value, Variable):
            initial_value = initial_value._array
        if is_on_device(initial_value):
            device = initial_value.target if device is None else device
            initial_value = initial_value.numpy()
        if dtype is None and not isinstance(initial_value, (np.ndarray, np.generic)):
            found = np.asarray(initial_value)
            dtype = np.float32 if found.dtype == np.float64 else found.dtype
        array: Any = _aligned(np.array(initial_value, dtype=dtype, order="C"))
        self._array = array if device in (None, "cpu") else on_device(array, str(device))
        self.trainable = bool(trainable)
        self.name = name

    # ---- as an array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> Any:
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def device(self) -> str:
        """Where the value is: "cpu", or the target whose functions update it."""
        return self._array.target if is_on_device(self._array) else "cpu"

    @property
    def _on_host(self) -> Any:
        """The value on the host: a copy if it is on a device."""
        array = self._array
        return np.asarray(array) if is_on_device(array) else array

    @property
    def value(self) -> Variable:
        return self

    def numpy(self) -> Any:
        """A copy of the current value."""
        accessed(self)
        return self._on_host.copy() if self.ndim else self._on_host[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        accessed(self)
        if copy is False:
            raise ValueError("a Variable is a copy as an array: leave out copy=False")
        return np.array(self._on_host, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(o, Variable) for o in kwargs.get("out", ())):
            return NotImplemented
        for x in inputs:
            if isinstance(x, Variable):
                accessed(x)
        plain = [x._on_host if isinstance(x, Variable) else x for x in inputs]
        return self._tensor(getattr(ufunc, method)(*plain, **kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        accessed(self)
        found = getattr(self._on_host, name)
        if not callable(found):
            return self._part(found)

        def method(*args: Any, **kwargs: Any) -> Any:
            if name in _IN_PLACE:
                if is_on_device(self._array):
                    raise TypeError(f"{self.name} is on a device: {name} is not supported there")
                before_change(self._array)
            if name == "resize":  # needs an array without other references that owns its memory
                self._array = self._array.copy()
                return self._array.resize(*args, **kwargs)
            return self._part(found(*args, **kwargs))

        return method

    def __getitem__(self, index: Any) -> Any:
        accessed(self)
        return self._part(self._on_host[index])

    def _part(self, value: Any) -> Any:
        """A value read from the Variable: views are copied, so later changes do not affect them,
        and are read-only."""
        if isinstance(value, np.ndarray) and np.may_share_memory(value, self._on_host):
            value = value.copy()
            value.flags.writeable = False
        return self._tensor(value)

    def __len__(self) -> int:
        return len(self._array)

    def __float__(self) -> float:
        accessed(self)
        return float(self._on_host)

    def __bool__(self) -> bool:
        accessed(self)
        return bool(self._on_host)

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "()"
        return f"<s2s.Variable {self.name} {shape} {self.dtype.name}: {self._array!r}>"

    # ---- in place

    def assign(self, value: Any) -> Variable:
        value = value._array if isinstance(value, Variable) else value
        value = value if is_on_device(value) else np.asarray(value)
        if value.shape != self.shape:
            raise ValueError(f"{self.name} has shape {self.shape}, and the new value {value.shape}")
        accessed(self)
        before_change(self._array)
        if is_on_device(self._array):
            self._array.assign(value)
        else:
            self._array[...] = np.asarray(value)
        return self

    def assign_add(self, delta: Any) -> Variable:
        return self.assign(self._on_host + delta)

    def assign_sub(self, delta: Any) -> Variable:
        return self.assign(self._on_host - delta)

    def __setitem__(self, index: Any, value: Any) -> None:
        if is_on_device(self._array):
            changed = self.numpy()
            changed[index] = value
            self.assign(changed)
            return
        before_change(self._array)
        self._array[index] = value

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return self.assign_add(other)

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return self.assign_sub(other)
