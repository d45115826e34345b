"""Building blocks of elementary functions: floating-point IR values of one format, polynomials,
exponent manipulation and double-word arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.ir.instructions import FastMathFlags

from ...transforms.ir.record import record
from .. import value_types

# Numba gives instructions without flags all fast-math flags of reductions.  One of them, reassoc,
# would undo the splitting of constants here.
FLAGS = ("contract",)
# A flag without effect on sums and products: they are neither reassociated nor contracted.
EXACT_FLAGS = ("arcp",)

# From this many coefficients on, Horner's rule is bound by latency and the polynomial is split.
MIN_SPLIT_COEFFICIENTS = 8

# A constant as the sum of three floats; the coefficients of a polynomial by bits of the format.
Constant = tuple[float, float, float]
Fit = dict[int, tuple[float, ...]]
HALF_PI: Constant = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
LN_2: Constant = (0.6931471805599453, 2.3190468138462996e-17, 5.707708438416212e-34)


class FixedFlags(FastMathFlags):
    """Fast-math flags of a call to which no others can be added: Numba adds some to every call."""

    def add(self, name: str) -> None:
        if name in FLAGS:
            super().add(name)


@record(frozen=True)
class Format:
    """A float format, with the constants and polynomials that depend on its precision."""

    bits: int
    mantissa: int  # bits
    exp: tuple[float, ...]  # (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
    log: tuple[float, ...]  # (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2, s <= 3 - 2 sqrt(2)
    ln2: tuple[float, float]  # (high, low); high has few bits, so that k * high is exact
    large: float  # beyond it exp overflows or underflows to 0

    @property
    def bias(self) -> int:
        return 2 ** (self.bits - self.mantissa - 2) - 1


FORMATS = {
    value_types.float64: Format(
        64, 52,
        (0.5000000000000001, 0.16666666666666669, 0.04166666666662413, 0.008333333333330062,
         0.0013888888917213717, 0.00019841269863053618, 2.4801521295954376e-05,
         2.7557268459997064e-06, 2.7620088445409746e-07, 2.510038549551032e-08),
        (0.666666666666667, 0.3999999999989889, 0.28571428626253836, 0.22222211089379496,
         0.1818289243253687, 0.15331611722055008, 0.14617807153417325),
        (0.6931471806019545, -4.2009150726810846e-11), 760.0,
    ),
    value_types.float32: Format(
        32, 23,
        (0.5, 0.16666576989698775, 0.041666554617204574, 0.008363179052722578,
         0.0013926183587713494),
        (0.6666666655404201, 0.4000012221181065, 0.28550778633191964, 0.23331614471843498),
        (0.693115234375, 3.1946184945309415e-05), 150.0,
    ),
}  # fmt: skip


class FloatValue:
    """An IR value with Python's arithmetic operators."""

    def __init__(self, kit: FloatBuilder, value: Any) -> None:
        self.kit = kit
        self.value = value

    def _operate(self, op: str, other: FloatValue | float, swapped: bool = False) -> FloatValue:
        pair = [self.value, self.kit.number(other).value]
        method = getattr(self.kit.builder, op)
        return FloatValue(self.kit, method(*(pair[::-1] if swapped else pair), flags=FLAGS))

    def __add__(self, other: FloatValue | float) -> FloatValue:
        return self._operate("fadd", other)

    def __radd__(self, other: float) -> FloatValue:
        return self._operate("fadd", other, True)

    def __sub__(self, other: FloatValue | float) -> FloatValue:
        return self._operate("fsub", other)

    def __rsub__(self, other: float) -> FloatValue:
        return self._operate("fsub", other, True)

    def __mul__(self, other: FloatValue | float) -> FloatValue:
        return self._operate("fmul", other)

    def __rmul__(self, other: float) -> FloatValue:
        return self._operate("fmul", other, True)

    def __truediv__(self, other: FloatValue | float) -> FloatValue:
        return self._operate("fdiv", other)

    def __rtruediv__(self, other: float) -> FloatValue:
        return self._operate("fdiv", other, True)

    def __neg__(self) -> FloatValue:
        return FloatValue(self.kit, self.kit.builder.fneg(self.value, flags=FLAGS))

    def is_(self, sign: str, other: FloatValue | float) -> Any:
        """A comparison, false for nan."""
        return self.kit.builder.fcmp_ordered(sign, self.value, self.kit.number(other).value)

    def is_nan(self) -> Any:
        return self.kit.builder.fcmp_unordered("uno", self.value, self.value)


class FloatBuilder:
    """Operations on `FloatValue`s of one format, emitted with one builder."""

    def __init__(self, builder: Any, type_: Any) -> None:
        self.builder = builder
        self.format = FORMATS[type_]
        self.float = ir.DoubleType() if self.format.bits == 64 else ir.FloatType()
        self.int = ir.IntType(self.format.bits)

    def number(self, value: FloatValue | float) -> FloatValue:
        if isinstance(value, FloatValue):
            return value
        return FloatValue(self, ir.Constant(self.float, float(value)))

    def choose(self, test: Any, yes: FloatValue | float, no: FloatValue | float) -> FloatValue:
        chosen = self.builder.select(test, self.number(yes).value, self.number(no).value)
        return FloatValue(self, chosen)

    def _intrinsic(self, name: str, *args: FloatValue) -> FloatValue:
        kind = ir.FunctionType(self.float, [self.float] * len(args))
        function = self.builder.module.declare_intrinsic(name, [self.float], kind)
        result = self.builder.call(function, [a.value for a in args])
        result.fastmath = FixedFlags(FLAGS)
        return FloatValue(self, result)

    def rounded(self, x: FloatValue) -> FloatValue:
        return self._intrinsic("llvm.rint", x)

    def absolute(self, x: FloatValue) -> FloatValue:
        return self._intrinsic("llvm.fabs", x)

    def with_sign(self, x: FloatValue, sign: FloatValue) -> FloatValue:
        return self._intrinsic("llvm.copysign", x, sign)

    def root(self, x: FloatValue) -> FloatValue:
        return self._intrinsic("llvm.sqrt", x)

    def fused(self, x: FloatValue, y: FloatValue | float, z: FloatValue) -> FloatValue:
        """x y + z, rounded once."""
        return self._intrinsic("llvm.fma", x, self.number(y), z)

    def clipped(self, x: FloatValue, low: float, high: float) -> FloatValue:
        x = self.choose(x.is_(">", high), high, x)
        return self.choose(x.is_("<", low), low, x)

    def fit(self, x: FloatValue, coefficients: Fit) -> FloatValue:
        return self.polynomial(x, coefficients[self.format.bits])

    def polynomial(self, x: FloatValue, coefficients: Sequence[float]) -> FloatValue:
        """Evaluate a polynomial.  A long one is split into its even and odd part, two independent
        chains in x^2."""
        if len(coefficients) >= MIN_SPLIT_COEFFICIENTS:
            even, odd = (self._horner(x * x, coefficients[k::2]) for k in range(2))
            return odd * x + even
        return self._horner(x, coefficients)

    def _horner(self, x: FloatValue, coefficients: Sequence[float]) -> FloatValue:
        total = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = total * x + c
        return total

    # ---- powers of two

    def integer(self, k: FloatValue, more: int) -> Any:
        """An integer whose low bits are those of k + more.  Adding 1.5 * 2^mantissa moves the
        integer to the low bits of the mantissa.  (Vector conversion of floats to 64-bit integers is
        slow or missing on many machines.)"""
        placed = self.exactly("fadd", k, 1.5 * 2.0**self.format.mantissa + more)
        return self.builder.bitcast(placed.value, self.int)

    def _power(self, biased: Any) -> FloatValue:
        """2^k, given the low bits of k + bias."""
        shifted = self.builder.shl(biased, self.int(self.format.mantissa))
        return FloatValue(self, self.builder.bitcast(shifted, self.float))

    def power(self, k: FloatValue) -> FloatValue:
        """2^k for integral k between the smallest and the largest normal exponent."""
        return self._power(self.integer(k, self.format.bias))

    def scaled(self, x: FloatValue, k: FloatValue) -> FloatValue:
        """x 2^k for integral k whose half is a normal exponent; rounded at most once."""
        whole = self.integer(k, 2 * self.format.bias)
        half = self.builder.lshr(whole, self.int(1))
        return x * self._power(half) * self._power(self.builder.sub(whole, half))

    def split(self, x: FloatValue) -> tuple[FloatValue, FloatValue]:
        """m and k such that x = m 2^k, with m near 1; for positive normal numbers."""
        builder, form = self.builder, self.format
        root = np.dtype(f"float{form.bits}").type(math.sqrt(0.5))
        start = self.int(int(root.view(f"int{form.bits}")))
        raw = builder.bitcast(x.value, self.int)
        past = builder.sub(raw, start)
        m = builder.sub(raw, builder.and_(past, self.int(-(1 << form.mantissa))))
        # k, made positive, is put into the low mantissa bits of 2^mantissa, which is subtracted
        more = form.bias + 1
        positive = builder.add(past, self.int(more << form.mantissa))
        k = builder.lshr(positive, self.int(form.mantissa))
        large = float(2**form.mantissa)
        placed = builder.or_(k, self.int((form.bias + form.mantissa) << form.mantissa))
        whole = self.exactly(
            "fsub", FloatValue(self, builder.bitcast(placed, self.float)), large + more
        )
        return FloatValue(self, builder.bitcast(m, self.float)), whole

    # ---- double-word arithmetic: sums of two floats, the second the rounding error of the first

    def parts(self, constant: Constant, count: int) -> list[float]:
        """A constant as a sum of `count` floats of this format."""
        kind = np.dtype(f"float{self.format.bits}").type
        left, found = sum(map(Fraction, constant), Fraction(0)), []
        for _ in range(count):
            found.append(float(kind(float(left))))
            left -= Fraction(found[-1])
        return found

    def exactly(self, op: str, x: FloatValue, y: FloatValue | float) -> FloatValue:
        """An operation that is neither reassociated nor contracted."""
        method = getattr(self.builder, op)
        return FloatValue(self, method(x.value, self.number(y).value, flags=EXACT_FLAGS))

    def sum(self, x: FloatValue | float, y: FloatValue | float) -> DoubleWord:
        """x + y and its rounding error, if x is 0 or |x| >= |y| (Fast2Sum)."""
        x, y = self.number(x), self.number(y)
        total = self.exactly("fadd", x, y)
        return DoubleWord(total, self.exactly("fsub", y, self.exactly("fsub", total, x)))

    def any_sum(self, x: FloatValue, y: FloatValue) -> DoubleWord:
        """x + y and its rounding error (2Sum)."""
        total = self.exactly("fadd", x, y)
        of_y = self.exactly("fsub", total, x)
        of_x = self.exactly("fsub", total, of_y)
        error = self.exactly("fsub", x, of_x) + self.exactly("fsub", y, of_y)
        return DoubleWord(total, error)

    def product(self, x: FloatValue, y: FloatValue | float) -> DoubleWord:
        """x y and its rounding error, by a fused multiply-add."""
        total = self.exactly("fmul", x, y)
        return DoubleWord(total, self.fused(x, y, -total))

    def pair_product(self, x: DoubleWord, y: DoubleWord) -> DoubleWord:
        most = self.product(x.high, y.high)
        return DoubleWord(most.high, most.low + (x.high * y.low + x.low * y.high))

    def pair(self, constant: Constant) -> DoubleWord:
        high, low = self.parts(constant, 2)
        return DoubleWord(self.number(high), self.number(low))

    def quotient(self, n: DoubleWord, d: DoubleWord) -> DoubleWord:
        inverse = 1.0 / d.high
        q = self.exactly("fmul", n.high, inverse)
        residual = self.fused(-q, d.high, n.high) + (n.low - q * d.low)
        return DoubleWord(q, residual * inverse)

    def pair_root(self, x: DoubleWord) -> DoubleWord:
        """The square root of a positive double-word number."""
        root = self.root(x.high)
        residual = self.fused(-root, root, x.high) + x.low
        return DoubleWord(root, residual * (0.5 / root))


@record(frozen=True)
class DoubleWord:
    """A double-word number: an unevaluated sum, of which `low` is small compared to `high`."""

    high: FloatValue
    low: FloatValue

    def rounded(self) -> FloatValue:
        return self.high + self.low
