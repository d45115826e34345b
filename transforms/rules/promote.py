"""Result dtypes of elementwise operations: NumPy 2's (NEP 50), asked of NumPy itself.

A Python number is a weak scalar: an int64, float64 or complex128 that adopts its partner's dtype.
Among themselves weak scalars follow Python: a bool counts as an int, `2 ** -1` is 0.5."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..ir import Array, Scalar, Type

COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
# Operations that NumPy has no ufunc for: the dtypes of these operands are joined.
_JOINED = {
    "where": slice(1, 3),
    "clip": slice(0, 3),
    "clip_low": slice(0, 2),
    "clip_high": slice(0, 2),
    "strong_mul": slice(0, 2),
}
# What NumPy lacks behaves as one of its own.
_LIKE = {
    **dict.fromkeys("erf erfc erfcx erfinv ndtri expit lgamma gamma digamma".split(), "exp"),
    **dict.fromkeys("polygamma jv iv ive".split(), "arctan2"),
    **dict.fromkeys(("real", "imag"), "absolute"),
}
# Where Python counts a bool as an int.
COUNTING = (
    "add subtract multiply divide floor_divide remainder power negative positive absolute"
    " left_shift right_shift invert"
).split()
_PYTHON = {"float64": float, "int64": int, "complex128": complex}
_INT64 = (-(2**63), 2**63 - 1)


def is_weak(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.weak


def compute_dtype(op: str, types: Sequence[Type]) -> str:
    """The dtype to which operands are converted before `op` is computed (for `where` its
    two choices)."""
    return _dtypes(op, types)[0]


def result_dtype(op: str, types: Sequence[Type]) -> str:
    return _dtypes(op, types)[1]


def converted_operands(op: str, operands: Sequence[Any]) -> Sequence[Any]:
    """The operands that are converted to the compute dtype: of `where` its two choices."""
    return operands[_JOINED[op]] if op in _JOINED else operands


def join_dtypes(types: Sequence[Type]) -> str:
    """The dtype that holds all of these: NumPy's `result_type`."""
    joined = _join(tuple(_key(t) for t in types))
    _refuse_overflow(types, joined)
    return joined


def join_types(left: Type, right: Type) -> Type:
    """The type of a value that is one or the other, of equal rank: dims and what is known
    of an integer are kept only where both agree."""
    from ..build import OPEN

    if left.ndim == 0 and isinstance(left, Scalar) and isinstance(right, Scalar):
        dtype = join_dtypes((left, right)) if left.dtype != right.dtype else left.dtype
        return Scalar(
            dtype, left.weak and right.weak, left.value if left.value == right.value else None
        )
    assert isinstance(left, (Scalar, Array)) and isinstance(right, (Scalar, Array))
    assert left.ndim == right.ndim, (left, right)
    shape = tuple(p if p == q else OPEN for p, q in zip(left.shape, right.shape, strict=True))
    layouts = {t.layout for t in (left, right) if isinstance(t, Array)}
    dtype = join_dtypes((left, right)) if left.dtype != right.dtype else left.dtype
    return Array(dtype, shape, "C" if layouts == {"C"} else "A")


def _dtypes(op: str, types: Sequence[Type]) -> tuple[str, str]:
    types = _pythonic(types) if op in COUNTING else list(types)
    if op in _JOINED:
        chosen = types[_JOINED[op]]
        dtype = _join(tuple(_key(t) for t in chosen))
        _refuse_overflow(chosen, dtype)
        return dtype, dtype
    if op == "power" and all(map(is_weak, types)) and _known(types[1], lambda v: v < 0):
        return "float64", "float64"
    compute, result = _resolve(op, tuple(_key(t) for t in types))
    if op in COMPARISONS:
        # A Python integer beyond its partner's range still compares rightly.
        if kind_of(compute) in "iu" and any(t.dtype == "int64" for t in types if is_weak(t)):
            compute = "int64"
    else:
        _refuse_overflow(types, compute)
    return compute, result


def _pythonic(types: Sequence[Type]) -> list[Type]:
    """Among Python numbers alone, a bool is an int."""
    if all(map(is_weak, types)):
        return [Scalar("int64", True, t.value) if t.dtype == "bool" else t for t in types]  # type: ignore[union-attr]
    return list(types)


def _key(type_: Type) -> Any:
    if is_weak(type_) and type_.dtype in _PYTHON:
        return _PYTHON[type_.dtype]
    return np.dtype(type_.dtype)


@cache
def _resolve(op: str, keys: tuple[Any, ...]) -> tuple[str, str]:
    ufunc = getattr(np, _LIKE.get(op, op))
    try:
        dtypes = ufunc.resolve_dtypes((*keys, None))
    except TypeError as error:
        # NumPy's own subclasses cannot be raised again with a place added.
        raise TypeError(str(error)) from None
    return dtypes[0].name, dtypes[-1].name


@cache
def _join(keys: tuple[Any, ...]) -> str:
    return np.result_type(*(k(0) if isinstance(k, type) else k for k in keys)).name


def kind_of(dtype: str) -> str:
    return "O" if dtype == "object" else np.dtype(dtype).kind


def _known(type_: Type, holds: Any) -> bool:
    value = type_.value if isinstance(type_, Scalar) else None
    return value is not None and value.is_const and type_.dtype == "int64" and holds(value.const)


def _fits(value: int, dtype: str) -> bool:
    kind = np.dtype(dtype).kind
    if kind not in "iu":
        return True
    info = np.iinfo(dtype)
    return int(info.min) <= value <= int(info.max)


def _refuse_overflow(types: Sequence[Type], dtype: str) -> None:
    for t in types:
        value = t.value if isinstance(t, Scalar) and t.weak else None
        if value is None or not value.is_const or t.dtype != "int64":
            continue
        if not _fits(value.const, dtype) or not _INT64[0] <= value.const <= _INT64[1]:
            raise OverflowError(f"Python integer {value.const} out of bounds for {dtype}")
