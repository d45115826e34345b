"""Inverse trigonometric functions."""

from __future__ import annotations

import math

from .vector_ops import HALF_PI, DoubleWord, Fit, FloatBuilder, FloatValue

# (arctan(t) - t) / t^3 in t^2 for |t| <= tan(pi / 8)
ARCTAN: Fit = {
    64: (-0.3333333333333333, 0.19999999999995513, -0.1428571428466518, 0.11111111015146714,
         -0.0909090457366906, 0.07692183087342026, -0.06664509989818045, 0.058581362519061465,
         -0.05085383488842831, 0.03922974453661223, -0.019174543572021332),
    32: (-0.3333333134651184, 0.19999539852142334, -0.14263945817947388, 0.10743631422519684,
         -0.06451597064733505),
}  # fmt: skip
# (arcsin(s) - s) / s^3 in s^2 for |s| <= 1/2
ARCSIN: Fit = {
    64: (0.16666666666666669, 0.07499999999998433, 0.04464285714635543, 0.030381944138531247,
         0.02237217294214989, 0.017352392720869973, 0.013971212973552933, 0.011479177415184906,
         0.01032281435018578, 0.005457506718640358, 0.01740087944269402, -0.014851887071247204,
         0.028757851367421566),
    32: (0.1666666567325592, 0.07500094175338745, 0.04459940269589424, 0.031100662425160408,
         0.017149237915873528, 0.03369084745645523),
}  # fmt: skip


def _arctan_pair(kit: FloatBuilder, t: DoubleWord) -> DoubleWord:
    """arctan of a double-word t, for |t| <= tan(pi / 8)."""
    z = t.high * t.high
    return DoubleWord(t.high, t.low + t.high * z * kit.fit(z, ARCTAN))


def _add_quarter_pi(kit: FloatBuilder, quarters: FloatValue, rest: DoubleWord) -> FloatValue:
    """quarters pi / 4 + rest."""
    quarter = kit.pair(HALF_PI)
    most = kit.sum(quarters * (0.5 * quarter.high), rest.high)
    return most.high + (most.low + (rest.low + quarters * (0.5 * quarter.low)))


def arctan(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """arctan(x), pi / 4 + arctan((x - 1) / (x + 1)) or pi / 2 - arctan(1 / x)."""
    size, none = kit.absolute(x), kit.number(0.0)
    near, far = size.is_("<", math.tan(math.pi / 8)), size.is_(">", math.tan(3 * math.pi / 8))
    # Beyond the clip the result is pi / 2, and 1 / x would be subnormal.
    top = kit.clipped(size, 0.0, 2.0 ** (kit.format.bias - 2))
    less, more = kit.any_sum(top, kit.number(-1.0)), kit.any_sum(top, kit.number(1.0))
    n = DoubleWord(
        kit.choose(near, size, kit.choose(far, -1.0, less.high)),
        kit.choose(near, none, kit.choose(far, none, less.low)),
    )
    d = DoubleWord(
        kit.choose(near, 1.0, kit.choose(far, top, more.high)),
        kit.choose(near, none, kit.choose(far, none, more.low)),
    )
    quarters = kit.choose(near, 0.0, kit.choose(far, 2.0, 1.0))
    result = _add_quarter_pi(kit, quarters, _arctan_pair(kit, kit.quotient(n, d)))
    return kit.with_sign(kit.choose(x.is_nan(), x, result), x)


def arctan2(kit: FloatBuilder, y: FloatValue, x: FloatValue) -> FloatValue:
    """arctan(a / b) for a = |y| and b = |x|, then moved into the right quadrant."""
    builder, none = kit.builder, kit.number(0.0)
    a, b = kit.absolute(y), kit.absolute(x)
    infinite = builder.or_(a.is_("==", math.inf), b.is_("==", math.inf))
    a = kit.choose(infinite, kit.choose(a.is_("==", math.inf), 1.0, 0.0), a)
    b = kit.choose(infinite, kit.choose(b.is_("==", math.inf), 1.0, 0.0), b)
    steep = a.is_(">", b)
    larger, smaller = kit.choose(steep, a, b), kit.choose(steep, b, a)
    # Sums and reciprocals must not overflow, and reciprocals must be normal.
    top = 2.0 ** (kit.format.bias - 4)
    up = 16.0 * 2.0**kit.format.mantissa
    scale = kit.choose(larger.is_("<", 1.0 / top), up, 1.0)
    scale = kit.choose(larger.is_(">", top), 1.0 / 16.0, scale)
    larger, smaller = larger * scale, smaller * scale
    larger = kit.choose(larger.is_("==", 0.0), 1.0, larger)
    middle = smaller.is_(">", math.tan(math.pi / 8) * larger)
    less, more = kit.sum(larger, -smaller), kit.sum(larger, smaller)
    # arctan(smaller / larger) or pi / 4 - arctan((larger - smaller) / (larger + smaller))
    n = DoubleWord(kit.choose(middle, -less.high, smaller), kit.choose(middle, -less.low, none))
    d = DoubleWord(kit.choose(middle, more.high, larger), kit.choose(middle, more.low, none))
    rest = _arctan_pair(kit, kit.quotient(n, d))
    quarters = kit.choose(middle, 1.0, 0.0)

    sign = kit.choose(steep, -1.0, 1.0)
    quarters = kit.choose(steep, 2.0, 0.0) + sign * quarters
    back = kit.with_sign(kit.number(1.0), x).is_("<", 0.0)
    sign = kit.choose(back, -sign, sign)
    quarters = kit.choose(back, 4.0 - quarters, quarters)
    result = _add_quarter_pi(kit, quarters, DoubleWord(sign * rest.high, sign * rest.low))
    bad = builder.or_(x.is_nan(), y.is_nan())
    return kit.choose(bad, x + y, kit.with_sign(result, y))


def _arcsin_pair(kit: FloatBuilder, size: FloatValue) -> tuple[DoubleWord, DoubleWord]:
    """arcsin(size), and arcsin(sqrt((1 - size) / 2)), each where its argument is at most 1/2."""
    near = size.is_("<=", 0.5)
    z = kit.choose(near, size * size, 0.5 * (1.0 - size))
    p = z * kit.fit(z, ARCSIN)
    root = kit.pair_root(DoubleWord(kit.choose(near, 1.0, z), kit.number(0.0)))
    low = kit.choose(z.is_(">", 0.0), root.low, 0.0)
    return DoubleWord(size, size * p), DoubleWord(root.high, low + root.high * p)


def arcsin(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    size = kit.absolute(x)
    near, far = _arcsin_pair(kit, size)
    beyond = _add_quarter_pi(kit, kit.number(2.0), DoubleWord(-2.0 * far.high, -2.0 * far.low))
    result = kit.choose(size.is_("<=", 0.5), near.rounded(), beyond)
    result = kit.choose(size.is_("<=", 1.0), result, math.nan)
    return kit.with_sign(result, x)


def arccos(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    size = kit.absolute(x)
    near, far = _arcsin_pair(kit, size)
    middle = size.is_("<=", 0.5)
    below = x.is_("<", 0.0)
    # pi / 2 - arcsin(x), 2 arcsin(root) or pi - 2 arcsin(root)
    factor = kit.choose(middle, kit.choose(below, 1.0, -1.0), kit.choose(below, -2.0, 2.0))
    quarters = kit.choose(middle, 2.0, kit.choose(below, 4.0, 0.0))
    part = DoubleWord(
        kit.choose(middle, near.high, far.high), kit.choose(middle, near.low, far.low)
    )
    result = _add_quarter_pi(kit, quarters, DoubleWord(factor * part.high, factor * part.low))
    return kit.choose(size.is_("<=", 1.0), result, math.nan)
