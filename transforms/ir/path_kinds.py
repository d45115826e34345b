"""The least kind of a value whose dtype depends on the path taken.

A scalar that is an integer on one path and a float on another is a float here, and so is an array
made of it.  NumPy makes an integer array on the first path, and truncates the floats that are
stored there.  The kinds are those of dtypes, in the order of promotion: "b", "i", "f", "c".  The
empty kind belongs to values without elements and to names that are not bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .nodes import Const, ListOf, Op, Operand, Scalar, Type
from .record import replace

_ORDER = ("", "b", "i", "f", "c")
_NAMES = {"bool": "b", "int": "i", "uint": "i", "float": "f", "complex": "c"}
_DTYPES = {"b": "bool", "i": "int64", "f": "float64", "c": "complex128"}
KIND_NAMES = {"b": "bool", "i": "integer", "f": "float", "c": "complex"}
# Operations whose result has the kind of their first operand, or the largest kind of all operands,
# and an attribute that holds the dtype.
_FIRST = (
    *("full", "update", "update_add", "list_drop", "copy"),
    *(f"{name}_like" for name in ("zeros", "ones", "empty", "full")),
)
_LARGEST = ("pack", "list_append", "list_set")


def dtype_kind(type_: Type) -> str:
    """The kind of a dtype; empty for records and generators.  Python counts a bool as an int."""
    name = _NAMES.get(type_.dtype.rstrip("0123456789"), "")
    return "i" if name == "b" and isinstance(type_, Scalar) and type_.weak else name


def at_most(one: str, other: str) -> bool:
    return _ORDER.index(one) <= _ORDER.index(other)


def least(kinds: Sequence[str]) -> str:
    """The least kind of a value that is one of several; the empty kind does not count."""
    return min((k for k in kinds if k), key=_ORDER.index, default="")


def least_of_result(rule: Any, b: Any, op: Op, type_: Type, kinds: Sequence[str]) -> str:
    """The least kind of the result of `op`, whose operands have the least kinds `kinds`."""
    if op.name == "list_new":
        return ""
    if op.name in _FIRST:
        return kinds[0]
    if op.name == "list_set":
        kinds = kinds[::2]
    if op.name in _LARGEST:
        return max(kinds, key=_ORDER.index, default=dtype_kind(type_))
    if op.name in ("cast", "literal"):
        return dtype_kind(type_)
    types = tuple(_lowered(x, k) for x, k in zip(op.args, kinds, strict=True))
    try:
        return dtype_kind(rule.infer(b, types, op.attrs, op.args))
    except Exception:  # not defined for that dtype
        return dtype_kind(type_)


def _lowered(operand: Operand, lower: str) -> Type:
    type_: Any = operand.type
    if isinstance(operand, Const) or dtype_kind(type_) == lower or not lower:
        return type_
    if isinstance(type_, ListOf):
        return replace(type_, elem=replace(type_.elem, dtype=_DTYPES[lower]))
    return replace(type_, dtype=_DTYPES[lower])
