"""Python scalars under backend="python" behave like compiled ones."""

from __future__ import annotations

import math as std

import numpy as np
import pytest

from s2s.runtime.ieee_math import Real, math


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(
    "value, expected",
    [
        (lambda: Real(1) / 0.0, std.inf),
        (lambda: -1 / Real(0), -std.inf),
        (lambda: Real(0) / 0, std.nan),
        (lambda: Real(0) ** -1, std.inf),
        (lambda: Real(-8) ** (1 / 3), std.nan),
        (lambda: 10.0 ** Real(400), std.inf),
        (lambda: Real(1) % 0.0, std.nan),
        (lambda: math.log(0), -std.inf),
        (lambda: math.log(-1.0), std.nan),
        (lambda: math.log(8.0, 2.0), 3.0),
        (lambda: math.exp(1e4), std.inf),
        (lambda: math.sqrt(-1), std.nan),
        (lambda: math.pow(0.0, -1.0), std.inf),
        (lambda: math.gamma(200.0), std.inf),
        (lambda: math.lgamma(-1.0), std.inf),
        (lambda: math.gamma(-1.0), std.nan),
        (lambda: math.atanh(1.0), std.inf),
        (lambda: math.fmod(1.0, 0.0), std.nan),
    ],
)
def test_no_exceptions(value, expected):
    got = value()
    assert isinstance(got, Real)
    np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_reals_are_weak():
    x = np.ones(2, np.float32)
    for y in (x * Real(2), Real(2) * x, np.maximum(x, Real(3)), np.where(x > 0, x, Real(2))):
        assert y.dtype == np.float32
    assert type(np.float32(1) * Real(2)) is np.float32
    assert type(np.sqrt(Real(2))) is np.float64


def test_arithmetic_stays_real():
    for value in (Real(1) + 1, 1 - Real(2), -Real(1), abs(Real(-1)), 2 * Real(3) // 4):
        assert type(value) is Real


def test_the_rest_of_math_is_there():
    assert math.floor(2.5) == 2 and math.pi == std.pi and math.isnan(math.nan)
    assert {n for n in dir(std) if not n.startswith("_")} <= set(dir(math))
