"""Polynomials, geometric ranges (`logspace`, `geomspace`) and window functions."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .calculus import convolve
from .declare_program import library_program, unsupported


@library_program("numpy.polyval")
def polyval(p: Any, x: Any) -> Any:
    at = np.asarray(x)
    out = np.zeros_like(at)
    for c in np.asarray(p):
        out = out * at + c
    return out


@library_program("numpy.polynomial.polynomial.polyval")
def polynomial_polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    if np.ndim(c) != 1:
        unsupported("polyval with several columns of coefficients is not supported")
    at = np.asarray(x) if isinstance(x, (list, tuple)) else x
    coefficients = np.asarray(c)
    out = coefficients[-1] + 0 * at
    for k in range(coefficients.shape[0] - 2, -1, -1):
        out = coefficients[k] + out * at
    return out


@library_program("numpy.polynomial.chebyshev.chebval")
def chebval(x: Any, c: Any, tensor: bool = True) -> Any:
    if np.ndim(c) != 1:
        unsupported("chebval with several columns of coefficients is not supported")
    at = np.asarray(x) if isinstance(x, (list, tuple)) else x
    following, after = 0.0 * at, 0.0 * at
    coefficients = np.asarray(c)
    for k in range(coefficients.shape[0] - 1, 0, -1):
        following, after = coefficients[k] + 2.0 * at * following - after, following
    return coefficients[0] + at * following - after


@library_program("numpy.polynomial.legendre.legval")
def legval(x: Any, c: Any, tensor: bool = True) -> Any:
    if np.ndim(c) != 1:
        unsupported("legval with several columns of coefficients is not supported")
    at = np.asarray(x) if isinstance(x, (list, tuple)) else x
    coefficients = np.asarray(c)
    before, here = 0.0 * at, 0.0 * at + 1.0
    out = coefficients[0] * here
    for k in range(1, coefficients.shape[0]):
        before, here = here, ((2.0 * k - 1.0) * at * here - (k - 1.0) * before) / k
        out = out + coefficients[k] * here
    return out


@library_program("numpy.polyadd")
def polyadd(a1: Any, a2: Any) -> Any:
    p, q = np.atleast_1d(np.asarray(a1)), np.atleast_1d(np.asarray(a2))
    out = np.zeros(max(p.shape[0], q.shape[0]), dtype=(p[:1] + q[:1]).dtype)
    out[out.shape[0] - p.shape[0] :] += p
    out[out.shape[0] - q.shape[0] :] += q
    return out


@library_program("numpy.polysub")
def polysub(a1: Any, a2: Any) -> Any:
    return polyadd(a1, -np.asarray(a2))


@library_program("numpy.polymul")
def polymul(a1: Any, a2: Any) -> Any:
    return convolve(_without_zeros(a1), _without_zeros(a2))


def _without_zeros(p: Any) -> Any:
    """The coefficients without leading zeros; at least one coefficient."""
    given = np.atleast_1d(np.asarray(p))
    start, last = 0, max(given.shape[0] - 1, 0)
    while start < last and given[start] == 0:
        start += 1
    return given[start:] if given.shape[0] > 0 else np.zeros(1, dtype=given.dtype)


@library_program("numpy.polyder")
def polyder(p: Any, m: int = 1) -> Any:
    out = np.asarray(p)
    for _ in tuple(range(m)):
        out = out[:-1] * np.arange(out.shape[0] - 1, 0, -1)
    return out


@library_program("numpy.polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    out = np.asarray(p)
    for _ in tuple(range(m)):
        scaled = out / np.arange(out.shape[0], 0, -1)
        out = np.concatenate((scaled, [0.0 if k is None else k]))
    return out


@library_program("numpy.polyfit")
def polyfit(x: Any, y: Any, deg: int, w: Any = None) -> Any:
    left, right = vander(np.asarray(x), deg + 1), np.asarray(y)
    if w is not None:
        left = left * np.asarray(w)[:, None]
        right = (right.T * np.asarray(w)).T
    scale = np.sqrt(np.sum(left * left, axis=0))
    found = np.linalg.lstsq(left / scale, right)[0]
    return (found.T / scale).T


@library_program("numpy.vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    powers = np.arange(x.shape[0] if N is None else N)
    return x[:, None] ** (powers if increasing else powers[::-1])


@library_program("numpy.logspace")
def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0) -> Any:
    return base ** np.linspace(start, stop, num, endpoint)


@library_program("numpy.geomspace")
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    exponents = np.linspace(0.0, 1.0, num, endpoint)
    out = start * (stop / start) ** exponents
    if num > 0:
        out[0] = start
    if num > 1 and endpoint:
        out[-1] = stop
    return out


# ---------------------------------------------------------------- windows


def _angles(M: int) -> Any:
    return np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1)


@library_program("numpy.hanning")
def hanning(M: int) -> Any:
    return 0.5 + 0.5 * np.cos(_angles(M))


@library_program("numpy.hamming")
def hamming(M: int) -> Any:
    return 0.54 + 0.46 * np.cos(_angles(M))


@library_program("numpy.blackman")
def blackman(M: int) -> Any:
    return 0.42 + 0.5 * np.cos(_angles(M)) + 0.08 * np.cos(2.0 * _angles(M))


@library_program("numpy.bartlett")
def bartlett(M: int) -> Any:
    return 1.0 - np.abs(np.arange(1 - M, M, 2) / max(M - 1, 1))


@library_program("numpy.kaiser")
def kaiser(M: int, beta: Any) -> Any:
    ratio = np.arange(1 - M, M, 2) / max(M - 1, 1)
    return np.i0(beta * np.sqrt(1.0 - ratio * ratio)) / np.i0(1.0 * beta)
