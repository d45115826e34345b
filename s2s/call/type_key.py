"""What can be told of a value at a glance, as a hashable key.

Two values with equal fingerprints have equal specs.  It is the first thing done in every
call, so it makes no objects but tuples.
"""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import numpy as np

from ..transforms.frontend.pytree import same_function

_ndarray = np.ndarray
_SCALARS = frozenset(
    [float, int, bool, np.bool_, np.float64, np.float32, np.int64, np.int32, np.int16, np.int8]
    + [np.uint64, np.uint32, np.uint16, np.uint8, np.intc, np.longlong, np.random.Generator]
    + [complex, np.complex128, np.complex64]
)


class Same:
    """A key that means one object, and keeps it alive so that its id stays its own."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __repr__(self) -> str:
        return f"Same({self.value!r})"


def fingerprint(value: Any, static: bool = False, tensors: bool = False) -> Any:
    """With `tensors`, arrays are values: it makes no difference who may write to them."""
    if static:
        return _static(value)
    cls = type(value)
    if tensors:
        return _of_tensors(value)
    if cls is _ndarray:
        flags = value.flags
        return (value.dtype, value.ndim, flags.c_contiguous, flags.writeable)
    if cls in _SCALARS:
        return cls
    if isinstance(value, _ndarray):  # a subclass: some are refused, others are arrays
        return (cls, value.dtype, value.ndim, value.flags.c_contiguous, value.flags.writeable)
    if cls is tuple or cls is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return (cls, *[fingerprint(v) for v in value])
    if cls is dict:
        return (cls, tuple(value), *[fingerprint(value[k]) for k in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return (cls, *[fingerprint(getattr(value, f.name)) for f in fields])
    return _object(value)


def _of_tensors(value: Any) -> Any:
    cls = type(value)
    if cls is _ndarray or hasattr(cls, "_s2s_tensor"):
        return (value.dtype, value.ndim, value.flags.c_contiguous)
    if cls is tuple or cls is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return (cls, *[_of_tensors(v) for v in value])
    if cls is dict:
        return (cls, tuple(value), *[_of_tensors(value[k]) for k in value])
    return fingerprint(value)


def _static(value: Any) -> Any:
    """Static arguments are compared by type and value, or by identity if they have no hash."""
    cls = type(value)
    if cls is tuple or cls is list:
        return (cls, *[_static(v) for v in value])
    if cls is dict:
        return (cls, *[(_static(k), _static(v)) for k, v in value.items()])
    if cls is float:
        return (cls, repr(value))  # tells 0.0 from -0.0, and nan is nan
    try:
        hash(value)
    except TypeError:
        return Same(value)
    return ("static", cls, value)


def _object(value: Any) -> Any:
    if value is None or isinstance(value, (str, bytes)):
        return (type(value), value)
    if type(value) is types.FunctionType:
        return same_function(value)
    return Same(value)
