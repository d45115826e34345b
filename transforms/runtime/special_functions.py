"""Scalar special functions, in code that Python runs and Numba compiles.

NumPy and Numba lack them, and SciPy's cannot be called from compiled code.  They agree with
SciPy's to about 14 digits (`tests/transforms/runtime/test_special_functions.py`).
"""

from __future__ import annotations

import math

# ---------------------------------------------------------------- the logistic function


def expit(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


# ---------------------------------------------------------------- gamma


def lgamma(x: float) -> float:
    """The logarithm of the absolute value of the gamma function."""
    if x != x or math.isinf(x):
        return x
    if x > 2.5e305:
        return math.inf
    return math.inf if _is_pole(x) else math.lgamma(x)


def gamma(x: float) -> float:
    """The gamma function."""
    if abs(x) < 5.6e-309:  # its reciprocal is infinite
        return math.copysign(math.inf, x)
    if _is_pole(x):
        return math.nan
    if x > 171.7:
        return x if math.isinf(x) else math.inf
    if x < -184.0:
        return 0.0
    return math.gamma(x)


def digamma(x: float) -> float:
    """The derivative of lgamma, by recurrence up to an x where the asymptotic series holds."""
    if x == 0.0:
        return math.copysign(math.inf, -x)
    if math.isinf(x):
        return x if x > 0 else math.nan
    mirrored = 0.0
    if x < 0:
        if _is_pole(x):
            return math.nan
        # Reflection formula.  Near 0 x itself is exact; below, only its fractional part matters.
        fraction = x if x > -0.5 else x - math.floor(x)
        mirrored = math.pi / math.tan(math.pi * fraction)
        x = 1.0 - x
    shift = 0.0
    while x < 12.0:
        shift += 1.0 / x
        x += 1.0
    s = 1.0 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))))
    return math.log(x) - 0.5 / x - series - shift - mirrored


def polygamma(n: float, x: float) -> float:
    """The n-th derivative of digamma."""
    if n == 0:
        return digamma(x)
    if x != x:
        return x
    if _is_pole(x):
        return math.inf if n % 2 == 1 else -math.inf
    s = n + 1.0
    if x > -1000.0:
        total = _inverse_powers(s, x)
    else:  # reflection: the sums on both sides of the pole nearest 0, minus the terms beyond x
        part = x - math.floor(x)
        sign = -1.0 if n % 2 == 0 else 1.0
        total = _inverse_powers(s, part) + sign * _inverse_powers(s, 1.0 - part)
        total -= sign * _inverse_powers(s, 1.0 - x)
    scale = math.exp(math.lgamma(s))
    if n <= 20:
        scale = 1.0
        for k in range(2, int(n) + 1):
            scale *= k
    return total * scale if n % 2 == 1 else -total * scale


def _inverse_powers(s: float, x: float) -> float:
    """The Hurwitz zeta function: the sum over 1 / (k + x) ** s for k = 0, 1, ….

    The first terms are summed directly, the rest by the Euler-Maclaurin formula.
    """
    if s * math.log(abs(x)) < -700.0:
        return math.inf if x > 0 or s % 2 == 0 else -math.inf
    n = s - 1.0
    total = 0.0
    while x < 15.0 + 0.5 * n:
        total += x**-s
        x += 1.0
    total += x ** (1.0 - s) / n + 0.5 * x**-s
    # Bernoulli numbers over factorials: B_2k / (2k)!
    term = s * x ** (-s - 1.0)
    total += term / 12.0
    term *= (s + 1.0) * (s + 2.0) / (x * x)
    total -= term / 720.0
    term *= (s + 3.0) * (s + 4.0) / (x * x)
    total += term / 30240.0
    term *= (s + 5.0) * (s + 6.0) / (x * x)
    total -= term / 1209600.0
    term *= (s + 7.0) * (s + 8.0) / (x * x)
    total += term / 47900160.0
    term *= (s + 9.0) * (s + 10.0) / (x * x)
    return total - term * 691.0 / 1307674368000.0


# ---------------------------------------------------------------- beta


def betaln(a: float, b: float) -> float:
    """The logarithm of the absolute value of the beta function."""
    if _is_pole(a) or _is_pole(b):
        if not _is_pole(a):
            a, b = b, a
        a = _past_pole(a, b)
        if a <= 0.0 or _is_pole(b):
            return math.inf
    if abs(a) < abs(b):
        a, b = b, a
    return lgamma(b) + _lgamma_step(a, b)


def _is_pole(x: float) -> bool:
    """True if gamma has a pole at x; every float below -2 ** 53 is an integer."""
    return x <= 0.0 and (x < -9007199254740992.0 or x % 1.0 == 0.0)


def _past_pole(a: float, b: float) -> float:
    """The argument that replaces `a`, a pole of gamma, in the beta function, by reflection.

    It exists if `b` is an integer such that gamma(a + b) has a pole, too.  Otherwise 0.
    """
    return 0.0 if math.isinf(a) or b % 1.0 != 0.0 else max(1.0 - a - b, 0.0)


def _lgamma_step(a: float, b: float) -> float:
    """lgamma(a) - lgamma(a + b), for abs(b) <= abs(a).

    Where both are large, by Stirling's formula: the direct difference would cancel most digits.
    """
    if math.isinf(a):
        return -a * b
    if a < 20.0 or a + b < 20.0:
        return lgamma(a) - lgamma(a + b)
    rest = _stirling_rest(a) - _stirling_rest(a + b)
    return b - (a - 0.5) * math.log1p(b / a) - b * math.log(a + b) + rest


def _stirling_rest(x: float) -> float:
    """The remainder of Stirling's formula for lgamma, as an asymptotic series."""
    s = 1.0 / (x * x)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188))))) / x


def beta(a: float, b: float) -> float:
    """The beta function: gamma(a) * gamma(b) / gamma(a + b)."""
    sign = 1.0
    if _is_pole(a) or _is_pole(b):
        if not _is_pole(a):
            a, b = b, a
        a = _past_pole(a, b)
        sign = -1.0 if a > 0.0 and b % 2.0 == 1.0 else 1.0
        if a <= 0.0 or _is_pole(b):
            return sign * math.inf
    if abs(a) < abs(b):
        a, b = b, a
    if max(abs(a), abs(a + b)) > 171.6:
        sign *= _gamma_sign(a) * _gamma_sign(b) * _gamma_sign(a + b)
        size = betaln(a, b)
        return sign * (math.inf if size > 709.782712893384 else math.exp(size))
    if _is_pole(a + b):
        return 0.0
    return sign * (gamma(a) / gamma(a + b) * gamma(b))


def _gamma_sign(x: float) -> float:
    """The sign of gamma(x)."""
    return -1.0 if x < 0.0 and math.floor(x) % 2 == 1 else 1.0


# ---------------------------------------------------------------- the normal distribution


def erfc(x: float) -> float:
    """The complementary error function."""
    return math.erfc(x)


def erfcx(x: float) -> float:
    """exp(x * x) * erfc(x), scaled such that it stays of moderate size for large x."""
    if x < 5.0:
        return math.inf if x < -26.7 else math.exp(x * x) * math.erfc(x)
    if x > 1e8:
        return 0.5641895835477563 / x
    # Laplace's continued fraction, evaluated backwards.
    tail = 0.0
    for k in range(60, 0, -1):
        tail = 0.5 * k / (x + tail)
    return 0.5641895835477563 / (x + tail)


def erfinv(x: float) -> float:
    """The y with erf(y) = x: Winitzki's approximation, refined by Halley's method.

    The method is applied to erf or erfc, whichever is small.
    """
    if x != x or x < -1.0 or x > 1.0:
        return math.nan
    if x == 1.0 or x == -1.0:
        return math.copysign(math.inf, x)
    size = abs(x)
    if size == 0.0:
        return x
    ln = math.log1p(-size * size)
    part = 2.0 / (math.pi * 0.147) + 0.5 * ln
    # Written as a quotient to avoid cancellation: for small x it is a difference of two nearly
    # equal numbers.
    y = math.sqrt(-ln / 0.147 / (math.sqrt(part * part - ln / 0.147) + part))
    for _ in range(3):
        if size < 0.5:
            off = math.erf(y) - size
        else:
            off = (1.0 - size) - math.erfc(y)
        step = off / (1.1283791670955126 * math.exp(-y * y))
        y -= step / (1.0 + y * step)
    return math.copysign(y, x)


def ndtri(p: float) -> float:
    """The quantile function of the standard normal distribution."""
    return -1.4142135623730951 * erfcinv(2.0 * p)


def erfcinv(x: float) -> float:
    """The y with erfc(y) = x: by erfinv, or for small x by Newton's method on log(erfc(y))."""
    if x != x or x < 0.0 or x > 2.0:
        return math.nan
    if x == 0.0:
        return math.inf
    if x > 0.04:
        return -erfinv(x - 1.0)
    target = math.log(x)
    y = math.sqrt(-target)
    for _ in range(30):
        scaled = erfcx(y)
        step = (math.log(scaled) - y * y - target) * scaled * 0.886226925452758
        y += step
        if abs(step) < 1e-15 * y:
            break
    return y


# ---------------------------------------------------------------- Bessel functions


def jv(n: float, x: float) -> float:
    """The Bessel function of the first kind, of integer order."""
    order = int(abs(n))
    sign = -1.0 if order % 2 == 1 and (n < 0) != (x < 0) else 1.0
    x = abs(x)
    if x != x or math.isinf(x):  # as in SciPy
        return math.nan
    if x < 1e-8:  # the first term of the series
        first = 1.0
        for k in range(1, order + 1):
            first *= 0.5 * x / k
        return sign * first
    if x > 25.0 + 0.5 * order * order:
        return sign * _jv_far(order, x)
    # Miller's algorithm: the recurrence is stable downwards, and the normalising sum is known.
    start = 2 * ((int(max(x, 1.0 * order)) + 50) // 2)
    above, here, total, found = 0.0, 1e-300, 0.0, 0.0
    for k in range(start, 0, -1):
        above, here = here, 2.0 * k / x * here - above
        if abs(here) > 1e250:
            above, here, total, found = (
                above * 1e-250,
                here * 1e-250,
                total * 1e-250,
                found * 1e-250,
            )
        if k - 1 == order:
            found = here
        if (k - 1) % 2 == 0 and k > 1:
            total += 2.0 * here
    return sign * found / (total + here)


def _jv_far(order: int, x: float) -> float:
    """Hankel's asymptotic expansion for large x, summed while its terms decrease."""
    m = 4.0 * order * order
    cosines, sines, term = 1.0, 0.0, 1.0
    for k in range(1, 60):
        factor = (m - (2.0 * k - 1.0) ** 2) / (8.0 * k * x)
        if abs(factor) >= 1.0 and k > order:
            break
        term *= factor
        if k % 2 == 1:
            sines += term if k % 4 == 1 else -term
        else:
            cosines += term if k % 4 == 0 else -term
        if abs(term) < 1e-18:
            break
    # cos(x - a), with the multiples of pi / 2 in a applied exactly, so that large x keep their
    # digits.
    c, s = math.cos(x), math.sin(x)
    half = 0.7071067811865476
    turn = order % 4
    if turn == 1:
        c, s = s, -c
    elif turn == 2:
        c, s = -c, -s
    elif turn == 3:
        c, s = -s, c
    near, across = half * (c + s), half * (s - c)
    return math.sqrt(2.0 / (math.pi * x)) * (cosines * near - sines * across)


def ive(n: float, x: float) -> float:
    """The modified Bessel function of the first kind, of integer order, times exp(-abs(x))."""
    order = int(abs(n))
    sign = -1.0 if order % 2 == 1 and x < 0 else 1.0
    x = abs(x)
    if x != x or math.isinf(x):
        return x if x != x else 0.0
    if x > 40.0 + order * order:
        m = 4.0 * order * order
        term = total = 1.0
        for k in range(1, 60):
            term *= -(m - (2.0 * k - 1.0) ** 2) / (8.0 * k * x)
            total += term
            if abs(term) < 1e-18:
                break
        return sign * total * 0.3989422804014327 / math.sqrt(x)
    half = 0.5 * x
    term = math.exp(-x)
    for k in range(1, order + 1):
        term *= half / k
    total = term
    for k in range(1, 400):
        term *= half * half / (k * (k + order))
        total += term
        if term < 1e-18 * total:
            break
    return sign * total


def iv(n: float, x: float) -> float:
    """The modified Bessel function of the first kind, of integer order."""
    if math.isinf(x):  # as in SciPy
        return math.nan
    scaled = ive(n, x)
    if abs(x) > 1400.0:
        return math.copysign(math.inf, scaled)
    # In two factors: exp(abs(x)) alone overflows before the result does.
    root = math.exp(0.5 * abs(x))
    return scaled * root * root


FUNCTIONS = (
    expit,
    lgamma,
    gamma,
    digamma,
    polygamma,
    beta,
    betaln,
    erfcx,
    erfinv,
    erfcinv,
    ndtri,
    jv,
    ive,
    iv,
)

# Functions that they call, besides each other.
HELPERS = (
    _jv_far,
    _inverse_powers,
    _is_pole,
    _past_pole,
    _stirling_rest,
    _lgamma_step,
    _gamma_sign,
)
