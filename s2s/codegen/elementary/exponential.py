"""Exponentials, hyperbolic functions and the logistic function."""

from __future__ import annotations

import math

from .vector_ops import LN_2, DoubleWord, Fit, FloatBuilder, FloatValue

# (sinh(x) - x) / x^3 in x^2 for |x| <= 1
SINH: Fit = {
    64: (0.16666666666666666, 0.008333333333333299, 0.00019841269841324198,
         2.7557319191381816e-06, 2.5052117695907823e-08, 1.6057679623801638e-10,
         7.746178593018827e-13),
    32: (0.1666666716337204, 0.008333339355885983, 0.00019838102161884308,
         2.806280235745362e-06),
}  # fmt: skip


def _reduce_ln2(kit: FloatBuilder, x: FloatValue) -> tuple[FloatValue, FloatValue, FloatValue]:
    """k, and r as a pair (minuend, subtrahend), where x = k ln(2) + r."""
    k = kit.rounded(x * (1.0 / math.log(2.0)))
    high, low = kit.format.ln2
    return k, x - k * high, k * low


def reduce_exp(kit: FloatBuilder, x: FloatValue) -> tuple[FloatValue, FloatValue, FloatValue]:
    """k and exp(r) - 1 as a double-word sum (value, error), where x = k ln(2) + r."""
    k, most, less = _reduce_ln2(kit, x)
    r = most - less
    error = (most - r) - less
    rest = r * r * kit.polynomial(r, kit.format.exp) + error
    e = r + rest
    return k, e, rest - (e - r)


def exp(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """2^k (1 + r + rest), where r is the difference of an exact number and a small one."""
    large = kit.format.large
    k, most, less = _reduce_ln2(kit, kit.clipped(x, -large, large))
    r = most - less
    return kit.scaled(1.0 + (most + (r * r * kit.polynomial(r, kit.format.exp) - less)), k)


def power_of_two(kit: FloatBuilder, x: DoubleWord) -> FloatValue:
    """2^x of a double-word x within the limits of exp2."""
    k = kit.rounded(x.high)
    high, low = kit.parts(LN_2, 2)
    part = x.high - k
    r = kit.product(part, high)
    r = kit.sum(r.high, r.low + (part * low + x.low * high))
    e = r.high + (r.low + r.high * r.high * kit.polynomial(r.high, kit.format.exp))
    return kit.scaled(1.0 + e, k)


def exp2(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    limit = 1.5 * kit.format.large
    return power_of_two(kit, DoubleWord(kit.clipped(x, -limit, limit), kit.number(0.0)))


def expm1(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    k, e, e_error = reduce_exp(kit, kit.clipped(x, -40.0, kit.format.large))
    small = kit.power(kit.clipped(k, -60.0, 2.0))
    below = (small * e + (small - 1.0)) + small * e_error
    rest = kit.power(kit.clipped(-k, 1.0 - kit.format.bias, 0.0))
    above = kit.scaled((1.0 - rest) + e, k)
    result = kit.choose(k.is_("<=", 1.0), below, above)
    return kit.choose(x.is_("==", 0.0), x, result)


def tanh(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """From e = exp(2 |x|) - 1: e / (e + 2), or 1 - 2 / (e + 2) where that is large."""
    size = kit.absolute(x)
    near = size.is_("<", 0.5)
    k, s, s_error = reduce_exp(kit, kit.clipped(size * 2.0, 0.0, 44.0))
    scale = kit.power(k)
    whole, part = scale - 1.0, scale * s
    e = whole + part
    e_error = (part - (e - whole)) + scale * s_error
    d = 2.0 + e
    n, n_error = kit.choose(near, e, 2.0), kit.choose(near, e_error, 0.0)
    ratio = kit.quotient(DoubleWord(n, n_error), DoubleWord(d, (e - (d - 2.0)) + e_error)).rounded()
    return kit.with_sign(kit.choose(near, ratio, 1.0 - ratio), x)


def expit(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """From e = exp(-|x|): e / (1 + e), or 1 / (1 + e)."""
    k, s, s_error = reduce_exp(kit, kit.clipped(-kit.absolute(x), -kit.format.large, 0.0))
    one = 1.0 + s
    e, e_error = kit.scaled(one, k), kit.scaled((s - (one - 1.0)) + s_error, k)
    d = 1.0 + e
    below = x.is_("<", 0.0)
    n, n_error = kit.choose(below, e, 1.0), kit.choose(below, e_error, 0.0)
    return kit.quotient(DoubleWord(n, n_error), DoubleWord(d, (e - (d - 1.0)) + e_error)).rounded()


def _half_exp(kit: FloatBuilder, size: FloatValue) -> tuple[FloatValue, FloatValue]:
    """exp(size) / 2 and its rounding error."""
    limit = (kit.format.bias + 3) * math.log(2.0)  # the error term must not overflow
    k, s, s_error = reduce_exp(kit, kit.clipped(size, 0.0, limit))
    one = kit.sum(1.0, s)
    half = kit.scaled(one.high, k - 1.0)
    error = kit.scaled(one.low + s_error, k - 1.0)
    return half, error


def sinh(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """exp(|x|) / 2 - exp(-|x|) / 2, or a polynomial for |x| < 1, where these would cancel."""
    size = kit.absolute(x)
    half, error = _half_exp(kit, size)
    far = half + (error - 0.25 / half)
    near = size + size * (size * size) * kit.fit(size * size, SINH)
    return kit.with_sign(kit.choose(size.is_("<", 1.0), near, far), x)


def cosh(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    half, error = _half_exp(kit, kit.absolute(x))
    return half + (error + 0.25 / half)
