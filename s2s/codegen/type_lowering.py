"""Lowering of types to LLVM types, in registers and in memory, and conversion to and from Numba's
types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..transforms.ir.lazy import lazy_property
from . import value_types
from .llvm_utils import BIT
from .value_types import Array, Complex, Float, Literal, Number, Opaque, Tuple


class Context:
    """Lowering context.  `numba` is Numba's target context, created by `make` on first use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @lazy_property
    def numba(self) -> Any:
        return self._make()

    # ---- scalars

    def value_type(self, kind: Any) -> Any:
        """The LLVM type of a value in registers (booleans are i1)."""
        if kind == value_types.boolean:
            return BIT
        if isinstance(kind, Number):
            return memory_type(kind)
        return self.numba.get_value_type(to_numba(kind))

    def load(self, builder: Any, kind: Number, place: Any) -> Any:
        return self.of_memory(builder, kind, builder.load(place))

    def of_memory(self, builder: Any, kind: Number, value: Any) -> Any:
        """Convert a loaded value to its register type."""
        if kind == value_types.boolean:
            return builder.icmp_unsigned("!=", value, value.type(0))
        return value

    def store(self, builder: Any, kind: Number, value: Any, place: Any) -> None:
        if kind == value_types.boolean:
            value = builder.zext(value, memory_type(kind))
        builder.store(value, place)


@functools.cache
def memory_type(kind: Number) -> Any:
    """The LLVM type of a scalar in memory (booleans are i8)."""
    if isinstance(kind, Float):
        return ir.FloatType() if kind.bits == 32 else ir.DoubleType()
    if isinstance(kind, Complex):
        return ir.LiteralStructType([memory_type(kind.part)] * 2)
    return ir.IntType(8 * kind.bytes)


# ---------------------------------------------------------------- Numba's types


@functools.cache
def to_numba(kind: Any) -> Any:
    """The Numba type for a type of `value_types.py`."""
    from numba.core import types

    if isinstance(kind, Number):
        return getattr(types, "boolean" if kind == value_types.boolean else kind.name)
    if isinstance(kind, Array):
        dtype = to_numba(kind.dtype)
        return types.Array(dtype, kind.ndim, kind.layout, readonly=kind.readonly)
    if isinstance(kind, Literal):
        return types.literal(kind.value)
    if isinstance(kind, Tuple):
        return types.BaseTuple.from_types([to_numba(t) for t in kind.types])
    assert isinstance(kind, Opaque)
    known = {value_types.none: types.none, value_types.string: types.unicode_type}
    return kind.numba or known[kind]


def of_numba(type_: Any) -> Any:
    """The type of `value_types.py` for a Numba type; `Opaque` if there is none."""
    from numba.core import types

    if isinstance(type_, types.Literal):
        if isinstance(type_, types.IntegerLiteral):
            return Literal(type_.literal_value)
        return of_numba(types.unliteral(type_))
    if isinstance(type_, (types.Number, types.Boolean)):
        return value_types.NUMBERS.get(str(type_)) or Opaque(str(type_), type_)
    if isinstance(type_, types.Array) and type_.aligned:
        dtype = of_numba(type_.dtype)
        return Array(dtype, type_.ndim, type_.layout, readonly=not type_.mutable)
    if isinstance(type_, types.BaseTuple):
        return Tuple(tuple(of_numba(t) for t in type_))  # type: ignore[attr-defined]
    if isinstance(type_, types.NumPyRandomGeneratorType):
        return Opaque("generator", type_)
    if isinstance(type_, types.UnicodeType):
        return value_types.string
    return value_types.none if isinstance(type_, types.NoneType) else Opaque(str(type_), type_)
