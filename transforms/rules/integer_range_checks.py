"""Range checks where a number is converted to an integer dtype.

NumPy raises OverflowError where a Python number does not fit (`np.uint8(300)`, `k + 300`,
`k[0] = -1`), and where any number is assigned to an element or slice of a signed array.
Arrays wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.builder import Builder, Sym
from ..ir.nodes import Const, Scalar, Var
from .promotion import is_weak


def require_fit(b: Builder, value: Any, dtype: str, numpy_numbers: bool = False) -> None:
    """Raises unless the number `value` fits in the integer `dtype`.  A NumPy number wraps, but
    where `numpy_numbers` says so it is checked against a signed dtype."""
    x = b.sym(value)
    if np.dtype(dtype).kind not in "iu" or not isinstance(x.type, Scalar) or _is_undefined(b, x):
        return
    if not (is_weak(x.type) or numpy_numbers and dtype.startswith("int")):
        return
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    kind = np.dtype(x.dtype).kind
    if kind == "f":
        _require_finite_fit(b, x, low, high, dtype)
    elif kind in "iu":
        _require_integer_fit(b, x, low, high, dtype)


def require_finite(b: Builder, x: Sym, dtype: str) -> None:
    """Raises where a Python float that is known at run time only is too large for a small float
    dtype."""
    if dtype in ("float16", "float32") and is_weak(x.type) and x.dtype == "float64":
        if not isinstance(x.operand, Const) and not _is_undefined(b, x):
            size, largest = b.emit("absolute", x), float(np.finfo(dtype).max)
            fits = (size <= largest) | (size == np.inf) | (x != x)
            told = f" is too large for {dtype}, which it is on another path"
            b.check(fits, "OverflowError", x, told)


def _is_undefined(b: Builder, x: Sym) -> bool:
    """Whether it stands for a name that is not bound yet, which has no value to check."""
    made = b.definitions.get(x.operand.name) if isinstance(x.operand, Var) else None
    return made is not None and made.name == "undef"


def _require_integer_fit(b: Builder, x: Sym, low: int, high: int, dtype: str) -> None:
    source = np.iinfo(x.dtype)
    value = x.type.value
    if value is not None and value.is_const:
        if not low <= value.const <= high:
            b.check(
                False, "OverflowError", f"Python integer {value.const} out of bounds for {dtype}"
            )
        return
    is_size = value is not None and b.facts.canonical(value).is_size
    least = 0 if is_size else int(source.min)
    message = ("Python integer ", x, f" out of bounds for {dtype}")
    if least < low:
        b.check(x >= low, "OverflowError", *message)
    if int(source.max) > high:
        b.check(x <= high, "OverflowError", *message)


def _require_finite_fit(b: Builder, x: Sym, low: int, high: int, dtype: str) -> None:
    """Floats are truncated, so that those above `low - 1` and below `high + 1` fit."""
    b.check(b.emit("equal", x, x), "ValueError", "cannot convert float NaN to integer")
    # low - 1 is not a float64 for 64-bit integers, and low itself fits.
    above = x > float(low - 1) if float(low - 1) < low else x >= float(low)
    b.check(above & (x < float(high + 1)), "OverflowError", x, f" is out of bounds for {dtype}")
