"""Range checks for the conversion of a scalar to an integer dtype.

NumPy raises OverflowError if a Python scalar is out of range (`np.uint8(300)`, `k + 300`,
`k[0] = -1`), and if any scalar out of range is assigned to an element or slice of a signed array.
Arrays wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.builder import Builder, Sym
from ..ir.nodes import Const, Scalar, Var
from .promotion import is_weak


def require_in_range(b: Builder, value: Any, dtype: str, numpy_scalars: bool = False) -> None:
    """Emit a check that the scalar `value` is in the range of the integer `dtype`.

    NumPy scalars wrap and are not checked, except against a signed dtype if `numpy_scalars`."""
    x = b.sym(value)
    if np.dtype(dtype).kind not in "iu" or not isinstance(x.type, Scalar) or _is_undefined(b, x):
        return
    if not (is_weak(x.type) or numpy_scalars and dtype.startswith("int")):
        return
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    kind = np.dtype(x.dtype).kind
    if kind == "f":
        _require_finite_fit(b, x, low, high, dtype)
    elif kind in "iu":
        _require_integer_fit(b, x, low, high, dtype)


def require_no_float_overflow(b: Builder, x: Sym, dtype: str) -> None:
    """Emit a check that a Python float does not overflow in float16 or float32.

    Only values unknown at compile time are checked."""
    if dtype in ("float16", "float32") and is_weak(x.type) and x.dtype == "float64":
        if not isinstance(x.operand, Const) and not _is_undefined(b, x):
            size, largest = b.emit("absolute", x), float(np.finfo(dtype).max)
            fits = (size <= largest) | (size == np.inf) | (x != x)
            message = f" is too large for {dtype}, which it is on another path"
            b.check(fits, "OverflowError", x, message)


def require_exact_in_float(b: Builder, x: Sym, dtype: str) -> None:
    """Emit a check that a Python integer is represented exactly by float16 or float32, which is its
    dtype on another path."""
    if dtype not in ("float16", "float32") or x.dtype != "int64" or not is_weak(x.type):
        return
    message = f" is not exact in {dtype}, which it is on another path"
    value = x.type.value
    if value is not None and value.is_const:
        if int(np.dtype(dtype).type(value.const)) != value.const:
            b.check(False, "OverflowError", f"Python integer {value.const}{message}")
    elif not _is_undefined(b, x):
        exact = b.emit("absolute", x) <= 2 ** (np.finfo(dtype).nmant + 1)
        b.check(exact, "OverflowError", "Python integer ", x, message)


def _is_undefined(b: Builder, x: Sym) -> bool:
    """True if `x` is `undef`, the value of a name that is not bound yet."""
    made = b.definitions.get(x.operand.name) if isinstance(x.operand, Var) else None
    return made is not None and made.name == "undef"


def _require_integer_fit(b: Builder, x: Sym, low: int, high: int, dtype: str) -> None:
    """Emit the bound checks of an integer; a size is known to be non-negative."""
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
    """Emit the checks of a float: it is truncated, so it must be in (low - 1, high + 1)."""
    b.check(b.emit("equal", x, x), "ValueError", "cannot convert float NaN to integer")
    # For 64-bit integers low - 1 is not representable in float64; low itself is in range.
    above = x > float(low - 1) if float(low - 1) < low else x >= float(low)
    b.check(above & (x < float(high + 1)), "OverflowError", x, f" is out of bounds for {dtype}")
