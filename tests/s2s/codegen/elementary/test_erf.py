"""The error function and its complement, where they are near 0, 1 and 2."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from s2s.codegen.elementary import erf
from tests.s2s.codegen.elementary.kits import BITS, dtype, same, scalar, worst


@pytest.mark.parametrize("bits", BITS)
def test_accuracy(bits) -> None:
    points = [1e-30, 1e-8, 0.1, 0.4999, 0.5, 0.84, 0.9999, 1.0, 1.0001, 2.0, 3.9, 3.95, 5.9, 5.95]
    points += [-p for p in points] + list(np.random.default_rng(7).uniform(-6, 6, 40))
    assert worst(erf.erf, mpmath.erf, points, bits) < 2.0
    far = [8.0, 9.0] if bits == 32 else [10.0, 20.0, 26.0]
    assert worst(erf.erfc, mpmath.erfc, [*points, *far], bits) < 2.0


@pytest.mark.parametrize("bits", BITS)
def test_special_values(bits) -> None:
    one, two = scalar(erf.erf, bits), scalar(erf.erfc, bits)
    for x, a, b in ((0.0, 0.0, 1.0), (-0.0, -0.0, 1.0), (math.inf, 1.0, 0.0),
                    (-math.inf, -1.0, 2.0), (math.nan, math.nan, math.nan), (30.0, 1.0, 0.0),
                    (-30.0, -1.0, 2.0), (1e30, 1.0, 0.0)):  # fmt: skip
        assert same(one(x), dtype(bits)(a)) and same(two(x), dtype(bits)(b))
