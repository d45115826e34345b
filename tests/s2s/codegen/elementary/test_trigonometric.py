"""Sine, cosine and tangent: near multiples of pi / 2 and for large arguments, too."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from s2s.codegen.elementary import trigonometric
from tests.s2s.codegen.elementary.kits import BITS, dtype, same, scalar, worst

EXACT = {"sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan}


def points() -> list[float]:
    rng = np.random.default_rng(3)
    near = [k * math.pi / 2 for k in (1, 2, 3, 4, 5, 100, 12345, 10**6)]
    found = [1e-20, 1e-4, 0.3, 0.785, 1.0, *near, *rng.uniform(0, 100, 20), *rng.normal(size=10)]
    return [*found, *(-p for p in found[:12])]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", EXACT)
def test_accuracy(name, bits) -> None:
    assert worst(getattr(trigonometric, name), EXACT[name], points(), bits) < 2.0


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", EXACT)
def test_large_arguments(name, bits) -> None:
    """On both sides of the limit of the quick reduction, and up to the largest number.  The double
    nearest to a multiple of pi / 2 is 6381956970095103 * 2**797."""
    limit = 2.0**45 if bits == 64 else 2.0**17
    large = [limit, np.nextafter(limit, 0), np.nextafter(limit, np.inf), 1e22, 3e30,
             float(np.finfo(dtype(bits)).max), 6381956970095103.0 * 2.0**797 if bits == 64 else 1e9,
             -1e15, -1e25]  # fmt: skip
    with mpmath.workdps(400):
        assert worst_exact(name, large, bits) < 2.0


def worst_exact(name: str, points: list[float], bits: int) -> float:
    def exact(x):
        with mpmath.workdps(400):
            return EXACT[name](x)

    return worst(getattr(trigonometric, name), exact, points, bits)


@pytest.mark.parametrize("bits", BITS)
def test_special_values(bits) -> None:
    for name, zero in (("sin", 0.0), ("cos", 1.0), ("tan", 0.0)):
        run = scalar(getattr(trigonometric, name), bits)
        assert same(run(0.0), dtype(bits)(zero))
        assert same(run(-0.0), dtype(bits)(-zero if name != "cos" else zero))
        assert all(np.isnan(run(x)) for x in (math.inf, -math.inf, math.nan))


@pytest.mark.parametrize("bits", BITS)
def test_sinc(bits) -> None:
    run = scalar(trigonometric.sinc, bits)
    for x in (0.0, -0.0, 0.25, 0.5, 1.5, -2.25, 1e-12, 10.3):
        expected = np.sinc(np.float64(dtype(bits)(x)))
        assert float(run(x)) == pytest.approx(expected, abs=4 * float(np.finfo(dtype(bits)).eps))
    assert run(0.0) == 1.0
