"""Arrays that training code gets: NumPy's own, with `.numpy()`."""

from __future__ import annotations

from typing import Any

import numpy as np


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
