"""Densities at infinities, NaN and the bounds of the support, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import s2s

NAN = float("nan")


def expon(x):
    return scipy.stats.expon.pdf(x)


def gamma(x):
    return scipy.stats.gamma.logpdf(x, 2.0)


def beta(x):
    return scipy.stats.beta.pdf(x, 2.0, 3.0)


def lognorm(x):
    return scipy.stats.lognorm.pdf(x, 0.5)


def uniform(x):
    return scipy.stats.uniform.logpdf(x)


def invgamma(x):
    return scipy.stats.invgamma.logpdf(x, 2.0)


def halfnorm(x):
    return scipy.stats.halfnorm.logpdf(x)


def poisson(x):
    return scipy.stats.poisson.pmf(x, 2.0)


def binom(x):
    return scipy.stats.binom.logpmf(x, 3, 0.4)


def binom_of(p):
    return scipy.stats.binom.logpmf(0, 3, p)


@pytest.mark.parametrize(
    "function",
    [expon, gamma, beta, lognorm, uniform, invgamma, halfnorm, poisson, binom, binom_of],
)
def test_nan_and_numbers_outside(function: Any) -> None:
    given = np.array([NAN, -1.0, 0.0, 1.0, 0.5, 2.0, 4.5])
    with np.errstate(all="ignore"):
        want = function(given)
    got = s2s.function(function, backend="loops")(given)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
