"""Logarithms, log-sum-exp and inverse hyperbolic functions."""

from __future__ import annotations

import math

from .exponential import exp, exp2
from .vector_ops import Constant, DoubleWord, Fit, FloatBuilder, FloatValue

INVERSE_LN_2: Constant = (1.4426950408889634, 2.0355273740931033e-17, 0.0)
INVERSE_LN_10: Constant = (0.4342944819032518, 1.098319650216765e-17, 0.0)
LOG10_2: Constant = (0.3010299956639812, -2.8037281277851704e-18, 0.0)
TWO_THIRDS: Constant = (0.6666666666666666, 3.700743415417188e-17, 0.0)

# (log((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5 in s^2, s <= 3 - 2 sqrt(2)
LOG_PAIR: Fit = {
    64: (0.4, 0.28571428571429364, 0.22222222221655907, 0.181818183353876,
         0.15384594963074136, 0.13334804663624336, 0.11706237148816372, 0.11723170160799075),
    32: (0.4000000059604645, 0.2857153117656708, 0.2220476269721985, 0.1912044882774353),
}  # fmt: skip


def _log_near_one(kit: FloatBuilder, f: FloatValue, k: FloatValue, low: FloatValue) -> FloatValue:
    """log(1 + f) + k ln(2) + low, where low is a small correction."""
    s = f / (2.0 + f)
    z = s * s
    r = z * kit.polynomial(z, kit.format.log)
    h = 0.5 * f * f
    high, rest = kit.format.ln2
    return k * high - ((h - (s * (h + r) + (k * rest + low))) - f)


def split_any(kit: FloatBuilder, x: FloatValue) -> tuple[FloatValue, FloatValue]:
    """As `Kit.split`, for subnormal numbers too."""
    shift = kit.format.mantissa + 2
    tiny = x.is_("<", 2.0 ** (1 - kit.format.bias))
    m, k = kit.split(kit.choose(tiny, x * 2.0**shift, x))
    return m, k - kit.choose(tiny, float(shift), 0.0)


def _domain(kit: FloatBuilder, x: FloatValue, least: float, result: FloatValue) -> FloatValue:
    """The result with the special values: -inf at the lower end of the domain, nan below it, inf at
    infinity."""
    result = kit.choose(x.is_("==", math.inf), math.inf, result)
    outside = kit.choose(x.is_("==", least), -math.inf, math.nan)
    return kit.choose(x.is_(">", least), result, outside)


def log(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    m, k = split_any(kit, x)
    return _domain(kit, x, 0.0, _log_near_one(kit, m - 1.0, k, kit.number(0.0)))


def log2(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    m, k = split_any(kit, x)
    near = _log_near_one(kit, m - 1.0, kit.number(0.0), kit.number(0.0))
    return _domain(kit, x, 0.0, k + near * (1.0 / math.log(2.0)))


def _log_pair(kit: FloatBuilder, m: FloatValue) -> DoubleWord:
    """log(m) as a double-word number with some twelve bits more than the format, for m near 1."""
    f = m - 1.0
    s = kit.quotient(DoubleWord(f, kit.number(0.0)), kit.sum(2.0, f))
    z = kit.pair_product(s, s)
    # s (2 + z (2/3 + z rest))
    rest = kit.fit(z.high, LOG_PAIR)
    high, low = kit.parts(TWO_THIRDS, 2)
    third = kit.sum(high, z.high * rest)
    third = kit.pair_product(z, DoubleWord(third.high, third.low + (low + z.low * rest)))
    two = kit.sum(2.0, third.high)
    return kit.pair_product(s, DoubleWord(two.high, two.low + third.low))


def log2_pair(kit: FloatBuilder, x: FloatValue) -> DoubleWord:
    """log2(x) as a double-word number, for positive finite x."""
    m, k = split_any(kit, x)
    part = kit.pair_product(_log_pair(kit, m), kit.pair(INVERSE_LN_2))
    most = kit.sum(k, part.high)
    return kit.sum(most.high, most.low + part.low)


def log10(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    m, k = split_any(kit, x)
    part = kit.pair_product(_log_pair(kit, m), kit.pair(INVERSE_LN_10))
    whole = kit.pair_product(DoubleWord(k, kit.number(0.0)), kit.pair(LOG10_2))
    most = kit.sum(whole.high, part.high)
    return _domain(kit, x, 0.0, most.high + (most.low + (whole.low + part.low)))


def _log1p_pair(kit: FloatBuilder, x: DoubleWord) -> FloatValue:
    """log(1 + x) of a double-word x, for finite x > -1."""
    u = kit.any_sum(kit.number(1.0), x.high)
    m, k = kit.split(u.high)
    return _log_near_one(kit, m - 1.0, k, (u.low + x.low) / u.high)


def log1p(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    result = _domain(kit, x, -1.0, _log1p_pair(kit, DoubleWord(x, kit.number(0.0))))
    return kit.choose(x.is_("==", 0.0), x, result)


def logaddexp(kit: FloatBuilder, x: FloatValue, y: FloatValue) -> FloatValue:
    larger = kit.choose(x.is_(">", y), x, y)
    distance = kit.absolute(x - y)
    result = larger + log1p(kit, exp(kit, -distance))
    result = kit.choose(x.is_("==", y), x + math.log(2.0), result)  # infinities, too
    bad = kit.builder.or_(x.is_nan(), y.is_nan())
    return kit.choose(bad, x + y, result)


def logaddexp2(kit: FloatBuilder, x: FloatValue, y: FloatValue) -> FloatValue:
    larger = kit.choose(x.is_(">", y), x, y)
    distance = kit.absolute(x - y)
    result = larger + log1p(kit, exp2(kit, -distance)) * (1.0 / math.log(2.0))
    result = kit.choose(x.is_("==", y), x + 1.0, result)
    bad = kit.builder.or_(x.is_nan(), y.is_nan())
    return kit.choose(bad, x + y, result)


# ---------------------------------------------------------------- inverse hyperbolic functions


def _far_or_near(kit: FloatBuilder, size: FloatValue, near: DoubleWord) -> FloatValue:
    """log(1 + near), or log(2 size) where size is so large that both agree."""
    far = size.is_(">", 2.0 ** (kit.format.mantissa // 2 + 3))
    u = kit.any_sum(kit.number(1.0), kit.choose(far, 0.0, near.high))
    error = kit.choose(far, 0.0, (u.low + near.low) / u.high)
    m, k = kit.split(kit.choose(far, size, u.high))
    result = _log_near_one(kit, m - 1.0, k + kit.choose(far, 1.0, 0.0), error)
    return kit.choose(size.is_("<", math.inf), result, size)


def arcsinh(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """log(1 + u), u = |x| + x^2 / (1 + sqrt(1 + x^2))."""
    size = kit.absolute(x)
    square = kit.product(size, size)
    under = kit.any_sum(kit.number(1.0), square.high)
    root = kit.pair_root(DoubleWord(under.high, under.low + square.low))
    below = kit.any_sum(kit.number(1.0), root.high)
    part = kit.quotient(square, DoubleWord(below.high, below.low + root.low))
    u = kit.sum(size, part.high)
    result = _far_or_near(kit, size, DoubleWord(u.high, u.low + part.low))
    return kit.choose(size.is_(">", 0.0), kit.with_sign(result, x), x)


def arccosh(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """log(1 + u), u = t + sqrt(t (t + 2)) and t = x - 1."""
    t = x - 1.0
    under = kit.pair_product(DoubleWord(t, kit.number(0.0)), kit.any_sum(t, kit.number(2.0)))
    root = kit.pair_root(under)
    u = kit.any_sum(t, root.high)
    result = _far_or_near(kit, x, DoubleWord(u.high, u.low + root.low))
    return kit.choose(x.is_("==", 1.0), 0.0, kit.choose(x.is_(">", 1.0), result, math.nan))


def arctanh(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """log(1 + 2 |x| / (1 - |x|)) / 2."""
    size = kit.absolute(x)
    u = kit.quotient(DoubleWord(2.0 * size, kit.number(0.0)), kit.sum(1.0, -size))
    result = kit.choose(size.is_("<", 1.0), 0.5 * _log1p_pair(kit, u), math.nan)
    result = kit.choose(size.is_("==", 1.0), math.inf, result)
    return kit.choose(size.is_(">", 0.0), kit.with_sign(result, x), x)
