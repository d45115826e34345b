"""The coefficients of elementary functions: interpolation at Chebyshev nodes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from s2s.codegen.elementary import erf, exponential, inverse_trig, logarithm, power, trigonometric


def exact(number: Any) -> Any:
    return mpmath.mpf(number.numerator) / number.denominator if number != int(number) else number


def odd(function: Callable[[Any], Any], start: int = 1, *terms: Any) -> Callable[[Any], Any]:
    """The remainder of an odd function after its first terms, divided by the next power, as a
    function of the square."""

    def of(z: Any) -> Any:
        x = mpmath.sqrt(z)
        known = sum(exact(c) * x ** (start + 2 * i) for i, c in enumerate(terms))
        return (function(x) - known) / x ** (start + 2 * len(terms))

    return of


def scaled_erfc(t: Any) -> Any:
    x = 3 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


def log_ratio(s: Any) -> Any:
    return mpmath.log((1 + s) / (1 - s))


FITS = {
    "sin": (trigonometric.SIN, odd(mpmath.sin, 1, 1), 0, Fraction(0.64)),
    "cos": (trigonometric.COS, odd(mpmath.cos, 0, 1, Fraction(-1, 2)), 0, Fraction(0.64)),
    "arctan": (inverse_trig.ARCTAN, odd(mpmath.atan, 1, 1), 0, Fraction(0.1716)),
    "arcsin": (inverse_trig.ARCSIN, odd(mpmath.asin, 1, 1), 0, Fraction(1, 4)),
    "sinh": (exponential.SINH, odd(mpmath.sinh, 1, 1), 0, 1),
    "log": (logarithm.LOG_PAIR, odd(log_ratio, 1, 2, Fraction(2, 3)), 0, Fraction(0.02944)),
    "cbrt": (power.CUBE_ROOT, mpmath.cbrt, Fraction(0.7071), Fraction(1.4143)),
    "erf": (erf.ERF, lambda z: odd(mpmath.erf)(z) - 1, 0, 1),
    "erfc": (erf.SCALED_ERFC, scaled_erfc, Fraction(-5, 7), Fraction(25, 31)),
}


def interpolated(function: Callable[[Any], Any], start: Any, end: Any, count: int) -> list[Any]:
    start, end = exact(start), exact(end)
    turns = [mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    nodes = [(start + end) / 2 + (end - start) / 2 * t for t in turns]
    powers = mpmath.matrix([[u**j for j in range(count)] for u in nodes])
    return list(mpmath.lu_solve(powers, mpmath.matrix([function(u) for u in nodes])))


@pytest.mark.parametrize("name", FITS)
def test_coefficients(name: str) -> None:
    known, function, start, end = FITS[name]
    for bits, coefficients in known.items():
        with mpmath.workprec(400):
            found = interpolated(function, start, end, len(coefficients))
        dtype = np.dtype(f"float{bits}").type
        np.testing.assert_array_equal([dtype(float(c)) for c in found], coefficients)


def test_logarithm_of_the_error_function() -> None:
    """A weighted fit by Lawson's method, because errors matter less for small results."""
    for bits, last in ((64, 5.95), (32, 3.95)):
        c = erf.LOG_ERFC[bits]
        with mpmath.workprec(200):
            for x in np.linspace(1, last, 200).tolist():
                result = mpmath.erfc(x)
                found = mpmath.fsum(a * mpmath.mpf(x) ** i for i, a in enumerate(c))
                off = result * abs(found + mpmath.log(result))
                assert off < (2.0**-52 if bits == 64 else 2.0**-23)
