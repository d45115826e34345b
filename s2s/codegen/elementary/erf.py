"""The error function and its complement."""

from __future__ import annotations

import math

from .exponential import reduce_exp
from .vector_ops import Fit, FloatBuilder, FloatValue

# erf(x) / x - 1 in x^2 for |x| <= 1
ERF: Fit = {
    64: (0.12837916709551256, -0.37612638903183543, 0.11283791670945006, -0.02686617064323777,
         0.0052239776071164225, -0.0008548325975389692, 0.00012055294904839707,
         -1.492473690741966e-05, 1.6447424703317362e-06, -1.6208483801871705e-07,
         1.3720064546777686e-08, -7.795898827002142e-10),
    32: (0.12837916612625122, -0.3761262595653534, 0.11283594369888306, -0.02685421146452427,
         0.005189087241888046, -0.000801686430349946, 7.875874871388078e-05),
}  # fmt: skip
# -log(erfc(x)) for 1 <= x <= 5.95 (float64) or 3.95 (float32), beyond which erf rounds to 1
LOG_ERFC: Fit = {
    64: (1.0830201701907812e-06, 1.128368537784112, 0.6366683028033279, 0.10263580542292071,
         -0.018862157773512304, -0.0005881742584563225, 0.0021027192555182865,
         -0.0009228515571640394, 0.00023231298934388544, -2.8740339129078768e-05,
         -3.354348016206598e-06, 2.6049521893995206e-06, -6.741868049565061e-07,
         1.0625392626078862e-07, -1.0707695844843452e-08, 6.398872697304824e-10,
         -1.7368457224325012e-11),
    32: (0.0003555484290700406, 1.1270322799682617, 0.6382390856742859, 0.1030251756310463,
         -0.021799186244606972, 0.0029379946645349264, -0.00018540122255217284),
}  # fmt: skip
# (1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3) for 1/2 <= x <= 28
SCALED_ERFC: Fit = {
    64: (1.2530080582697296, -0.13562110612458134, -0.04756229435345058, 0.1296451587027835,
         -0.11927366341532432, 0.06830802734307077, -0.023770514918036445, 0.002529391832675186,
         0.0018886903466049378, -0.0007798324398793133, -0.0001051596522473519,
         0.00012510037313823361, 4.9484535339192485e-06, -2.0104454851557477e-05,
         -7.270603109882931e-07, 3.481686983452046e-06, 3.4482536968247793e-07,
         -6.299129103282541e-07, -1.2169240627639653e-07, 1.1177528463195771e-07,
         2.292393009921899e-08, -1.541055292474667e-08),
    32: (1.2530080080032349, -0.1356210559606552, -0.04756199195981026, 0.1296432614326477,
         -0.11927860230207443, 0.06832736730575562, -0.023742550984025, 0.002447014208883047,
         0.0018238696502521634, -0.000620200764387846, -5.034296918893233e-05),
}  # fmt: skip


def erf(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    """x (1 + polynomial) for |x| < 1, else 1 - exp(polynomial)."""
    size = kit.absolute(x)
    near = size + size * kit.fit(size * size, ERF)
    limit = 5.95 if kit.format.bits == 64 else 3.95
    k, e, _ = reduce_exp(kit, -kit.fit(kit.clipped(size, 1.0, limit), LOG_ERFC))
    scale = kit.power(k)
    far = 1.0 - (scale + scale * e)
    result = kit.choose(size.is_("<", 1.0), near, far)
    return kit.choose(x.is_nan(), x, kit.with_sign(result, x))


def _erfc_far(kit: FloatBuilder, size: FloatValue) -> FloatValue:
    """erfc(x) = exp(-x^2) polynomial / (1 + 2 x), for x >= 1/2."""
    size = kit.clipped(size, 0.5, math.sqrt(kit.format.large))
    square = kit.product(size, size)
    k, e, e_error = reduce_exp(kit, -square.high)
    one = kit.sum(1.0, e)
    error = one.low + (e_error - one.high * square.low)
    first, *others = SCALED_ERFC[kit.format.bits]
    t = (size - 3.0) / (size + 3.0)
    ratio = kit.quotient(kit.sum(first, t * kit.polynomial(t, others)), kit.sum(2.0 * size, 1.0))
    return kit.scaled(one.high * ratio.high + (one.high * ratio.low + error * ratio.high), k)


def erfc(kit: FloatBuilder, x: FloatValue) -> FloatValue:
    size = kit.absolute(x)
    far = _erfc_far(kit, size)
    far = kit.choose(x.is_("<", 0.0), 2.0 - far, far)
    most = kit.sum(1.0, -x)
    near = most.high + (most.low - x * kit.fit(x * x, ERF))
    result = kit.choose(size.is_("<", 0.5), near, far)
    return kit.choose(x.is_nan(), x, result)
