"""Sine, cosine, tangent.

The argument is reduced modulo pi / 2, which is represented as the sum of three floats.  Products
are exact, so this is accurate up to `large_argument_reduction.limit`.  Larger arguments need more
digits of pi and are reduced by the function of `large_argument_reduction.py`.  It is called for all
arguments, in vectorised loops for a vector of them, and returns at once if none is large, which is
almost always the case.
"""

from __future__ import annotations

import math
from typing import Any

from .large_argument_reduction import limit, reduce_large, unpack_reduction
from .vector_ops import HALF_PI, DoubleWord, Fit, FloatBuilder, FloatValue

# (sin(r) - r) / r^3 in r^2 for |r| <= 0.8
SIN: Fit = {
    64: (-0.16666666666666663, 0.008333333333330467, -0.00019841269836043575,
         2.7557315738586845e-06, -2.5051057394492127e-08, 1.5912864224903485e-10),
    32: (-0.166666641831398, 0.00833270326256752, -0.0001957844360731542),
}  # fmt: skip
# (cos(r) - 1 + r^2 / 2) / r^4 in r^2
COS: Fit = {
    64: (0.041666666666666664, -0.0013888888888887096, 2.4801587298318395e-05,
         -2.755731704403567e-07, 2.0876099692314926e-09, -1.1379338585298136e-11),
    32: (0.0416666641831398, -0.0013888258254155517, 2.4538474463042803e-05),
}  # fmt: skip


def _reduced(kit: FloatBuilder, size: FloatValue) -> tuple[DoubleWord, Any]:
    """r and the low bits of the integer k, where size = k pi / 2 + r; r is nan for infinity."""
    builder = kit.builder
    huge = size.is_(">", limit(kit))
    of_huge, quadrant_of_huge = unpack_reduction(kit, reduce_large(kit, size))

    first, second, third = kit.parts(HALF_PI, 3)
    # Adding 1.5 * 2^mantissa rounds to an integer, which is in the low bits of the sum.
    large = 1.5 * 2.0**kit.format.mantissa
    shifted = size * (2.0 / math.pi) + large
    k = shifted - large
    rest, part = kit.fused(-k, first, size), kit.product(k, second)
    most = kit.any_sum(rest, -part.high)
    r = kit.sum(most.high, (most.low - part.low) - k * third)
    quadrant = builder.bitcast(shifted.value, kit.int)

    high, low = kit.choose(huge, of_huge, r.high), kit.choose(huge, size * 0.0, r.low)
    return DoubleWord(high, low), builder.select(huge, quadrant_of_huge, quadrant)


def _sin_cos(kit: FloatBuilder, r: DoubleWord) -> tuple[DoubleWord, DoubleWord]:
    """Sine and cosine of r as double-word numbers."""
    z = r.high * r.high
    half = 0.5 * z
    sine = kit.sum(r.high, r.high * z * kit.fit(z, SIN) + r.low * (1.0 - half))
    one = kit.sum(1.0, -half)
    error = kit.fused(r.high, 0.5 * r.high, -half)  # rounding error of half
    rest = (z * z * kit.fit(z, COS) - r.high * r.low) - error
    return sine, kit.sum(one.high, one.low + rest)


def _is_odd(kit: FloatBuilder, quadrant: Any) -> Any:
    return kit.builder.icmp_unsigned("!=", kit.builder.and_(quadrant, kit.int(1)), kit.int(0))


def _negated_by(kit: FloatBuilder, result: FloatValue, *signs: Any) -> FloatValue:
    """The result, negated for each of `signs` whose top bit is set."""
    builder, first = kit.builder, kit.int(1 << (kit.format.bits - 1))
    raw = builder.bitcast(result.value, kit.int)
    for sign in signs:
        raw = builder.xor(raw, builder.and_(sign, first))
    return FloatValue(kit, builder.bitcast(raw, kit.float))


def _half_turns(kit: FloatBuilder, quadrant: Any) -> Any:
    """The quadrant shifted so that its half-turn bit is the sign bit."""
    return kit.builder.shl(quadrant, kit.int(kit.format.bits - 2))


def sin(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    r, quadrant = _reduced(kit, kit.absolute(x))
    sine, cosine = _sin_cos(kit, r)
    result = kit.choose(_is_odd(kit, quadrant), cosine.high, sine.high)
    negative = kit.builder.bitcast(x.value, kit.int)
    return _negated_by(kit, result, _half_turns(kit, quadrant), negative)


def cos(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    r, quadrant = _reduced(kit, kit.absolute(x))
    sine, cosine = _sin_cos(kit, r)
    result = kit.choose(_is_odd(kit, quadrant), sine.high, cosine.high)
    return _negated_by(kit, result, _half_turns(kit, kit.builder.add(quadrant, kit.int(1))))


def tan(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    r, quadrant = _reduced(kit, kit.absolute(x))
    sine, cosine = _sin_cos(kit, r)
    odd = _is_odd(kit, quadrant)
    n = DoubleWord(kit.choose(odd, -cosine.high, sine.high), kit.choose(odd, -cosine.low, sine.low))
    d = DoubleWord(kit.choose(odd, sine.high, cosine.high), kit.choose(odd, sine.low, cosine.low))
    negative = kit.builder.bitcast(x.value, kit.int)
    return _negated_by(kit, kit.quotient(n, d).rounded(), negative)


def sinc(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """sin(pi x) / (pi x), as NumPy computes it."""
    y = math.pi * kit.choose(x.is_("==", 0.0), 1.0e-20, x)
    return sin(kit, y) / y
