"""Arrays that training code gets: NumPy's own, with `.numpy()`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .marks import compiled_as


class Tensor(np.ndarray):
    """A NumPy array in every way; `numpy()` is a plain copy.  Numbers are arrays of rank 0."""

    def numpy(self) -> Any:
        plain = np.array(self)
        return plain if self.ndim else plain[()]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        # NumPy makes numbers of arrays of rank 0, which have no `.numpy()`.
        return array.view(Tensor) if array.dtype.kind in "fc" else super().__array_wrap__(
            array, context, return_scalar
        )  # fmt: skip

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 and spec else super().__format__(spec)


def _in_place(name: str) -> Any:
    """`x += 1` makes a new number of a number, and changes an array."""

    def operator(self: Tensor, other: Any) -> Any:
        whole = self.ndim > 0
        return getattr(super(Tensor, self), f"__{'i' * whole}{name}__")(other)

    return operator


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Tensor, f"__i{_name}__", _in_place(_name))


def _same(value: Any) -> Any:
    return value


@compiled_as(_same)
def tensor(value: Any) -> Any:
    """Numbers and arrays of a result as tensors, in the same structure."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray) or (
        isinstance(value, np.generic) and value.dtype.kind in "fiubc"
    ):
        return np.asarray(value).view(Tensor)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(tensor(v) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(tensor(v) for v in value)
    if isinstance(value, dict):
        return {k: tensor(v) for k, v in value.items()}
    return value
