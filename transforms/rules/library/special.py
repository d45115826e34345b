"""Functions of scipy.special that are made of others."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import written


@written("numpy.sinc", "scipy.special.sinc")
def sinc(x: Any) -> Any:
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


@written("scipy.special.logsumexp")
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    scaled = x if b is None else np.where(np.asarray(b) == 0, -np.inf, x)
    top = np.max(scaled, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    parts = np.exp(scaled - top) if b is None else b * np.exp(scaled - top)
    total = np.log(np.sum(parts, axis=axis, keepdims=True)) + top
    return (
        total if keepdims else np.squeeze(total, axis=_all_axes(x.ndim) if axis is None else axis)
    )


def _all_axes(rank: int) -> Any:
    return tuple(range(rank))


@written("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@written("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
