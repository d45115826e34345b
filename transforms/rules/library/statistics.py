"""Weighted averages, `ptp`, covariance and correlation."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import library_program


@library_program("numpy.average")
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    x = np.asarray(a)
    if weights is None:
        mean = np.mean(x, axis=axis, keepdims=keepdims)
        return (mean, np.zeros_like(mean) + x.size / np.size(mean)) if returned else mean
    w = np.asarray(weights)
    if w.ndim != x.ndim:
        w = np.moveaxis(np.broadcast_to(w, np.moveaxis(x, axis, -1).shape), -1, axis)
    total = np.sum(w, axis=axis, keepdims=keepdims)
    if np.any(total == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = np.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


@library_program("numpy.ptp", "numpy.ndarray.ptp", kinks="ties share evenly")
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@library_program("numpy.cov")
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    if np.ndim(m) > 2:
        raise ValueError("m has more than 2 dimensions")
    x = _variables(m, rowvar) if y is None else _joined(m, y, rowvar)
    if y is None and np.ndim(m) == 2 and x.shape[0] == 1:
        # NumPy returns a scalar here, but the rank of a result must not depend on sizes.
        raise ValueError("cov and corrcoef of a single variable need a vector: pass m.ravel()")
    free = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        d = x - np.mean(x, axis=1, keepdims=True)
        c = d @ d.T / float(max(x.shape[1] - free, 0))
    else:
        w = 1.0 if fweights is None else np.asarray(fweights)
        v = w if aweights is None else w * np.asarray(aweights)
        total = np.sum(v)
        d = x - np.sum(x * v, axis=1, keepdims=True) / total
        lost = free if aweights is None else free * np.sum(v * aweights) / total
        c = (d * v) @ d.T / (total - lost)
    return c[0, 0] if y is None and np.ndim(m) == 1 else c


def _variables(m: Any, rowvar: bool) -> Any:
    x = np.asarray(m).astype(np.float64)
    if x.ndim == 1:
        return x[None, :]
    return x if rowvar else x.T


def _joined(m: Any, y: Any, rowvar: bool) -> Any:
    return np.concatenate((_variables(m, rowvar), _variables(y, rowvar)))


@library_program("numpy.corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = cov(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    s = np.sqrt(np.diag(c))
    return np.clip(c / s[:, None] / s, -1, 1)
