"""Densities of scipy.stats, for likelihoods.  SciPy computes them in float64."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import special_functions as functions
from .declare import written
from .special import betaln, log_ndtr, ndtr, xlogy


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    return (np.asarray(x) - loc) / np.float64(1.0) / scale


def _within(inside: Any, value: Any) -> Any:
    """The logarithm of a density, which is 0 outside."""
    return np.where(inside, value, -np.inf)


# ---------------------------------------------------------------- the normal distribution


@written("scipy.stats.norm.logpdf")
def norm_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - np.log(scale)


@written("scipy.stats.norm.pdf")
def norm_pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / scale


@written("scipy.stats.norm.cdf")
def norm_cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return ndtr(_standard(x, loc, scale))


@written("scipy.stats.norm.logcdf")
def norm_logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return log_ndtr(_standard(x, loc, scale))


@written("scipy.stats.norm.sf")
def norm_sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return ndtr(-_standard(x, loc, scale))


@written("scipy.stats.norm.logsf")
def norm_logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return log_ndtr(-_standard(x, loc, scale))


@written("scipy.stats.norm.ppf")
def norm_ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return functions.ndtri(np.asarray(q) / np.float64(1.0)) * scale + loc


# ---------------------------------------------------------------- others


@written("scipy.stats.laplace.logpdf")
def laplace_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    return -math.log(2.0) - np.abs(_standard(x, loc, scale)) - np.log(scale)


@written("scipy.stats.cauchy.logpdf")
def cauchy_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return -math.log(math.pi) - np.log1p(z * z) - np.log(scale)


@written("scipy.stats.t.logpdf")
def t_logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    ends = functions.lgamma(0.5 * (df + 1)) - functions.lgamma(0.5 * df)
    tail = 0.5 * (df + 1) * np.log1p(z * z / df)
    return ends - 0.5 * np.log(math.pi * df) - tail - np.log(scale)


@written("scipy.stats.expon.logpdf")
def expon_logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    return _within(z >= 0, -z - np.log(scale))


@written("scipy.stats.gamma.logpdf")
def gamma_logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    inside = np.where(z >= 0, z, 1.0)
    return _within(z >= 0, xlogy(a - 1.0, inside) - inside - functions.lgamma(a) - np.log(scale))


@written("scipy.stats.beta.logpdf")
def beta_logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    inside = (z >= 0) & (z <= 1)
    at = np.where(inside, z, 0.5)
    parts = xlogy(a - 1.0, at) + xlogy(b - 1.0, 1.0 - at)
    return _within(inside, parts - betaln(a, b) - np.log(scale))


@written("scipy.stats.lognorm.logpdf")
def lognorm_logpdf(x: Any, s: Any, loc: Any = 0, scale: Any = 1) -> Any:
    z = _standard(x, loc, scale)
    at = np.log(np.where(z > 0, z, 1.0))
    normal = -0.5 * (at / s) ** 2 - np.log(s) - 0.5 * math.log(2.0 * math.pi)
    return _within(z > 0, normal - at - np.log(scale))


@written("scipy.stats.poisson.logpmf")
def poisson_logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    n = np.asarray(k) - loc
    return _within((n >= 0) & (n == np.floor(n)), xlogy(n, mu) - functions.lgamma(n + 1.0) - mu)
