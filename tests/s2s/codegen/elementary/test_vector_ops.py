"""Building blocks of elementary functions: exact where they are said to be, for both formats."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from s2s.codegen import value_types as types
from s2s.codegen.elementary import vector_ops
from s2s.codegen.elementary.vector_ops import FORMATS, HALF_PI, LN_2, DoubleWord, FloatBuilder
from tests.s2s.codegen.elementary.kits import BITS, dtype, scalar
from tests.s2s.codegen.machine_code import DOUBLE

RNG = np.random.default_rng(1)


def pairs(bits: int, count: int = 60) -> list[tuple[float, float]]:
    scale = 2.0 ** RNG.integers(-20, 20, (count, 2))
    return (RNG.normal(size=(count, 2)) * scale).astype(dtype(bits)).tolist()


@pytest.mark.parametrize("bits", BITS)
def test_sums_and_products_with_their_errors_are_exact(bits) -> None:
    high = [scalar(lambda kit, x, y, n=n: getattr(kit, n)(x, y).high, bits, 2)
            for n in ("any_sum", "product", "sum")]  # fmt: skip
    low = [scalar(lambda kit, x, y, n=n: getattr(kit, n)(x, y).low, bits, 2)
           for n in ("any_sum", "product", "sum")]  # fmt: skip
    for x, y in pairs(bits):
        a, b = sorted((x, y), key=abs, reverse=True)
        exact = (Fraction(x) + Fraction(y), Fraction(x) * Fraction(y), Fraction(a) + Fraction(b))
        for k, (args, value) in enumerate(zip(((x, y), (x, y), (a, b)), exact)):
            found = Fraction(float(high[k](*args))) + Fraction(float(low[k](*args)))
            assert found == value


@pytest.mark.parametrize("bits", BITS)
def test_quotients_and_roots_have_twice_the_precision(bits) -> None:
    eps = Fraction(float(np.finfo(dtype(bits)).eps))

    def divided(part: str):
        return scalar(
            lambda kit, x, y: getattr(
                kit.quotient(DoubleWord(x, kit.number(0.0)), DoubleWord(y, kit.number(0.0))), part
            ), bits, 2)  # fmt: skip

    def root(part: str):
        return scalar(
            lambda kit, x: getattr(kit.pair_root(DoubleWord(x, kit.number(0.0))), part), bits
        )

    for x, y in pairs(bits, 30):
        found = sum(Fraction(float(divided(p)(x, y))) for p in ("high", "low"))
        assert abs(found / (Fraction(x) / Fraction(y)) - 1) < 16 * eps * eps
        square = sum(Fraction(float(root(p)(abs(x)))) for p in ("high", "low")) ** 2
        assert abs(square / abs(Fraction(x)) - 1) < 16 * eps * eps


@pytest.mark.parametrize("bits", BITS)
def test_powers_of_two(bits) -> None:
    bias = FORMATS[types.float64 if bits == 64 else types.float32].bias
    power = scalar(lambda kit, k: kit.power(k), bits)
    for k in (1 - bias, -1, 0, 1, 17, bias):
        assert power(k) == dtype(bits)(2.0) ** k
    scaled = scalar(lambda kit, x, k: kit.scaled(x, k), bits, 2)
    mantissa = 52 if bits == 64 else 23
    for x in (1.0, 1.5, 1.9375):
        for k in (-bias - mantissa - 5, 1 - bias - mantissa, 2 - bias, -3, 0, 5, bias, bias + 1):
            with np.errstate(all="ignore"):
                assert scaled(x, k) == np.ldexp(dtype(bits)(x), k)


@pytest.mark.parametrize("bits", BITS)
def test_numbers_are_split_near_one(bits) -> None:
    m, k = (scalar(lambda kit, x, n=n: kit.split(x)[n], bits) for n in range(2))
    tiny, most = np.finfo(dtype(bits)).tiny, np.finfo(dtype(bits)).max
    for x in (tiny, 1e-30, 0.5, math.sqrt(0.5), 0.9, 1.0, math.sqrt(2.0), 3.0, 1e30, most):
        x = dtype(bits)(x)
        mantissa, exponent = m(x), k(x)
        assert exponent == int(exponent) and np.ldexp(mantissa, int(exponent)) == x
        assert math.sqrt(0.5) * 0.999999 <= mantissa <= math.sqrt(2.0) * 1.000001


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 13])
def test_polynomials(bits, count) -> None:
    coefficients = [(-1.0) ** k / (k + 1) for k in range(count)]
    run = scalar(lambda kit, x: kit.polynomial(x, coefficients), bits)
    for x in (-0.75, 0.0, 0.3, 1.0):
        exact = sum(
            Fraction(float(dtype(bits)(c))) * Fraction(float(dtype(bits)(x))) ** k
            for k, c in enumerate(coefficients)
        )
        assert float(run(x)) == pytest.approx(
            float(exact), rel=8 * float(np.finfo(dtype(bits)).eps)
        )


@pytest.mark.parametrize("bits", BITS)
def test_comparisons_are_false_for_nan(bits) -> None:
    for sign in ("<", ">", "==", "<=", ">="):
        run = scalar(lambda kit, x, y, s=sign: kit.choose(x.is_(s, y), 1.0, 0.0), bits, 2)
        assert run(math.nan, 1.0) == run(1.0, math.nan) == run(math.nan, math.nan) == 0.0
        assert run(1.0, 2.0) == float(sign in ("<", "<="))
        assert run(0.0, -0.0) == float("=" in sign)
    clipped = scalar(lambda kit, x: kit.clipped(x, -1.0, 2.0), bits)
    assert [clipped(x) for x in (-9.0, 0.5, 9.0, math.inf)] == [-1.0, 0.5, 2.0, 2.0]
    assert np.isnan(clipped(math.nan))


@pytest.mark.parametrize("kind", FORMATS)
def test_constants_are_sums_of_parts(kind) -> None:
    import mpmath

    kit = FloatBuilder(None, kind)
    kind_ = dtype(kind.bits)
    with mpmath.workdps(120):
        for constant, exact in ((HALF_PI, mpmath.pi / 2), (LN_2, mpmath.log(2))):
            for count in (1, 2, 3):
                parts = kit.parts(constant, count)
                assert all(float(kind_(p)) == p for p in parts)
                error = abs(sum(map(mpmath.mpf, parts), mpmath.mpf(0)) / exact - 1)
                assert error < 2.0 ** -(count * (53 if kind.bits == 64 else 24) - 2)


def test_calls_keep_their_flags() -> None:
    settled = vector_ops.FixedFlags(vector_ops.FLAGS)
    for flag in ("reassoc", "nnan", "fast", "contract"):
        settled.add(flag)
    assert set(settled) == {"contract"}
    assert FORMATS[types.float64].bias == 1023 and FORMATS[types.float32].bias == 127
    assert FloatBuilder(None, types.float64).float == DOUBLE
