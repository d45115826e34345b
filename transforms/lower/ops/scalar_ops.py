"""Elementwise operations as scalar expressions, one element at a time.

`element(emitter, op, args, compute, result)` takes the expressions of one element of each operand
and returns that of the result.  Operands are first converted to NumPy's compute dtype, because
the promotion rules of Numba and Python differ from NumPy's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ...ir.errors import UnsupportedError
from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L
from ..loop_ir.conversions import _literal, cast, kind, wrap_to_dtype
from ..loop_ir.operations import OPS
from .bit_shift import guarded_shift

_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/"}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_SHIFTS = {"left_shift": "<<", "right_shift": ">>"}
_COMPARE = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "equal": "==", "not_equal": "!=",
}  # fmt: skip
# Comparisons, evaluated at compile time.
_COMPARE_CONSTANTS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_ROUNDING = {"floor", "ceil", "trunc", "rint"}
# Operations that return the element unchanged, converted to the result's dtype.
CONVERSIONS = {"cast", "copy", "literal", "same", "stop_gradient"}

# Cost per element, roughly in units of one addition.  Operations that are not listed cost 8.
_COSTS = {
    **dict.fromkeys((*_ARITHMETIC, *_BITS, *_SHIFTS, *_COMPARE), 1),
    **dict.fromkeys(
        ("negative", "absolute", "positive", "where", "cast", "square", "logical_not",
         "logical_and", "logical_or", "maximum", "minimum", "strong_mul", "invert", "isnan",
         "clip", "clip_low", "clip_high"), 1,
    ),
    "divide": 3, "sqrt": 3, "copy": 0, "literal": 0, "stop_gradient": 0,
    "conjugate": 1, "real": 1, "imag": 1,
}  # fmt: skip


def cost_of(op: str) -> int:
    """The estimated cost of an elementwise operation per element."""
    return _COSTS.get(op, 8)


def element(
    emitter: Emitter,
    op: str,
    args: list[L.Expr],
    compute: str,
    result: str,
    attrs: dict[str, Any] | None = None,
) -> L.Expr:
    """One element of the result of `op`, computed in dtype `compute`, in dtype `result`."""
    if op == "where":
        cond, x, y = args
        x, y = cast(x, result), cast(y, result)
        # Both operands are evaluated first, so that the select contains no loads and vectorises.
        return L.select(cast(cond, "bool"), emitter.let(x), emitter.let(y))
    if op in CONVERSIONS or op == "positive":
        return cast(args[0], result)
    special = _SPECIAL.get(op)
    if special is not None:
        return special(emitter, args, compute, result)
    xs = [cast(a, compute) for a in args]
    if op in _ARITHMETIC:
        return _arithmetic(_ARITHMETIC[op], xs, compute)
    if op in _COMPARE:
        if _mixes_signedness(args):
            return _compare_exactly(emitter, _COMPARE[op], args)
        return L.Bin(_COMPARE[op], xs[0], xs[1], "bool")
    if op in _BITS:
        if compute == "bool":
            logic = {"&": "and", "|": "or", "^": "!="}[_BITS[op]]
            return L.Bin(logic, xs[0], xs[1], "bool")
        return wrap_to_dtype(L.Bin(_BITS[op], xs[0], xs[1], compute), compute)
    if op in _SHIFTS:
        wide = "uint64" if kind(compute) == "u" else "int64"
        x, by = (cast(a, wide) for a in xs)
        return cast(guarded_shift(emitter, _SHIFTS[op], x, by), compute)
    if op in ("floor_divide", "remainder", "mod") and kind(compute) == "i":
        sign = "//" if op == "floor_divide" else "%"
        if isinstance(xs[1], L.Lit) and xs[1].value > 0:
            return wrap_to_dtype(L.Bin(sign, xs[0], xs[1], compute), compute)
    if op in _ROUNDING and kind(compute) in "iub":
        return xs[0]
    if op == "sign" and kind(compute) == "u":
        return cast(L.Bin("!=", xs[0], L.Lit(0, compute), "bool"), compute)
    if op == "mod":
        op = "remainder"
    for function in (f"np.{op}", f"rt.{op}"):
        if function in OPS:
            return _call(function, xs, result)
    raise UnsupportedError(f"{op} cannot be compiled yet")


def _call(function: str, xs: list[L.Expr], result: str) -> L.Expr:
    """A call of a scalar function, converted to the result's dtype."""
    call = L.Apply(function, tuple(xs), result)
    if function.startswith("rt.") and result == "float32":
        return L.Cast(call, result)
    return wrap_to_dtype(call, result)


def _arithmetic(sign: str, xs: list[L.Expr], dtype: str) -> L.Expr:
    """A binary arithmetic operation; int64 operations are constant-folded."""
    x, y = xs
    if dtype == "bool":
        return L.Bin({"+": "or", "*": "and"}[sign], x, y, "bool")
    if dtype == "int64":
        if sign == "+":
            return L.add(x, y)
        if sign == "-":
            return L.sub(x, y)
        if sign == "*":
            return L.mul(x, y)
    return wrap_to_dtype(L.Bin(sign, x, y, dtype), dtype)


def _mixes_signedness(args: list[L.Expr]) -> bool:
    """True if a signed integer is compared with a uint64: no integer dtype holds both."""
    x, y = (a.dtype for a in args)
    return x == "uint64" and kind(y) == "i" or y == "uint64" and kind(x) == "i"


def _compare_exactly(emitter: Emitter, sign: str, args: list[L.Expr]) -> L.Expr:
    """The exact comparison of a signed integer with a uint64.

    A negative integer is below every uint64.  Any other is compared as uint64.
    """
    signed = 0 if kind(args[0].dtype) == "i" else 1
    s = emitter.let(cast(args[signed], "int64"))
    below = _COMPARE_CONSTANTS[sign](*((-1, 0) if signed == 0 else (0, -1)))
    if isinstance(s, L.Lit) and s.value < 0:
        return L.Lit(below, "bool")
    both = list(args)
    both[signed] = cast(s, "uint64")
    holds = L.Bin(sign, both[0], both[1], "bool")
    if isinstance(s, L.Lit):
        return holds
    negative = L.compare("<" if below else ">=", s, L.ZERO)
    return L.Bin("or" if below else "and", negative, holds, "bool")


# ---------------------------------------------------------------- operations with special cases


def _negative(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    """-x; a literal is folded."""
    x = cast(args[0], compute)
    if isinstance(x, L.Lit):
        return L.Lit(_literal(-x.value, compute), compute)
    return wrap_to_dtype(L.Un("-", x, compute), compute)


def _absolute(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    """abs(x); x itself for unsigned integers and bools."""
    x = cast(args[0], compute)
    return x if kind(compute) in "ub" else wrap_to_dtype(L.Apply("abs", (x,), result), result)


def _square(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    x = emitter.let(cast(args[0], compute))
    return wrap_to_dtype(L.Bin("*", x, x, compute), compute)


def _power(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    """x ** n; strength-reduced to products and a square root for small constant exponents."""
    x, n = args
    if isinstance(n, L.Lit) and n.value in (1, 2, 3):
        x = emitter.let(cast(x, compute))
        return wrap_to_dtype(_repeated_product(x, int(n.value.real), compute), compute)
    x, n = cast(x, compute), cast(n, compute)
    if kind(compute) == "f" and isinstance(n, L.Lit) and _is_cheap_power(n.value):
        return _cheap_power(emitter, emitter.let(x), float(n.value), compute)
    if kind(compute) in "fc":
        # In CPython, `**` of two Python floats raises where NumPy returns nan or inf.
        if isinstance(x, L.Lit):
            return L.Apply("np.power", (x, n), compute)
        return L.Bin("**", x, n, compute)
    n = emitter.let(n)
    if not isinstance(n, L.Size):
        negative = "Integers to negative integer powers are not allowed."
        emitter.check(L.compare("<", n, L.Lit(0, compute)), "ValueError", negative)
    return wrap_to_dtype(L.Apply("rt.natural_power", (x, n), compute), compute)


def _repeated_product(x: L.Expr, n: int, dtype: str) -> L.Expr:
    """x * x * … with n factors."""
    out = x
    for _ in range(n - 1):
        out = L.Bin("*", out, x, dtype)
    return out


def _is_cheap_power(n: float) -> bool:
    """True if x ** n is a few products and at most one square root, which vectorise.

    That is so for multiples of 1/2 up to 4 in magnitude, and for integers up to 16.
    """
    return 0 < abs(n) <= 4 and 2 * n == int(2 * n) or abs(n) <= 16 and n == int(n) != 0


def _cheap_power(emitter: Emitter, x: L.Expr, n: float, dtype: str) -> L.Expr:
    """x ** n as products, a square root for a half-integer n, and a division for a negative n."""
    if abs(n) > 4:
        out: L.Expr | None = _binary_power(emitter, x, int(abs(n)), dtype)
    else:
        out = _repeated_product(x, int(abs(n)), dtype) if abs(n) >= 1 else None
    if abs(n) != int(abs(n)):
        root = L.Apply("np.sqrt", (x,), dtype)
        out = root if out is None else L.Bin("*", out, root, dtype)
    assert out is not None
    out = L.Bin("/", L.Lit(1, dtype), out, dtype) if n < 0 else out
    # NumPy computes x**0.5 as a square root, too, so it needs no correction.
    return out if n in (int(n), 0.5) else _fix_half_power(x, n, out, dtype)


def _fix_half_power(x: L.Expr, n: float, out: L.Expr, dtype: str) -> L.Expr:
    """A half-integer power, corrected from `out`, which was computed with a square root.

    The square root has a sign at -0.0, and is nan at -inf.  pow has neither.
    """
    if int(n) % 2 == 0:  # for odd int(n), the signs of both factors cancel
        out = L.Apply("abs", (out,), dtype)
    infinite = L.compare("==", x, L.Lit(-math.inf, dtype))
    return L.Select(infinite, L.Lit(math.inf if n > 0 else 0.0, dtype), out, dtype)


def _binary_power(emitter: Emitter, x: L.Expr, n: int, dtype: str) -> L.Expr:
    """x ** n by binary exponentiation.

    No intermediate result overflows or underflows unless x ** n does.
    """
    out: L.Expr | None = None
    while True:
        if n % 2:
            out = x if out is None else emitter.let(L.Bin("*", out, x, dtype))
        n //= 2
        if n == 0:
            assert out is not None
            return out
        x = emitter.let(L.Bin("*", x, x, dtype))


def _part(function: str) -> Callable[..., L.Expr]:
    """An operation on a complex scalar: its real or imaginary part, or its conjugate."""

    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        return L.Apply(function, (cast(args[0], compute),), result)

    return of


def _extreme(sign: str) -> Callable[..., L.Expr]:
    """maximum (`>=`) and minimum (`<=`): NaN propagates."""

    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        x, y = (emitter.let(cast(a, compute)) for a in args)
        return minmax_select(sign, x, y)

    return of


def minmax_select(sign: str, x: L.Expr, y: L.Expr) -> L.Expr:
    """x if `x sign y` else y; NaN propagates, as in NumPy's maximum and minimum."""
    take = L.Bin(sign, x, y, "bool")
    if kind(x.dtype) == "f" and not isinstance(x, L.Lit):
        take = L.Bin("or", take, L.Bin("!=", x, x, "bool"), "bool")
    return L.Select(take, x, y, x.dtype)


def _extreme_ignoring_nan(sign: str) -> Callable[..., L.Expr]:
    """fmax (`>=`) and fmin (`<=`): a NaN operand is ignored."""

    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        x, y = (emitter.let(cast(a, compute)) for a in args)
        take = L.Bin(sign, x, y, "bool")
        if kind(compute) == "f":
            take = L.Bin("or", take, L.Bin("!=", y, y, "bool"), "bool")
        return L.Select(take, x, y, compute)

    return of


def _clip(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    """minimum(maximum(x, low), high)"""
    low = emitter.let(_extreme(">=")(emitter, args[:2], compute, result))
    return _extreme("<=")(emitter, [low, args[2]], compute, result)


def _strong_mul(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    """g * p, but 0 where g is 0, even if p is inf or nan."""
    g, p = (emitter.let(cast(a, compute)) for a in args)
    zero = L.Lit(0, compute)
    return L.Select(L.Bin("==", g, zero, "bool"), zero, L.Bin("*", g, p, compute), compute)


def _logical(sign: str) -> Callable[..., L.Expr]:
    """A logical operation on the truth values of both operands."""

    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        x, y = (cast(a, "bool") for a in args)
        return L.Bin(sign, x, y, "bool")

    return of


def _not(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    return L.Un("not", cast(args[0], "bool"), "bool")


def _invert(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    """~x; for bools the logical negation."""
    if compute == "bool":
        return _not(emitter, args, compute, result)
    return wrap_to_dtype(L.Un("~", cast(args[0], compute), compute), compute)


_SPECIAL: dict[str, Callable[..., L.Expr]] = {
    "negative": _negative,
    "absolute": _absolute,
    "abs": _absolute,
    "square": _square,
    "power": _power,
    "conjugate": _part("np.conj"),
    "real": _part("np.real"),
    "imag": _part("np.imag"),
    "maximum": _extreme(">="),
    "minimum": _extreme("<="),
    "fmax": _extreme_ignoring_nan(">="),
    "fmin": _extreme_ignoring_nan("<="),
    "clip": _clip,
    "clip_low": _extreme(">="),
    "clip_high": _extreme("<="),
    "strong_mul": _strong_mul,
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "logical_xor": _logical("!="),
    "logical_not": _not,
    "invert": _invert,
    "bitwise_not": _invert,
}
