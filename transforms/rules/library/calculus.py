"""Differences, integrals, interpolation and convolution."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import library_program, unsupported
from .order import argsort, search


@library_program("numpy.trapezoid", "numpy.trapz", "scipy.integrate.trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    along = np.moveaxis(np.asarray(y), axis, -1)
    return np.sum(0.5 * _steps(x, dx, axis) * (along[..., 1:] + along[..., :-1]), axis=-1)


def _steps(x: Any, dx: Any, axis: int) -> Any:
    """Distances of neighbouring sample points, along the last axis."""
    if x is None:
        return dx
    places = np.asarray(x)
    return np.diff(places if places.ndim == 1 else np.moveaxis(places, axis, -1))


@library_program("scipy.integrate.cumulative_trapezoid")
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    along = np.moveaxis(np.asarray(y), axis, -1)
    parts = 0.5 * _steps(x, dx, axis) * (along[..., 1:] + along[..., :-1])
    out = np.cumsum(parts, axis=-1)
    if initial is not None:
        out = np.concatenate((np.full_like(along[..., :1], initial), out), axis=-1)
    return np.moveaxis(out, -1, axis)


# ---------------------------------------------------------------- differences


@library_program("numpy.gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = np.asarray(f)
    if x.dtype.kind == "b" and x.ndim > 0:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    if isinstance(axis, tuple):
        axes: Any = axis
    elif axis is not None:
        axes = (axis,)
    else:
        axes = tuple(range(x.ndim))
    steps = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    if len(axes) == 1:
        return _slope(x, steps[0], axes[0], edge_order)
    return tuple([_slope(x, h, k, edge_order) for k, h in zip(axes, steps)])


def _slope(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    """Central differences inside, one-sided at the ends; `h` is a step or coordinates."""
    x = np.moveaxis(f, axis, -1)
    if x.shape[-1] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    out = np.empty_like(x)
    if np.ndim(h) == 0:
        d = np.full(x.shape[-1] - 1, 1.0 * h)
        out[..., 1:-1] = (x[..., 2:] - x[..., :-2]) / (2.0 * h)
    else:
        d = np.diff(np.asarray(h))
        p, q = d[:-1], d[1:]
        out[..., 1:-1] = (
            -q / (p * (p + q)) * x[..., :-2]
            + (q - p) / (p * q) * x[..., 1:-1]
            + p / (q * (p + q)) * x[..., 2:]
        )
    if edge_order == 1:
        out[..., 0] = (x[..., 1] - x[..., 0]) / d[0]
        out[..., -1] = (x[..., -1] - x[..., -2]) / d[-1]
    else:
        out[..., 0] = _end(d[0], d[1], x[..., 0], x[..., 1], x[..., 2])
        out[..., -1] = -_end(d[-1], d[-2], x[..., -1], x[..., -2], x[..., -3])
    return np.moveaxis(out, -1, axis)


def _end(p: Any, q: Any, x: Any, y: Any, z: Any) -> Any:
    """The slope of the parabola through three points, at the first; p, q are their distances."""
    return -(2.0 * p + q) / (p * (p + q)) * x + (p + q) / (p * q) * y - p / (q * (p + q)) * z


@library_program("numpy.ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    flat = np.ravel(ary)
    out = flat[1:] - flat[:-1]
    if to_begin is not None:
        out = np.concatenate((np.ravel(np.asarray(to_begin)).astype(out.dtype), out))
    if to_end is not None:
        out = np.concatenate((out, np.ravel(np.asarray(to_end)).astype(out.dtype)))
    return out


@library_program("numpy.unwrap")
def unwrap(
    p: Any, discont: Any = None, axis: int = -1, *, period: float = 6.283185307179586
) -> Any:
    x = np.moveaxis(np.asarray(p), axis, -1)
    if x.dtype.kind in "iu" and isinstance(period, int):
        unsupported("numpy.unwrap of integers with an integer period is not supported")
    half = 0.5 * period
    steps = np.diff(x)
    near = np.mod(steps + half, period) - half
    near = np.where((near == -half) & (steps > 0), half, near)
    turns = np.where(np.abs(steps) < (half if discont is None else discont), 0.0, near - steps)
    out = x.copy() if x.dtype.kind == "f" else x.astype(np.float64)
    out[..., 1:] += np.cumsum(turns, axis=-1)
    return np.moveaxis(out, -1, axis)


# ---------------------------------------------------------------- interpolation


@library_program("numpy.interp", kinks="at a knot the slope to its right")
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    at, knots, values = x, np.asarray(xp), np.asarray(fp)
    if knots.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        order = argsort(knots % period)
        knots, values = (knots % period)[order], values[order]
        knots = np.concatenate((knots[-1:] - period, knots, knots[:1] + period))
        values = np.concatenate((values[-1:], values, values[:1]))
        at = x % period
    if np.ndim(at) == 0:
        return np.float64(_interpolated(at, knots, values, left, right))
    flat = np.ravel(at)
    out = np.zeros(flat.shape)
    for i in range(flat.shape[0]):
        out[i] = _interpolated(flat[i], knots, values, left, right)
    return out.reshape(np.shape(at))


def _interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    last = xp.shape[0] - 1
    if x != x:
        return 1.0 * x
    if x < xp[0]:
        return 1.0 * (fp[0] if left is None else left)
    if x > xp[last]:
        return 1.0 * (fp[last] if right is None else right)
    if x == xp[last]:
        return 1.0 * fp[last]
    i = search(xp, x, True) - 1
    return fp[i] + (fp[i + 1] - fp[i]) / (xp[i + 1] - xp[i]) * (x - xp[i])


# ---------------------------------------------------------------- convolution


@library_program("numpy.convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = np.atleast_1d(np.asarray(a)), np.atleast_1d(np.asarray(v))
    n, m = a.shape[0], v.shape[0]
    if n == 0:
        raise ValueError("a cannot be empty")
    if m == 0:
        raise ValueError("v cannot be empty")
    full = np.zeros(n + m - 1, dtype=(a[:1] * v[:1]).dtype)
    for j in range(m):
        full[j : j + n] += v[j] * a
    if mode == "full":
        return full
    if mode == "same":
        first = (min(n, m) - 1) // 2
        return full[first : first + max(n, m)]
    if mode != "valid":
        raise ValueError("mode must be 'full', 'same' or 'valid'")
    return full[min(n, m) - 1 : max(n, m)]


@library_program("numpy.correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    full = convolve(a, v[::-1])
    n, m = a.shape[0], v.shape[0]
    if mode == "full":
        return full
    if mode == "same":
        first = (m - 1) // 2 if n >= m else n - 1 - (n - 1) // 2
        return full[first : first + max(n, m)]
    if mode != "valid":
        raise ValueError("mode must be 'full', 'same' or 'valid'")
    return full[min(n, m) - 1 : max(n, m)]
