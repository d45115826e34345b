"""Dtype promotion of elementwise operations: the rules of NumPy 2 (NEP 50), resolved by NumPy.

A Python scalar is a weak scalar: an int64, float64 or complex128 that adopts the dtype of the other
operand.  Operations on weak scalars alone follow Python: a bool counts as an int, `2 ** -1` is 0.5.

A *mixed* scalar (`Scalar.mixed`) is a join of control-flow paths with different promotion, such as
a Python integer on one path and a NumPy integer on another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..ir.errors import UnsupportedError
from ..ir.nodes import Array, Scalar, Type
from ..ir.record import replace

COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
# Operations without a NumPy ufunc: the result dtype is the join of these operands' dtypes.
_JOINED_OPERANDS = {
    "where": slice(1, 3),
    "clip": slice(0, 3),
    "clip_low": slice(0, 2),
    "clip_high": slice(0, 2),
    "strong_mul": slice(0, 2),
}
# Operations without a NumPy ufunc that promote like the given ufunc.
_SAME_PROMOTION = {
    **dict.fromkeys(
        "erf erfc erfcx erfinv erfcinv ndtri expit lgamma gamma digamma".split(), "exp"
    ),
    **dict.fromkeys("polygamma jv iv ive beta betaln".split(), "arctan2"),
    **dict.fromkeys(("real", "imag"), "absolute"),
}
# Operations for which Python counts a bool as an int.
BOOL_AS_INT_OPS = (
    "add subtract multiply divide floor_divide remainder power negative positive absolute"
    " left_shift right_shift invert"
).split()
_PYTHON_TYPES = {"float64": float, "int64": int, "complex128": complex}
_PYTHON_INTEGERS = ("bool", "int64")
_INT64_RANGE = (-(2**63), 2**63 - 1)


def is_weak(type_: Type) -> bool:
    """True for the type of a Python scalar."""
    return isinstance(type_, Scalar) and type_.weak


def compute_dtype(op: str, types: Sequence[Type]) -> str:
    """The dtype to which operands are cast before `op` is computed; for `where`, its two
    choices."""
    return _dtypes(op, types)[0]


def result_dtype(op: str, types: Sequence[Type]) -> str:
    """The dtype of the result of `op`."""
    return _dtypes(op, types)[1]


def converted_operands(op: str, operands: Sequence[Any]) -> Sequence[Any]:
    """The operands that are cast to the compute dtype; for `where`, its two choices."""
    return operands[_JOINED_OPERANDS[op]] if op in _JOINED_OPERANDS else operands


def mixed_dtypes(op: str, types: Sequence[Type]) -> tuple[str, str]:
    """The result dtypes of `op` with mixed integers as NumPy scalars, and as Python scalars."""
    python = [
        Scalar("int64", True) if isinstance(t, Scalar) and t.mixed and not t.weak else t
        for t in types
    ]
    return result_dtype(op, types), result_dtype(op, python)


def join_dtypes(types: Sequence[Type]) -> str:
    """The join of the dtypes: NumPy's `result_type`."""
    joined = _join(tuple(_key(t) for t in types))
    _refuse_overflow(types, joined)
    return joined


def join_types(left: Type, right: Type) -> Type:
    """The type of a phi of two values of equal rank.

    Dims, and the symbolic value of an integer, are kept only if both types agree on them."""
    from ..ir.builder import OPEN

    if left.ndim == 0 and isinstance(left, Scalar) and isinstance(right, Scalar):
        return _join_scalars(left, right)
    assert isinstance(left, (Scalar, Array)) and isinstance(right, (Scalar, Array))
    assert left.ndim == right.ndim, (left, right)
    shape = tuple(p if p == q else OPEN for p, q in zip(left.shape, right.shape, strict=True))
    layouts = {t.layout for t in (left, right) if isinstance(t, Array)}
    dtype = join_dtypes((left, right)) if left.dtype != right.dtype else left.dtype
    return Array(dtype, shape, "C" if layouts == {"C"} else "A")


def _join_scalars(left: Scalar, right: Scalar) -> Scalar:
    value = left.value if left.value == right.value else None
    if left.dtype == right.dtype:
        # A mixed float64 promotes as a Python scalar; a join with a NumPy float64 is not mixed.
        mixed = left.mixed or right.mixed
        weak = left.weak and right.weak
        return Scalar(left.dtype, weak, value, mixed and (weak or left.dtype != "float64"))
    for one, other in ((left, right), (right, left)):
        if one.weak and one.mixed and other.dtype == "float32":
            return Scalar("float64", True, None, True)
        if one.weak and not other.weak and _is_small(other.dtype) and one.dtype in _PYTHON_INTEGERS:
            return Scalar(other.dtype, False, value, True)
    dtype = join_dtypes((left, right))
    return Scalar(dtype, left.weak and right.weak, value)


def join_elements(left: Any, right: Any) -> Type:
    """The type of the elements of a list.  The array that NumPy makes of Python floats and float32
    numbers is float64; an element keeps the promotion of a Python float."""
    types = left, right
    if all(isinstance(t, Scalar) for t in types) and "float32" in (left.dtype, right.dtype):
        if any(is_weak(t) and t.dtype == "float64" for t in types):
            return Scalar("float64", True, None, True)
    return join_types(left, right)


def differ_in_integer_dtype(left: Type, right: Type) -> bool:
    """True if both are integers, of different dtypes: arithmetic with them wraps differently."""
    kinds = {kind_of(left.dtype), kind_of(right.dtype)}
    return left.dtype != right.dtype and kinds <= {"i", "u"}


def join_conflict(left: Type, right: Type) -> str:
    """The reason why a phi of these two types is not supported; empty if it is supported.

    Integers of different dtypes wrap differently, so the result of arithmetic on the phi would
    depend on the path taken."""
    if not isinstance(left, (Scalar, Array)) or not isinstance(right, (Scalar, Array)):
        return ""
    if left.dtype == right.dtype or not {kind_of(left.dtype), kind_of(right.dtype)} <= {"i", "u"}:
        return ""
    for one, other in ((left, right), (right, left)):
        if is_weak(one):
            if not _const_int_satisfies(one, lambda v: not _fits(v, other.dtype)):  # noqa: B023
                return ""
            return f"a Python integer that is too large on one path and {other.dtype} on another"
    return f"{left.dtype} on one path and {right.dtype} on another"


def phi_operand_type(operand: Any) -> Type:
    """The type of a phi operand: mixed if it is a Python float that becomes infinite or 0 in
    float32."""
    type_, value = operand.type, getattr(operand, "value", None)
    if is_weak(type_) and isinstance(value, float) and math.isfinite(value):
        with np.errstate(all="ignore"):
            narrow = float(np.float32(value))
        if math.isinf(narrow) or (narrow == 0.0) != (value == 0.0):
            return replace(type_, mixed=True)
    return type_


def _is_small(dtype: str) -> bool:
    """True for integer dtypes other than int64."""
    return kind_of(dtype) in "iu" and dtype != "int64"


def _dtypes(op: str, types: Sequence[Type]) -> tuple[str, str]:
    """The compute dtype and the result dtype of `op`."""
    types = _pythonic(types) if op in BOOL_AS_INT_OPS else list(types)
    if op in _JOINED_OPERANDS:
        joined = types[_JOINED_OPERANDS[op]]
        dtype = _join(tuple(_key(t) for t in joined))
        _refuse_overflow(joined, dtype)
        return dtype, dtype
    if (
        op == "power"
        and all(map(is_weak, types))
        and _const_int_satisfies(types[1], lambda v: v < 0)
    ):
        return "float64", "float64"
    compute, result = _resolve(op, tuple(_key(t) for t in types))
    if op in COMPARISONS:
        # Comparisons with a Python integer out of the other operand's range are exact.
        if kind_of(compute) in "iu" and any(t.dtype == "int64" for t in types if is_weak(t)):
            compute = "int64"
    else:
        _refuse_overflow(types, compute)
    return compute, result


def _pythonic(types: Sequence[Type]) -> list[Type]:
    """The operand types, with bool replaced by int if all are Python scalars."""
    if all(map(is_weak, types)):
        return [Scalar("int64", True, t.value) if t.dtype == "bool" else t for t in types]  # type: ignore[union-attr]
    return list(types)


def _key(type_: Type) -> Any:
    """The argument for `resolve_dtypes` and `result_type`: a Python type for a weak scalar."""
    if is_weak(type_) and type_.dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[type_.dtype]
    return np.dtype(type_.dtype)


@cache
def _resolve(op: str, keys: tuple[Any, ...]) -> tuple[str, str]:
    ufunc = getattr(np, _SAME_PROMOTION.get(op, op))
    try:
        dtypes = ufunc.resolve_dtypes((*keys, None))
    except TypeError as error:
        # NumPy's subclasses of TypeError cannot be raised again with a source position added.
        raise TypeError(str(error)) from None
    return dtypes[0].name, dtypes[-1].name


@cache
def _join(keys: tuple[Any, ...]) -> str:
    return np.result_type(*(k(0) if isinstance(k, type) else k for k in keys)).name


def kind_of(dtype: str) -> str:
    """NumPy's one-letter kind of a dtype."""
    return "O" if dtype == "object" else np.dtype(dtype).kind


def is_inexact(dtype: str) -> bool:
    """True for float and complex dtypes."""
    return kind_of(dtype) in "fc"


def _const_int_satisfies(type_: Type, holds: Any) -> bool:
    """True if the type is that of a constant int64 whose value satisfies `holds`."""
    value = type_.value if isinstance(type_, Scalar) else None
    return value is not None and value.is_const and type_.dtype == "int64" and holds(value.const)


def _fits(value: int, dtype: str) -> bool:
    """True if an integer is in the range of `dtype`; always true for non-integer dtypes."""
    kind = np.dtype(dtype).kind
    if kind not in "iu":
        return True
    info = np.iinfo(dtype)
    return int(info.min) <= value <= int(info.max)


def _refuse_overflow(types: Sequence[Type], dtype: str) -> None:
    """Raise if a constant Python integer is out of the range of `dtype`."""
    for t in types:
        value = t.value if isinstance(t, Scalar) and t.weak else None
        if value is None or not value.is_const or t.dtype != "int64":
            continue
        if not _INT64_RANGE[0] <= value.const <= _INT64_RANGE[1]:
            raise UnsupportedError("this integer does not fit in 64 bits", advice="use a float")
        if not _fits(value.const, dtype):
            raise OverflowError(f"Python integer {value.const} out of bounds for {dtype}")
