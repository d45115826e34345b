"""Powers and roots."""

from __future__ import annotations

import math
from typing import Any

from .exponential import power_of_two
from .logarithm import log2_pair, split_any
from .vector_ops import DoubleWord, Fit, FloatBuilder, FloatValue

# The cube root on [sqrt(1/2), sqrt(2)], a start value for Newton's method
CUBE_ROOT: Fit = {
    64: (0.45369261392338, 0.8967220451211644, -0.5237402767544966, 0.20932832851787,
         -0.03599581493299744),
    32: (0.49515798687934875, 0.731781005859375, -0.28268951177597046, 0.055806249380111694),
}  # fmt: skip


def _is_whole(kit: FloatBuilder, x: FloatValue) -> Any:
    return kit.rounded(x).is_("==", x)


def power(kit: FloatBuilder, x: FloatValue, y: FloatValue) -> FloatValue:
    """2^(y log2 |x|), with the sign of C's pow and all its special values."""
    both, either, none = kit.builder.and_, kit.builder.or_, kit.builder.not_
    size = kit.absolute(x)
    log = log2_pair(kit, size)
    high = kit.choose(size.is_("==", 0.0), -math.inf, log.high)
    high = kit.choose(size.is_("<", math.inf), high, size)  # infinity or nan
    most = kit.product(y, high)
    limit = 1.5 * kit.format.large
    within = kit.absolute(most.high).is_("<", limit)
    error = kit.choose(within, most.low + y * log.low, 0.0)
    # 1^y and x^0 are 1, also for nan and infinity.
    one = either(size.is_("==", 1.0), y.is_("==", 0.0))
    exponent = kit.choose(one, 0.0, kit.clipped(most.high, -limit, limit))
    result = power_of_two(kit, DoubleWord(exponent, error))

    whole = _is_whole(kit, y)
    odd = both(whole, none(_is_whole(kit, y * 0.5)))
    result = kit.choose(odd, kit.with_sign(result, x), result)
    root_of_negative = both(both(x.is_("<", 0.0), size.is_("<", math.inf)), none(whole))
    return kit.choose(root_of_negative, math.nan, result)


def cbrt(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """A polynomial for the mantissa, then two Newton steps; the second computes its residual in
    double-word arithmetic."""
    m, k = split_any(kit, kit.absolute(x))
    third = kit.rounded((k - 1.0) * (1.0 / 3.0))
    rest = k - 3.0 * third  # 0, 1 or 2
    one, two = rest.is_("==", 1.0), rest.is_("==", 2.0)
    m = m * kit.choose(two, 4.0, kit.choose(one, 2.0, 1.0))
    factor = kit.choose(two, 4.0 ** (1 / 3), kit.choose(one, 2.0 ** (1 / 3), 1.0))
    scale = kit.choose(two, 0.25, kit.choose(one, 0.5, 1.0))
    root = factor * kit.fit(m * scale, CUBE_ROOT)
    root = root - (root - m / (root * root)) * (1.0 / 3.0)
    square = kit.product(root, root)
    cube = kit.product(square.high, root)
    residual = kit.exactly("fsub", m, cube.high) - (cube.low + square.low * root)
    root = root + residual / (3.0 * square.high)
    result = kit.with_sign(kit.scaled(root, third), x)
    unchanged = kit.builder.or_(x.is_("==", 0.0), kit.absolute(x).is_("==", math.inf))
    return kit.choose(kit.builder.or_(unchanged, x.is_nan()), x, result)


def into_range(
    kit: FloatBuilder, x: FloatValue, y: FloatValue
) -> tuple[FloatValue, FloatValue, FloatValue]:
    """x and y, the larger first, scaled by a power of two so that their squares are in range, and
    the inverse of that power."""
    larger, smaller = kit.choose(x.is_(">", y), x, y), kit.choose(x.is_(">", y), y, x)
    far = kit.format.bias // 2 - kit.format.mantissa // 2
    shift = float(kit.format.bias // 2 + kit.format.mantissa)
    high, low = larger.is_(">", 2.0**far), larger.is_("<", 2.0**-far)
    down, up = 2.0**-shift, 2.0**shift
    scale = kit.choose(high, down, kit.choose(low, up, 1.0))
    inverse = kit.choose(high, up, kit.choose(low, down, 1.0))
    return larger * scale, smaller * scale, inverse


def hypot(kit: FloatBuilder, x: FloatValue, y: FloatValue) -> FloatValue:
    x, y = kit.absolute(x), kit.absolute(y)
    a, b, scale = into_range(kit, x, y)
    most, less = kit.product(a, a), kit.product(b, b)
    total = kit.sum(most.high, less.high)
    root = kit.pair_root(DoubleWord(total.high, total.low + (most.low + less.low)))
    result = kit.choose(total.high.is_("==", 0.0), 0.0, root.rounded() * scale)
    bad = kit.builder.or_(x.is_nan(), y.is_nan())
    result = kit.choose(bad, math.nan, result)
    infinite = kit.builder.or_(x.is_("==", math.inf), y.is_("==", math.inf))
    return kit.choose(infinite, math.inf, result)
