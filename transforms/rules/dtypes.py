"""Dtype arguments: supported dtypes, conversion to dtype names, casting rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.builder import Sym
from ..ir.errors import UnsupportedError
from ..ir.op_registry import NeedStatic

SUPPORTED = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64"
    " complex128"
).split()


def as_dtype(dtype: Any, default: str = "float64") -> str:
    """The name of a dtype given as a NumPy class, a string, a dtype, or float, int or bool."""
    if dtype is None:
        return default
    if isinstance(dtype, Sym):
        raise NeedStatic(dtype, "dtype")
    found = np.dtype(dtype)
    if found.name not in SUPPORTED or not found.isnative:
        raise UnsupportedError(
            f"dtype {found} is not supported", advice="use a float, int or bool dtype"
        )
    return found.name


def require_cast(x: Sym, dtype: str, casting: str) -> None:
    """Raise NumPy's TypeError if the rule `casting` does not allow a cast of `x` to `dtype`."""
    have, want = np.dtype(x.dtype), np.dtype(dtype)
    if not np.can_cast(have, want, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {have!r} to {want!r} according to the rule {casting!r}"
        )
