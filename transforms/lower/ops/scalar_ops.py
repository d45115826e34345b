"""Elementwise operations as scalar expressions, one element at a time.

`element(em, op, args, compute, result)` takes expressions for one element of each operand
and gives the result's; operands are converted to NumPy's compute dtype first, because Numba
and Python would promote differently.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ...ir.errors import UnsupportedError
from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L
from ..loop_ir.conversions import _literal, cast, fit, kind
from .bit_shift import shifted

_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/"}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_SHIFTS = {"left_shift": "<<", "right_shift": ">>"}
_COMPARE = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "equal": "==", "not_equal": "!=",
}  # fmt: skip
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
# Scalar functions that Numba has under NumPy's name, with NumPy's meaning.
_NUMPY = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "hypot", "logaddexp", "logaddexp2", "copysign",
    "isnan", "isinf", "isfinite", "signbit", "floor", "ceil", "trunc", "rint",
    "nextafter", "deg2rad", "rad2deg", "degrees", "radians", "ldexp", "sign",
    "gcd", "lcm", "spacing", "reciprocal", "fabs",
}  # fmt: skip
_ROUNDING = {"floor", "ceil", "trunc", "rint"}
# Operations that give an element as it is, in the result's dtype.
CONVERSIONS = {"cast", "copy", "literal", "same", "stop_gradient"}
# Scalar functions of the runtime, computed in the compute dtype.
_RUNTIME = {
    "floor_divide", "remainder", "fmod", "cbrt", "erf", "erfc", "gamma", "lgamma", "sinc",
    "heaviside", "float_power", "erfcx", "erfinv", "erfcinv", "ndtri", "expit", "digamma",
    "polygamma", "beta", "betaln", "jv", "iv", "ive",
}  # fmt: skip

# Work per element, roughly in additions; what is absent costs 8.
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
    return _COSTS.get(op, 8)


def element(
    emitter: Emitter,
    op: str,
    args: list[L.Expr],
    compute: str,
    result: str,
    attrs: dict[str, Any] | None = None,
) -> L.Expr:
    if op == "where":
        cond, x, y = args
        x, y = cast(x, result), cast(y, result)
        # Both sides are computed first, so that the choice is free of loads and vectorises.
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
        if _differ_in_sign(args):
            return _compare_exactly(emitter, _COMPARE[op], args)
        return L.Bin(_COMPARE[op], xs[0], xs[1], "bool")
    if op in _BITS:
        if compute == "bool":
            logic = {"&": "and", "|": "or", "^": "!="}[_BITS[op]]
            return L.Bin(logic, xs[0], xs[1], "bool")
        return fit(L.Bin(_BITS[op], xs[0], xs[1], compute), compute)
    if op in _SHIFTS:
        wide = "uint64" if kind(compute) == "u" else "int64"
        x, by = (cast(a, wide) for a in xs)
        return cast(shifted(emitter, _SHIFTS[op], x, by), compute)
    if op in ("floor_divide", "remainder", "mod") and kind(compute) == "i":
        sign = "//" if op == "floor_divide" else "%"
        if isinstance(xs[1], L.Lit) and xs[1].value > 0:
            return fit(L.Bin(sign, xs[0], xs[1], compute), compute)
    if op in _ROUNDING and kind(compute) in "iub":
        return xs[0]
    if op == "sign" and kind(compute) == "u":
        return cast(L.Bin("!=", xs[0], L.Lit(0, compute), "bool"), compute)
    if op == "mod":
        op = "remainder"
    if op in _NUMPY:
        return _call(f"np.{op}", xs, result)
    if op in _RUNTIME:
        return _call(f"rt.{op}", xs, result)
    raise UnsupportedError(f"{op} cannot be compiled yet")


def _call(function: str, xs: list[L.Expr], result: str) -> L.Expr:
    call = L.Apply(function, tuple(xs), result)
    if function.startswith("rt.") and result == "float32":
        return L.Cast(call, result)
    return fit(call, result)


def _arithmetic(sign: str, xs: list[L.Expr], dtype: str) -> L.Expr:
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
    return fit(L.Bin(sign, x, y, dtype), dtype)


def _differ_in_sign(args: list[L.Expr]) -> bool:
    """Whether a signed integer is compared with a uint64: no dtype holds both."""
    x, y = (a.dtype for a in args)
    return x == "uint64" and kind(y) == "i" or y == "uint64" and kind(x) == "i"


def _compare_exactly(emitter: Emitter, sign: str, args: list[L.Expr]) -> L.Expr:
    signed = 0 if kind(args[0].dtype) == "i" else 1
    s = emitter.let(cast(args[signed], "int64"))
    below = _HOLDS[sign](*((-1, 0) if signed == 0 else (0, -1)))
    if isinstance(s, L.Lit) and s.value < 0:
        return L.Lit(below, "bool")
    both = list(args)
    both[signed] = cast(s, "uint64")
    holds = L.Bin(sign, both[0], both[1], "bool")
    if isinstance(s, L.Lit):
        return holds
    negative = L.compare("<" if below else ">=", s, L.ZERO)
    return L.Bin("or" if below else "and", negative, holds, "bool")


# ---------------------------------------------------------------- the special ones


def _negative(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    x = cast(args[0], compute)
    if isinstance(x, L.Lit):
        return L.Lit(_literal(-x.value, compute), compute)
    return fit(L.Un("-", x, compute), compute)


def _absolute(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    x = cast(args[0], compute)
    return x if kind(compute) in "ub" else fit(L.Apply("abs", (x,), result), result)


def _square(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    x = emitter.let(cast(args[0], compute))
    return fit(L.Bin("*", x, x, compute), compute)


def _power(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    x, n = args
    if isinstance(n, L.Lit) and n.value in (1, 2, 3):
        x = emitter.let(cast(x, compute))
        return fit(_whole_power(x, int(n.value.real), compute), compute)
    x, n = cast(x, compute), cast(n, compute)
    if kind(compute) == "f" and isinstance(n, L.Lit) and _is_short(n.value):
        return _short_power(emitter, emitter.let(x), float(n.value), compute)
    if kind(compute) in "fc":
        # Under CPython two Python floats would raise where NumPy gives nan or inf.
        if isinstance(x, L.Lit):
            return L.Apply("np.power", (x, n), compute)
        return L.Bin("**", x, n, compute)
    n = emitter.let(n)
    if not isinstance(n, L.Size):
        negative = "Integers to negative integer powers are not allowed."
        emitter.check(L.compare("<", n, L.Lit(0, compute)), "ValueError", negative)
    return fit(L.Apply("rt.natural_power", (x, n), compute), compute)


def _whole_power(x: L.Expr, n: int, dtype: str) -> L.Expr:
    out = x
    for _ in range(n - 1):
        out = L.Bin("*", out, x, dtype)
    return out


def _is_short(n: float) -> bool:
    """Whether a power is a few products and a root, which loops compute several of at once."""
    return 0 < abs(n) <= 4 and 2 * n == int(2 * n) or abs(n) <= 16 and n == int(n) != 0


def _short_power(emitter: Emitter, x: L.Expr, n: float, dtype: str) -> L.Expr:
    if abs(n) > 4:
        out: L.Expr | None = _squared_up(emitter, x, int(abs(n)), dtype)
    else:
        out = _whole_power(x, int(abs(n)), dtype) if abs(n) >= 1 else None
    if abs(n) != int(abs(n)):
        root = L.Apply("np.sqrt", (x,), dtype)
        out = root if out is None else L.Bin("*", out, root, dtype)
    assert out is not None
    out = L.Bin("/", L.Lit(1, dtype), out, dtype) if n < 0 else out
    # x**0.5 is a root in NumPy, too.
    return out if n in (int(n), 0.5) else _unsigned(x, n, out, dtype)


def _unsigned(x: L.Expr, n: float, out: L.Expr, dtype: str) -> L.Expr:
    """A power with a half, from one by a root: that has a sign at -0.0, and is none at -inf."""
    if int(n) % 2 == 0:  # else there are two signs
        out = L.Apply("abs", (out,), dtype)
    infinite = L.compare("==", x, L.Lit(-math.inf, dtype))
    return L.Select(infinite, L.Lit(math.inf if n > 0 else 0.0, dtype), out, dtype)


def _squared_up(emitter: Emitter, x: L.Expr, n: int, dtype: str) -> L.Expr:
    """By squares of squares: no part of it is larger or smaller than the whole."""
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
    """The parts of a complex number, and its conjugate."""

    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        return L.Apply(function, (cast(args[0], compute),), result)

    return of


def _extreme(sign: str) -> Callable[..., L.Expr]:
    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        x, y = (emitter.let(cast(a, compute)) for a in args)
        return larger(sign, x, y)

    return of


def larger(sign: str, x: L.Expr, y: L.Expr) -> L.Expr:
    """x if `x sign y` else y; a nan wins, as in NumPy."""
    take = L.Bin(sign, x, y, "bool")
    if kind(x.dtype) == "f" and not isinstance(x, L.Lit):
        take = L.Bin("or", take, L.Bin("!=", x, x, "bool"), "bool")
    return L.Select(take, x, y, x.dtype)


def _extreme_number(sign: str) -> Callable[..., L.Expr]:
    """fmax and fmin: a nan loses."""

    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        x, y = (emitter.let(cast(a, compute)) for a in args)
        take = L.Bin(sign, x, y, "bool")
        if kind(compute) == "f":
            take = L.Bin("or", take, L.Bin("!=", y, y, "bool"), "bool")
        return L.Select(take, x, y, compute)

    return of


def _clip(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    low = emitter.let(_extreme(">=")(emitter, args[:2], compute, result))
    return _extreme("<=")(emitter, [low, args[2]], compute, result)


def _strong_mul(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    g, p = (emitter.let(cast(a, compute)) for a in args)
    zero = L.Lit(0, compute)
    return L.Select(L.Bin("==", g, zero, "bool"), zero, L.Bin("*", g, p, compute), compute)


def _logical(sign: str) -> Callable[..., L.Expr]:
    def of(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
        x, y = (cast(a, "bool") for a in args)
        return L.Bin(sign, x, y, "bool")

    return of


def _not(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    return L.Un("not", cast(args[0], "bool"), "bool")


def _invert(emitter: Emitter, args: list[L.Expr], compute: str, result: str) -> L.Expr:
    if compute == "bool":
        return _not(emitter, args, compute, result)
    return fit(L.Un("~", cast(args[0], compute), compute), compute)


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
    "fmax": _extreme_number(">="),
    "fmin": _extreme_number("<="),
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
