"""Elementary functions that a loop computes for several elements at once.

A loop that calls the C library for each element is not vectorised.  These are sums, products and
choices only: the argument is reduced by an integer power of two, a polynomial is evaluated, and
both sides of every choice are computed.  The error is below 2 units in the last place over the
whole range, given a machine that multiplies and adds in one step, and special values are those of
NumPy (`tests/s2s/machine/test_elementary.py`).

Reduction and recombination follow W. J. Cody and W. Waite, Software Manual for the Elementary
Functions (1980), and P. T. P. Tang's table-free variants; the polynomials are near-minimax fits
(Chebyshev) of the functions named with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from .. import kernels

# Numba gives instructions without flags all of those that reductions want; among them is one that
# would undo the splitting of constants here.
FLAGS = ("contract",)


@dataclass(frozen=True)
class Format:
    """A float format, with what depends on its precision."""

    bits: int
    mantissa: int  # bits of it
    exp: tuple[float, ...]  # (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
    log: tuple[float, ...]  # (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2, s <= 3 - 2 sqrt(2)
    ln2: tuple[float, float]  # whose first part has few bits
    large: float  # beyond which exp overflows or vanishes

    @property
    def bias(self) -> int:
        return 2 ** (self.bits - self.mantissa - 2) - 1


FORMATS = {
    types.float64: Format(
        64, 52,
        (0.5000000000000001, 0.16666666666666669, 0.04166666666662413, 0.008333333333330062,
         0.0013888888917213717, 0.00019841269863053618, 2.4801521295954376e-05,
         2.7557268459997064e-06, 2.7620088445409746e-07, 2.510038549551032e-08),
        (0.666666666666667, 0.3999999999989889, 0.28571428626253836, 0.22222211089379496,
         0.1818289243253687, 0.15331611722055008, 0.14617807153417325),
        (0.6931471806019545, -4.2009150726810846e-11), 760.0,
    ),
    types.float32: Format(
        32, 23,
        (0.5, 0.16666576989698775, 0.041666554617204574, 0.008363179052722578,
         0.0013926183587713494),
        (0.6666666655404201, 0.4000012221181065, 0.28550778633191964, 0.23331614471843498),
        (0.693115234375, 3.1946184945309415e-05), 150.0,
    ),
}  # fmt: skip


class Number:
    """A value in machine code with the operators of Python."""

    def __init__(self, kit: Kit, value: Any) -> None:
        self.kit = kit
        self.value = value

    def _do(self, op: str, other: Number | float, swapped: bool = False) -> Number:
        pair = [self.value, self.kit.number(other).value]
        method = getattr(self.kit.builder, op)
        return Number(self.kit, method(*(pair[::-1] if swapped else pair), flags=FLAGS))

    def __add__(self, other: Number | float) -> Number:
        return self._do("fadd", other)

    def __radd__(self, other: float) -> Number:
        return self._do("fadd", other, True)

    def __sub__(self, other: Number | float) -> Number:
        return self._do("fsub", other)

    def __rsub__(self, other: float) -> Number:
        return self._do("fsub", other, True)

    def __mul__(self, other: Number | float) -> Number:
        return self._do("fmul", other)

    def __rmul__(self, other: float) -> Number:
        return self._do("fmul", other, True)

    def __truediv__(self, other: Number | float) -> Number:
        return self._do("fdiv", other)

    def __rtruediv__(self, other: float) -> Number:
        return self._do("fdiv", other, True)

    def __neg__(self) -> Number:
        return Number(self.kit, self.kit.builder.fneg(self.value, flags=FLAGS))

    def is_(self, sign: str, other: Number | float) -> Any:
        """A comparison, false for nan."""
        return self.kit.builder.fcmp_ordered(sign, self.value, self.kit.number(other).value)

    def is_nan(self) -> Any:
        return self.kit.builder.fcmp_unordered("uno", self.value, self.value)


class Kit:
    """What functions are made of, for one format."""

    def __init__(self, builder: Any, type_: Any) -> None:
        self.builder = builder
        self.format = FORMATS[type_]
        self.float = ir.DoubleType() if self.format.bits == 64 else ir.FloatType()
        self.int = ir.IntType(self.format.bits)
        self.short = ir.IntType(32)  # the only integers that machines convert several of at once

    def number(self, value: Number | float) -> Number:
        if isinstance(value, Number):
            return value
        return Number(self, ir.Constant(self.float, float(value)))

    def choose(self, test: Any, yes: Number | float, no: Number | float) -> Number:
        chosen = self.builder.select(test, self.number(yes).value, self.number(no).value)
        return Number(self, chosen)

    def _intrinsic(self, name: str, *args: Number) -> Number:
        kind = ir.FunctionType(self.float, [self.float] * len(args))
        function = self.builder.module.declare_intrinsic(name, [self.float], kind)
        return Number(self, self.builder.call(function, [a.value for a in args]))

    def rounded(self, x: Number) -> Number:
        return self._intrinsic("llvm.rint", x)

    def absolute(self, x: Number) -> Number:
        return self._intrinsic("llvm.fabs", x)

    def with_sign(self, x: Number, sign: Number) -> Number:
        return self._intrinsic("llvm.copysign", x, sign)

    def polynomial(self, x: Number, coefficients: Sequence[float]) -> Number:
        total = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = total * x + c
        return total

    # ---- powers of two

    def power(self, k: Number) -> Number:
        """2^k for whole k between the smallest and the largest exponent."""
        builder = self.builder
        whole = builder.fptosi(k.value, self.short)
        wide = builder.sext(whole, self.int) if self.int.width > 32 else whole
        biased = builder.add(wide, self.int(self.format.bias))
        shifted = builder.shl(biased, self.int(self.format.mantissa))
        return Number(self, builder.bitcast(shifted, self.float))

    def scaled(self, x: Number, k: Number) -> Number:
        """x 2^k for any whole k that halves of are exponents: rounded once, if at all."""
        half = self.rounded(k * 0.5)
        return x * self.power(half) * self.power(k - half)

    def split(self, x: Number) -> tuple[Number, Number]:
        """m and k such that x = m 2^k, with m near 1; for positive normal numbers."""
        builder, form = self.builder, self.format
        root = np.dtype(f"float{form.bits}").type(math.sqrt(0.5))
        start = self.int(int(root.view(f"int{form.bits}")))
        raw = builder.bitcast(x.value, self.int)
        k = builder.ashr(builder.sub(raw, start), self.int(form.mantissa))
        m = builder.sub(raw, builder.shl(k, self.int(form.mantissa)))
        short = builder.trunc(k, self.short) if self.int.width > 32 else k
        whole = builder.sitofp(short, self.float)
        return Number(self, builder.bitcast(m, self.float)), Number(self, whole)


# ---------------------------------------------------------------- exponentials


def _reduced(kit: Kit, x: Number) -> tuple[Number, Number, Number]:
    """k and exp(r) - 1, as the sum of a number and what it lacks, where x = k ln(2) + r."""
    k = kit.rounded(x * (1.0 / math.log(2.0)))
    k = kit.choose(x.is_nan(), 0.0, k)
    high, low = kit.format.ln2
    most, less = x - k * high, k * low
    r = most - less
    lacking = (most - r) - less
    rest = r * r * kit.polynomial(r, kit.format.exp) + lacking
    e = r + rest
    return k, e, rest - (e - r)


def _quotient(kit: Kit, n: Number, n_lacks: Number, d: Number, d_lacks: Number) -> Number:
    """(n + n_lacks) / (d + d_lacks), rounded nearly as if it were exact."""
    inverse = 1.0 / d
    q = n * inverse
    left = (n - q * d) + (n_lacks - q * d_lacks)
    return q + left * inverse


def _clipped(kit: Kit, x: Number, low: float, high: float) -> Number:
    x = kit.choose(x.is_(">", high), high, x)
    return kit.choose(x.is_("<", low), low, x)


def exp(kit: Kit, x: Number) -> Number:
    large = kit.format.large
    k, e, _ = _reduced(kit, _clipped(kit, x, -large, large))
    return kit.scaled(1.0 + e, k)


def exp2(kit: Kit, x: Number) -> Number:
    limit = 1.5 * kit.format.large
    x = _clipped(kit, x, -limit, limit)
    k = kit.choose(x.is_nan(), 0.0, kit.rounded(x))
    r = (x - k) * math.log(2.0)
    return kit.scaled(1.0 + (r + r * r * kit.polynomial(r, kit.format.exp)), k)


def expm1(kit: Kit, x: Number) -> Number:
    k, e, _ = _reduced(kit, _clipped(kit, x, -40.0, kit.format.large))
    small = kit.power(_clipped(kit, k, -60.0, 2.0))
    below = small * e + (small - 1.0)
    rest = kit.power(_clipped(kit, -k, 1.0 - kit.format.bias, 0.0))
    above = kit.scaled((1.0 - rest) + e, k)
    result = kit.choose(k.is_("<=", 1.0), below, above)
    return kit.choose(x.is_("==", 0.0), x, result)


def tanh(kit: Kit, x: Number) -> Number:
    """From e = exp(2 |x|) - 1: e / (e + 2), or 1 - 2 / (e + 2) where that is large."""
    size = kit.absolute(x)
    near = size.is_("<", 0.5)
    k, s, s_lacks = _reduced(kit, _clipped(kit, size * 2.0, 0.0, 44.0))
    scale = kit.power(k)
    whole, part = scale - 1.0, scale * s
    e = whole + part
    e_lacks = (part - (e - whole)) + scale * s_lacks
    d = 2.0 + e
    n, n_lacks = kit.choose(near, e, 2.0), kit.choose(near, e_lacks, 0.0)
    ratio = _quotient(kit, n, n_lacks, d, (e - (d - 2.0)) + e_lacks)
    return kit.with_sign(kit.choose(near, ratio, 1.0 - ratio), x)


def expit(kit: Kit, x: Number) -> Number:
    """From e = exp(-|x|): e / (1 + e), or 1 / (1 + e)."""
    k, s, s_lacks = _reduced(kit, _clipped(kit, -kit.absolute(x), -kit.format.large, 0.0))
    one = 1.0 + s
    e, e_lacks = kit.scaled(one, k), kit.scaled((s - (one - 1.0)) + s_lacks, k)
    d = 1.0 + e
    below = x.is_("<", 0.0)
    n, n_lacks = kit.choose(below, e, 1.0), kit.choose(below, e_lacks, 0.0)
    return _quotient(kit, n, n_lacks, d, (e - (d - 1.0)) + e_lacks)


# ---------------------------------------------------------------- logarithms


def _log_near_one(kit: Kit, f: Number, k: Number, low: Number) -> Number:
    """log(1 + f) + k ln(2) + low, where low is tiny."""
    s = f / (2.0 + f)
    z = s * s
    r = z * kit.polynomial(z, kit.format.log)
    h = 0.5 * f * f
    high, rest = kit.format.ln2
    return k * high - ((h - (s * (h + r) + (k * rest + low))) - f)


def _split_any(kit: Kit, x: Number) -> tuple[Number, Number]:
    """As `split`, for numbers of which some have no leading one."""
    shift = kit.format.mantissa + 2
    tiny = x.is_("<", 2.0 ** (1 - kit.format.bias))
    m, k = kit.split(kit.choose(tiny, x * 2.0**shift, x))
    return m, k - kit.choose(tiny, float(shift), 0.0)


def _domain(kit: Kit, x: Number, least: float, result: Number) -> Number:
    """-inf at the end of the domain, nan below it, inf at infinity."""
    result = kit.choose(x.is_("==", math.inf), math.inf, result)
    outside = kit.choose(x.is_("==", least), -math.inf, math.nan)
    return kit.choose(x.is_(">", least), result, outside)


def log(kit: Kit, x: Number) -> Number:
    m, k = _split_any(kit, x)
    return _domain(kit, x, 0.0, _log_near_one(kit, m - 1.0, k, kit.number(0.0)))


def log2(kit: Kit, x: Number) -> Number:
    m, k = _split_any(kit, x)
    near = _log_near_one(kit, m - 1.0, kit.number(0.0), kit.number(0.0))
    return _domain(kit, x, 0.0, k + near * (1.0 / math.log(2.0)))


def log1p(kit: Kit, x: Number) -> Number:
    u = 1.0 + x
    m, k = kit.split(u)
    lost = kit.choose(x.is_("<", 1.0), x - (u - 1.0), 1.0 - (u - x)) / u  # without an error
    result = _domain(kit, x, -1.0, _log_near_one(kit, m - 1.0, k, lost))
    return kit.choose(x.is_("==", 0.0), x, result)


def logaddexp(kit: Kit, x: Number, y: Number) -> Number:
    larger = kit.choose(x.is_(">", y), x, y)
    apart = kit.absolute(x - y)
    result = larger + log1p(kit, exp(kit, -apart))
    result = kit.choose(x.is_("==", y), x + math.log(2.0), result)  # infinities, too
    bad = kit.builder.or_(x.is_nan(), y.is_nan())
    return kit.choose(bad, x + y, result)


# ---------------------------------------------------------------- their place in a module

FUNCTIONS: dict[Any, Callable[..., Number]] = {
    np.exp: exp, np.exp2: exp2, np.expm1: expm1, np.tanh: tanh, kernels.expit: expit,  # type: ignore[attr-defined]

    np.log: log, np.log2: log2, np.log1p: log1p, np.logaddexp: logaddexp,
}  # fmt: skip


def find(kind: Any, signature: Any) -> Callable[..., Number] | None:
    """The function for what Numba knows by `kind`, if it is here for these types."""
    # Where Numba widens the result, it is that of the arguments' precision all the same.
    first, *others = signature.args or (None,)
    if not {first, signature.return_type} <= FORMATS.keys() or {*others} - {first}:
        return None
    key = getattr(kind, "typing_key", None)
    return FUNCTIONS.get(key) if callable(key) else None


def call(builder: Any, function: Callable[..., Number], signature: Any, args: list[Any]) -> Any:
    """A call of what is written once per module, and stands in place of the call in the end."""
    module, type_ = builder.module, signature.args[0]
    name = f"s2s.{function.__name__}.{type_}"
    made = module.globals.get(name)
    if made is None:
        number = args[0].type
        made = ir.Function(module, ir.FunctionType(number, [number] * len(args)), name)
        made.linkage = "internal"
        made.attributes.add("alwaysinline")
        inner = ir.IRBuilder(made.append_basic_block())
        kit = Kit(inner, type_)
        inner.ret(function(kit, *(Number(kit, a) for a in made.args)).value)
    result = builder.call(made, args)
    return result if signature.return_type == type_ else builder.fpext(result, ir.DoubleType())
