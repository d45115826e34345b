"""Special functions agree with SciPy to some 14 digits, also at poles and at the bounds of their
range."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from s2s.transforms.runtime import special_functions as ours

mpmath: Any = mp
WIDE = np.linspace(-30.0, 60.0, 181)
ENDS = np.array([0.0, -0.0, 1.0, -1.0, -2.0, 0.5, 1e-300, 1e300, np.inf, -np.inf, np.nan])
ORDERS = range(6)

CASES = [
    ("expit", special.expit, [*WIDE, *ENDS]),
    ("lgamma", special.gammaln, [*np.linspace(0.01, 60, 99), -1.5, -7.3, *ENDS]),
    ("gamma", special.gamma, [*np.linspace(0.01, 171, 99), 171.5, 172, -180.5, -1.5, *ENDS]),
    ("digamma", special.digamma, [*np.linspace(0.01, 60, 99), -1.5, -7.3, *ENDS]),
    ("erfcx", special.erfcx, [*np.linspace(-26, 60, 173), 4.99, 5.0, *ENDS]),
    ("erfinv", special.erfinv, [*np.linspace(-1, 1, 101), 1 - 1e-15, 1e-20, *ENDS]),
    ("erfcinv", special.erfcinv, [*np.linspace(0, 2, 101), 1e-300, 1e-20, 0.039, 0.041, *ENDS]),
    ("ndtri", special.ndtri, [*np.linspace(0, 1, 101), 1e-300, 1e-20, 0.019, 0.021, *ENDS]),
]


def compare(got: list[float], want: np.ndarray) -> None:
    """Compare relative errors where the function is not small, absolute errors near its zeros."""
    np.testing.assert_allclose(got, want, rtol=3e-13, atol=3e-15)


@pytest.mark.parametrize(("name", "scipys", "points"), CASES, ids=[c[0] for c in CASES])
def test_values(name, scipys, points):
    compare([getattr(ours, name)(float(x)) for x in points], scipys(np.array(points)))


@pytest.mark.parametrize("n", ORDERS)
def test_bessel_functions(n):
    points = np.array([*np.linspace(-60, 60, 121), 0.0, 1e-5, 1e3, np.nan])
    for name, scipys in (("jv", special.jv), ("ive", special.ive)):
        compare([getattr(ours, name)(float(n), float(x)) for x in points], scipys(n, points))
    far = np.array([-700.0, -30.0, 0.0, 30.0, 700.0, 712.0, 1500.0])
    compare([ours.iv(float(n), float(x)) for x in far], special.iv(n, far))


@pytest.mark.parametrize("n", ORDERS)
def test_polygamma(n):
    points = np.array([*np.linspace(0.01, 60, 99), 1e5, 0.0, np.nan])
    compare(
        [ours.polygamma(float(n), float(x)) for x in points[:-2]], special.polygamma(n, points[:-2])
    )
    assert np.isnan(ours.polygamma(float(n), np.nan))


@pytest.mark.parametrize("n", range(1, 6))
def test_polygamma_left_of_its_poles(n):
    points = np.array([-0.5, -1.5, -2.25, -20.3, -999.3, -0.0, -1.0, -3.0, -1e300, -np.inf, np.inf])
    compare([ours.polygamma(float(n), float(x)) for x in points], special.polygamma(n, points))
    with mpmath.workdps(40):  # where SciPy loses digits
        far = [float(mpmath.psi(n, x)) for x in (-5000.5, -5000.25)]
    got = [ours.polygamma(float(n), x) for x in (-5000.5, -5000.25)]
    np.testing.assert_allclose(got, far, rtol=1e-10)


BETA = [0.0, 1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 0.5, -0.5, -2.5, 20.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["beta", "betaln"])
def test_beta_at_poles_and_infinities(name):
    pairs = [(a, b) for a in BETA for b in BETA]
    want = getattr(special, name)(*np.array(pairs).T)
    compare([getattr(ours, name)(*pair) for pair in pairs], want)


@pytest.mark.parametrize(
    "pair", [(3.0, 3e5), (171.3, 1e7), (1e10, 3e5), (-2.5, 3e5), (30.0, 40.0), (1e-10, 3e5)]
)
def test_beta_of_large_numbers(pair):
    with mpmath.workdps(40):
        value = mpmath.beta(*pair)
        log = float(mpmath.log(abs(value)))
    np.testing.assert_allclose(ours.betaln(*pair), log, rtol=1e-14)
    np.testing.assert_allclose(ours.beta(*pair), float(value), rtol=1e-13 * abs(log))


def test_bessel_functions_of_tiny_and_large_numbers():
    tiny = [5e-324, 1e-300, 1e-9]
    for n in ORDERS:
        compare([ours.jv(float(n), x) for x in tiny], special.jv(n, tiny))
    np.testing.assert_allclose(ours.ive(0.0, 4e307), special.i0e(4e307), rtol=1e-14)


def test_they_are_compiled():
    """Numba compiles the same code."""
    import numba

    import s2s.kernels_numba.scalar  # noqa: F401  (tells Numba about them)
    from s2s import kernels as known

    kernels: Any = known

    @numba.njit
    def run(x):
        return (
            kernels.digamma(x), kernels.polygamma(2.0, x), kernels.erfinv(0.1 * x),
            kernels.jv(1.0, x), kernels.iv(2.0, x), kernels.ndtri(0.1 * x), kernels.expit(x),
            kernels.lgamma(-x), kernels.beta(x, 2.5), kernels.betaln(x, 300.5),
            kernels.polygamma(2.0, -x), kernels.gamma(-1e300 * x), kernels.erfcinv(0.01 * x),
        )  # fmt: skip

    found = run(1.3)
    wanted = (
        special.digamma(1.3), special.polygamma(2, 1.3), special.erfinv(0.13), special.jv(1, 1.3),
        special.iv(2, 1.3), special.ndtri(0.13), special.expit(1.3), special.gammaln(-1.3),
        special.beta(1.3, 2.5), special.betaln(1.3, 300.5), special.polygamma(2, -1.3), np.nan,
        special.erfcinv(0.013),
    )  # fmt: skip
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
