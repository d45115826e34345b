"""Powers and roots: accuracy, and the special values of C."""

from __future__ import annotations

import ctypes
import itertools
import math

import mpmath
import numpy as np
import pytest

from s2s.codegen.elementary import power
from tests.s2s.codegen.elementary.kits import BITS, dtype, same, scalar, worst

inf, nan = math.inf, math.nan


@pytest.mark.parametrize("bits", BITS)
def test_powers(bits) -> None:
    rng = np.random.default_rng(5)
    largest = 700.0 if bits == 64 else 80.0
    x = np.exp(rng.uniform(-20, 20, 60))
    y = rng.uniform(-largest, largest, 60) / np.maximum(abs(np.log(x)), 1.0)
    points = [*zip(x, y), (2.0, 10.0), (1.0 + 1e-6, 1e5), (0.999, 500.0), (10.0, -3.0)]
    assert worst(power.power, mpmath.power, points, bits) < 2.0


@pytest.mark.parametrize("bits", BITS)
def test_special_powers_are_those_of_c(bits) -> None:
    run = scalar(power.power, bits, 2)
    c_power = ctypes.CDLL(None).pow
    c_power.restype, c_power.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    values = [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1e4, 1e30, inf]
    values = [dtype(bits)(s * v) for v in values for s in (1.0, -1.0)] + [dtype(bits)(nan)]
    with np.errstate(all="ignore"):
        for x, y in itertools.product(values, values):
            expected = dtype(bits)(c_power(float(x), float(y)))
            found = run(x, y)
            if np.isfinite(expected) and expected != 0:
                np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(x).eps)
            else:
                assert same(found, expected), (x, y, found, expected)


@pytest.mark.parametrize("bits", BITS)
def test_cube_roots(bits) -> None:
    form = np.finfo(dtype(bits))
    rng = np.random.default_rng(6)
    points = [float(form.smallest_subnormal), float(form.tiny), 1e-10, 0.125, 1.0, 2.0, 8.0, 27.0,
              float(form.max), *np.exp(rng.uniform(-60, 60, 40))]  # fmt: skip
    assert worst(power.cbrt, mpmath.cbrt, points, bits) < 2.0
    run = scalar(power.cbrt, bits)
    assert run(-27.0) == -3.0
    for x in (0.0, -0.0, inf, -inf, nan):
        assert same(run(x), dtype(bits)(x))


@pytest.mark.parametrize("bits", BITS)
def test_lengths_do_not_overflow(bits) -> None:
    form = np.finfo(dtype(bits))
    large, small = float(form.max) / 2, float(form.tiny)
    points = [(3.0, 4.0), (large, large), (large, 1.0), (small, small), (small / 8, 0.0),
              (1e-5, 1e5), (-3.0, 4.0), (1.0, 1e-30)]  # fmt: skip
    assert worst(power.hypot, mpmath.hypot, points, bits) < 2.0
    run = scalar(power.hypot, bits, 2)
    for x, y in itertools.product((0.0, 1.0, nan, inf, -inf), repeat=2):
        assert same(run(x, y), dtype(bits)(math.hypot(x, y)))
