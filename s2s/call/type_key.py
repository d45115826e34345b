"""Type keys of values: hashable keys of type, dtype, rank, layout and writeability.

Two values with equal type keys have equal specs.  Dispatch computes them first in every call
that no call stub takes, so they are cheap: the only objects they allocate are tuples.
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


class IdentityKey:
    """A key by object identity.  It keeps the object alive, so that its id is not reused."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.value is other.value

    def __repr__(self) -> str:
        return f"Same({self.value!r})"


def type_key(value: Any, static: bool = False, tensors: bool = False) -> Any:
    """The type key of a value.  With `static`, the value itself is part of the key.  With
    `tensors`, arrays have value semantics, so their writeability is not part of the key."""
    if static:
        return _static_key(value)
    cls = type(value)
    if tensors:
        return _tensor_type_key(value)
    if cls is _ndarray:
        flags = value.flags
        return (value.dtype, value.ndim, flags.c_contiguous, flags.writeable)
    if cls in _SCALARS:
        return cls
    if isinstance(value, _ndarray):  # a subclass: some are rejected, others are treated as arrays
        return (cls, value.dtype, value.ndim, value.flags.c_contiguous, value.flags.writeable)
    if cls is tuple or cls is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return (cls, *[type_key(v) for v in value])
    if cls is dict:
        return (cls, tuple(value), *[type_key(value[k]) for k in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return (cls, *[type_key(getattr(value, f.name)) for f in fields])
    return _object_key(value)


def _tensor_type_key(value: Any) -> Any:
    cls = type(value)
    if cls is _ndarray or hasattr(cls, "_s2s_tensor"):
        return (value.dtype, value.ndim, value.flags.c_contiguous)
    if cls is tuple or cls is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return (cls, *[_tensor_type_key(v) for v in value])
    if cls is dict:
        return (cls, tuple(value), *[_tensor_type_key(value[k]) for k in value])
    return type_key(value)


def _static_key(value: Any) -> Any:
    """The key of a static argument: its type and value, or its identity if it is not hashable."""
    cls = type(value)
    if cls is tuple or cls is list:
        return (cls, *[_static_key(v) for v in value])
    if cls is dict:
        return (cls, *[(_static_key(k), _static_key(v)) for k, v in value.items()])
    if cls is float:
        return (cls, repr(value))  # distinguishes 0.0 from -0.0, and nan equals nan
    try:
        hash(value)
    except TypeError:
        return IdentityKey(value)
    return ("static", cls, value)


def _object_key(value: Any) -> Any:
    if value is None or isinstance(value, (str, bytes)):
        return (type(value), value)
    if hasattr(type(value), "_s2s_device"):
        return (type(value), value.dtype, value.ndim, value.writeable)
    if type(value) is types.FunctionType:
        return same_function(value)
    return IdentityKey(value)
