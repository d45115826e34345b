"""Inverse trigonometric functions: accuracy, signs of zero, and all quadrants."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from s2s.codegen.elementary import inverse_trig
from tests.s2s.codegen.elementary.kits import BITS, dtype, same, scalar, ulps, worst

EXACT = {"arctan": mpmath.atan, "arcsin": mpmath.asin, "arccos": mpmath.acos}
inf, nan = math.inf, math.nan


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", EXACT)
def test_accuracy(name, bits) -> None:
    rng = np.random.default_rng(4)
    points = [1e-20, 1e-4, 0.3, 0.41421, 0.4143, 0.5, 0.50001, 0.9, 0.99999, 1.0,
              *rng.uniform(0, 1, 20)]  # fmt: skip
    if name == "arctan":
        points += [1.5, 2.4142, 2.41422, 10.0, 1e10, 1e30, float(np.finfo(dtype(bits)).max)]
    points += [-p for p in points]
    assert worst(getattr(inverse_trig, name), EXACT[name], points, bits) < 2.0


@pytest.mark.parametrize("bits", BITS)
def test_special_values(bits) -> None:
    arcsin, arccos, arctan = (scalar(getattr(inverse_trig, n), bits)
                              for n in ("arcsin", "arccos", "arctan"))  # fmt: skip
    for function in (arcsin, arctan):
        assert same(function(0.0), dtype(bits)(0.0)) and same(function(-0.0), dtype(bits)(-0.0))
    for x in (1.0000002, -1.0000002, 2.0, inf, -inf, nan):
        assert np.isnan(arcsin(x)) and np.isnan(arccos(x))
    assert same(arccos(1.0), dtype(bits)(0.0)) and arccos(-1.0) == dtype(bits)(math.pi)
    assert arctan(inf) == -arctan(-inf) == dtype(bits)(math.pi / 2) and np.isnan(arctan(nan))


@pytest.mark.parametrize("bits", BITS)
def test_all_quadrants(bits) -> None:
    run = scalar(inverse_trig.arctan2, bits, 2)
    form = np.finfo(dtype(bits))
    sizes = [0.0, 1.0, 1.5, float(form.tiny), float(form.smallest_subnormal), float(form.max), inf,
             1e-5, 2.4]  # fmt: skip
    values = [dtype(bits)(s * v) for v in sizes for s in (1.0, -1.0)]
    for y, x in itertools.product(values, values):
        found = run(y, x)
        if 0.0 in (x, y) or np.isinf(x) or np.isinf(y):
            expected = np.arctan2(y, x)
            assert np.signbit(found) == np.signbit(expected)
            np.testing.assert_allclose(found, expected, rtol=2 * form.eps)
        else:
            with mpmath.workdps(60):
                exact = mpmath.atan2(mpmath.mpf(float(y)), mpmath.mpf(float(x)))
                assert ulps(found, exact) < 2.0, (y, x)
    for x in (nan, 1.0, inf, 0.0):
        assert np.isnan(run(nan, x)) and np.isnan(run(x, nan))
