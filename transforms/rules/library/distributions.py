"""Probability densities of `scipy.stats`, for likelihoods.  SciPy computes them in float64."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...runtime import special_functions as functions
from .declare_program import library_program, unsupported
from .scipy_special import log_ndtr, ndtr, xlog1py, xlogy


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    return (np.asarray(x) - loc) / np.float64(1.0) / scale


def _within(z: Any, inside: Any, value: Any) -> Any:
    """A log density: `value` inside the support, -inf outside, NaN where `z` is NaN."""
    return np.where(inside, value, np.where(z == z, -np.inf, np.nan))


# ---------------------------------------------------------------- the normal distribution


@library_program("scipy.stats.norm.logpdf")
def norm_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - np.log(scale)


@library_program("scipy.stats.norm.pdf")
def norm_pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / scale


@library_program("scipy.stats.norm.cdf")
def norm_cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return ndtr(_standard(x, loc, scale))


@library_program("scipy.stats.norm.logcdf")
def norm_logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return log_ndtr(_standard(x, loc, scale))


@library_program("scipy.stats.norm.sf")
def norm_sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return ndtr(-_standard(x, loc, scale))


@library_program("scipy.stats.norm.logsf")
def norm_logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return log_ndtr(-_standard(x, loc, scale))


@library_program("scipy.stats.norm.ppf")
def norm_ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return functions.ndtri(np.asarray(q) / np.float64(1.0)) * scale + loc


# ---------------------------------------------------------------- others


@library_program("scipy.stats.laplace.logpdf")
def laplace_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return -math.log(2.0) - np.abs(_standard(x, loc, scale)) - np.log(scale)


@library_program("scipy.stats.cauchy.logpdf")
def cauchy_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return -math.log(math.pi) - np.log1p(z * z) - np.log(scale)


@library_program("scipy.stats.t.logpdf")
def t_logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    ends = functions.lgamma(0.5 * (df + 1)) - functions.lgamma(0.5 * df)
    tail = 0.5 * (df + 1) * np.log1p(z * z / df)
    return ends - 0.5 * np.log(math.pi * df) - tail - np.log(scale)


@library_program("scipy.stats.expon.logpdf")
def expon_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return _within(z, z >= 0, -z - np.log(scale))


@library_program("scipy.stats.gamma.logpdf")
def gamma_logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    inside = np.where(z >= 0, z, 1.0)
    return _within(z, z >= 0, xlogy(a - 1.0, inside) - inside - functions.lgamma(a) - np.log(scale))


@library_program("scipy.stats.beta.logpdf")
def beta_logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    inside = (z >= 0) & (z <= 1)
    at = np.where(inside, z, 0.5)
    parts = xlogy(a - 1.0, at) + xlogy(b - 1.0, 1.0 - at)
    return _within(z, inside, parts - functions.betaln(a, b) - np.log(scale))


@library_program("scipy.stats.lognorm.logpdf")
def lognorm_logpdf(x: Any, s: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    at = np.log(np.where(z > 0, z, 1.0))
    normal = -0.5 * (at / s) ** 2 - np.log(s) - 0.5 * math.log(2.0 * math.pi)
    return _within(z, z > 0, normal - at - np.log(scale))


@library_program("scipy.stats.poisson.logpmf")
def poisson_logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    n = np.asarray(k) - loc
    return _within(n, (n >= 0) & (n == np.floor(n)), xlogy(n, mu) - functions.lgamma(n + 1.0) - mu)


@library_program("scipy.stats.uniform.logpdf")
def uniform_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return _within(z, (z >= 0) & (z <= 1), 0.0 * z - np.log(scale))


@library_program("scipy.stats.chi2.logpdf")
def chi2_logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return gamma_logpdf(x, 0.5 * df, loc, 2.0 * scale)


@library_program("scipy.stats.invgamma.logpdf")
def invgamma_logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    at = np.where(z > 0, z, 1.0)
    value = -(a + 1.0) * np.log(at) - functions.lgamma(a) - 1.0 / at - np.log(scale)
    return _within(z, z > 0, value)


@library_program("scipy.stats.halfnorm.logpdf")
def halfnorm_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return _within(z, z >= 0, 0.5 * math.log(2.0 / math.pi) - 0.5 * z * z - np.log(scale))


@library_program("scipy.stats.logistic.logpdf")
def logistic_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = np.abs(_standard(x, loc, scale))
    return -z - 2.0 * np.log1p(np.exp(-z)) - np.log(scale)


@library_program("scipy.stats.binom.logpmf")
def binom_logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    where = np.asarray(k) - loc
    inside = (where >= 0) & (where <= n) & (where == np.floor(where))
    at = np.where(inside, where, 0)
    p = np.where((p >= 0) & (p <= 1), p, np.nan)
    ways = functions.lgamma(n + 1.0) - functions.lgamma(at + 1.0) - functions.lgamma(n - at + 1.0)
    return _within(where, inside, ways + xlogy(at, p) + xlog1py(n - at, -p))


@library_program("scipy.stats.bernoulli.logpmf")
def bernoulli_logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    return binom_logpmf(k, 1, p, loc)


# ---------------------------------------------------------------- densities themselves


@library_program("scipy.stats.laplace.pdf")
def laplace_pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(laplace_logpdf(x, loc, scale))


@library_program("scipy.stats.cauchy.pdf")
def cauchy_pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(cauchy_logpdf(x, loc, scale))


@library_program("scipy.stats.t.pdf")
def t_pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(t_logpdf(x, df, loc, scale))


@library_program("scipy.stats.expon.pdf")
def expon_pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(expon_logpdf(x, loc, scale))


@library_program("scipy.stats.gamma.pdf")
def gamma_pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(gamma_logpdf(x, a, loc, scale))


@library_program("scipy.stats.chi2.pdf")
def chi2_pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(chi2_logpdf(x, df, loc, scale))


@library_program("scipy.stats.beta.pdf")
def beta_pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(beta_logpdf(x, a, b, loc, scale))


@library_program("scipy.stats.lognorm.pdf")
def lognorm_pdf(x: Any, s: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return np.exp(lognorm_logpdf(x, s, loc, scale))


@library_program("scipy.stats.poisson.pmf")
def poisson_pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    return np.exp(poisson_logpmf(k, mu, loc))


# ---------------------------------------------------------------- multivariate


@library_program("scipy.stats.multivariate_normal.logpdf")
def multivariate_normal_logpdf(
    x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
) -> Any:
    if allow_singular:
        unsupported("a covariance that may be singular is not supported")
    cov = np.asarray(cov) / np.float64(1.0)
    if cov.ndim != 2:
        unsupported("a covariance that is no matrix is not supported; np.diag makes one")
    off = np.asarray(x) if mean is None else np.asarray(x) - mean
    if off.ndim == 0 or off.ndim > 2:
        unsupported("points are the rows of a matrix, or one vector")
    lower = np.linalg.cholesky(cov)
    z = np.linalg.solve(lower, off.T)  # one column per point
    volume = np.sum(np.log(np.diagonal(lower))) + 0.5 * cov.shape[0] * math.log(2.0 * math.pi)
    return np.squeeze(-0.5 * np.sum(z * z, axis=0) - volume)


@library_program("scipy.stats.multivariate_normal.pdf")
def multivariate_normal_pdf(
    x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
) -> Any:
    return np.exp(multivariate_normal_logpdf(x, mean, cov, allow_singular))
