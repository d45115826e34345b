"""Functions of NumPy and SciPy that are short programs, in the language s2s reads.

A call of one is translated as a call of a helper of the user's own.  They are here because no
operation is lost by writing them out; what deserves an operation has a rule instead.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false
# Parameters have NumPy's names, and the bodies are the subset of Python that s2s translates.

# The compiler reads these functions with its own types, which are stricter than NumPy's stubs.
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

LIBRARY: dict[str, Callable[..., Any]] = {}


def written(*paths: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares what stands for the function at each of these paths."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        for path in paths:
            assert path not in LIBRARY, path
            LIBRARY[path] = f
        return f

    return declare


# ---------------------------------------------------------------- running results


def _scan_first(a: Any, axis: Any) -> Any:
    x = np.ravel(a).copy() if axis is None else np.moveaxis(a, axis, 0).copy()
    return x if x.dtype.kind in "fu" else x.astype(np.int64)


@written("numpy.cumprod", "numpy.ndarray.cumprod", "numpy.multiply.accumulate")
def cumprod(a: Any, axis: Any = None) -> Any:
    out = _scan_first(a, axis)
    for i in range(1, out.shape[0]):
        out[i] *= out[i - 1]
    return out if axis is None else np.moveaxis(out, 0, axis)


@written("numpy.add.accumulate")
def add_accumulate(array: Any, axis: Any = 0) -> Any:
    return np.cumsum(array, axis=axis)


@written("numpy.maximum.accumulate")
def maximum_accumulate(array: Any, axis: Any = 0) -> Any:
    out = np.moveaxis(array, axis, 0).copy()
    for i in range(1, out.shape[0]):
        out[i] = np.maximum(out[i - 1], out[i])
    return np.moveaxis(out, 0, axis)


@written("numpy.minimum.accumulate")
def minimum_accumulate(array: Any, axis: Any = 0) -> Any:
    return -maximum_accumulate(-array, axis)


# ---------------------------------------------------------------- order


def _places(x: Any) -> Any:
    """Where the elements in order are: a stable merge sort, NaN last."""
    n = x.shape[0]
    order = np.arange(n)
    other = np.arange(n)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                right = i >= middle
                if i < middle and j < high:
                    p, q = x[order[i]], x[order[j]]
                    right = q < p or (p != p and q == q)
                if right:
                    other[k] = order[j]
                    j += 1
                else:
                    other[k] = order[i]
                    i += 1
        order[:] = other
        width *= 2
    return order


@written("numpy.argsort", "numpy.ndarray.argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    x = np.ravel(a) if axis is None else a
    if x.ndim == 1:
        return _places(x)
    along: Any = np.moveaxis(x, axis, -1)
    out = np.zeros(along.shape, dtype=np.int64)
    rows, places = along.reshape((-1, along.shape[-1])), out.reshape((-1, along.shape[-1]))
    for i in range(rows.shape[0]):
        places[i] = _places(rows[i])
    return np.moveaxis(places.reshape(along.shape), -1, axis)


@written("numpy.sort")
def sort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    x = np.ravel(a) if axis is None else np.asarray(a)
    if x.ndim == 1:
        return x[_places(x)]
    along: Any = np.moveaxis(x, axis, -1)
    out = along.reshape((-1, along.shape[-1])).copy()
    for i in range(out.shape[0]):
        out[i] = out[i, _places(out[i])]
    return np.moveaxis(out.reshape(along.shape), -1, axis)


@written("numpy.unique")
def unique(ar: Any) -> Any:
    x = sort(ar, axis=None)
    new = np.ones(x.shape, dtype=np.bool_)
    new[1:] = x[1:] != x[:-1]
    return x[new]


def _ordered(a: Any, axis: Any) -> Any:
    return sort(a, axis=None) if axis is None else np.moveaxis(sort(a, axis=axis), axis, 0)


@written("numpy.median")
def median(a: Any, axis: Any = None) -> Any:
    x = _ordered(a, axis)
    n = x.shape[0]
    middle = 0.5 * (x[(n - 1) // 2] + x[n // 2])
    return np.where(np.isnan(x[n - 1]), x[n - 1], middle)


@written("numpy.quantile")
def quantile(a: Any, q: float, axis: Any = None) -> Any:
    x = _ordered(a, axis)
    place = q * (x.shape[0] - 1)
    low = min(int(place), x.shape[0] - 1)
    high = min(low + 1, x.shape[0] - 1)
    return x[low] + (place - low) * (x[high] - x[low])


@written("numpy.percentile")
def percentile(a: Any, q: float, axis: Any = None) -> Any:
    return quantile(a, q / 100, axis)


def _search(a: Any, v: Any, right: bool) -> Any:
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        if a[middle] < v or (right and a[middle] == v):
            low = middle + 1
        else:
            high = middle
    return low


@written("numpy.searchsorted", "numpy.ndarray.searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    if np.ndim(v) == 0:
        return _search(a, v, side == "right")
    flat = np.ravel(v)
    out = np.zeros(flat.shape, dtype=np.int64)
    for i in range(flat.shape[0]):
        out[i] = _search(a, flat[i], side == "right")
    return out.reshape(np.shape(v))


@written("numpy.bincount")
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    size = minlength
    for i in range(x.shape[0]):
        size = max(size, int(x[i]) + 1)
    if weights is None:
        counts = np.zeros(size, dtype=np.int64)
        for i in range(x.shape[0]):
            counts[x[i]] += 1
        return counts
    sums = np.zeros(size)
    for i in range(x.shape[0]):
        sums[x[i]] += weights[i]
    return sums


@written("numpy.isin")
def isin(element: Any, test_elements: Any) -> Any:
    return np.any(np.expand_dims(element, -1) == np.ravel(test_elements), axis=-1)


@written("numpy.array_equal")
def array_equal(a1: Any, a2: Any) -> Any:
    return np.shape(a1) == np.shape(a2) and bool(np.all(np.equal(a1, a2)))


# ---------------------------------------------------------------- parts


@written("numpy.split")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@written("numpy.array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    front = np.moveaxis(ary, axis, 0)
    n = front.shape[0]
    if isinstance(indices_or_sections, int):
        each, more = n // indices_or_sections, n % indices_or_sections
        cuts = [k * each + min(k, more) for k in tuple(range(indices_or_sections + 1))]
    else:
        cuts = [0, *indices_or_sections, n]
    return [np.moveaxis(front[p:q], 0, axis) for p, q in zip(cuts[:-1], cuts[1:])]


@written("numpy.hsplit")
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@written("numpy.vsplit")
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0)


@written("numpy.append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.concatenate((np.ravel(arr), np.ravel(values)))
    return np.concatenate((arr, values), axis=axis)


@written("numpy.lib.stride_tricks.sliding_window_view")
def sliding_window_view(x: Any, window_shape: int) -> Any:
    starts = np.arange(x.shape[0] - window_shape + 1)
    return x[starts[:, None] + np.arange(window_shape)]


@written("numpy.fill_diagonal")
def fill_diagonal(a: Any, val: Any) -> None:
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val


@written("numpy.tri")
def tri(N: int, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    columns = N if M is None else M
    return (np.arange(N)[:, None] >= np.arange(columns) - k).astype(dtype)


@written("numpy.triu_indices")
def triu_indices(n: int, k: int = 0, m: Any = None) -> Any:
    return np.nonzero(np.arange(n)[:, None] <= np.arange(n if m is None else m) - k)


@written("numpy.tril_indices")
def tril_indices(n: int, k: int = 0, m: Any = None) -> Any:
    return np.nonzero(np.arange(n)[:, None] >= np.arange(n if m is None else m) - k)


@written("numpy.diag_indices")
def diag_indices(n: int) -> Any:
    return np.arange(n), np.arange(n)


@written("numpy.unravel_index")
def unravel_index(indices: Any, shape: Any) -> Any:
    places = []
    rest = indices
    for size in shape[:0:-1]:
        places.append(rest % size)
        rest = rest // size
    places.append(rest)
    return tuple(places[::-1])


@written("numpy.rot90")
def rot90(m: Any, k: int = 1) -> Any:
    turns = k % 4
    if turns == 0:
        return m
    if turns == 2:
        return m[::-1, ::-1]
    return m.T[::-1] if turns == 1 else m.T[:, ::-1]


# ---------------------------------------------------------------- calculus


@written("numpy.trapezoid", "numpy.trapz")
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    along = np.moveaxis(np.asarray(y), axis, -1)
    steps = dx if x is None else np.diff(np.asarray(x))
    return np.sum(0.5 * steps * (along[..., 1:] + along[..., :-1]), axis=-1)


@written("numpy.gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None) -> Any:
    if axis is not None or f.ndim == 1:
        return _slope(f, varargs[0] if varargs else 1.0, 0 if axis is None else axis)
    steps = varargs if len(varargs) == f.ndim else (varargs or (1.0,)) * f.ndim
    return [_slope(f, h, k) for k, h in enumerate(steps)]


def _slope(f: Any, h: Any, axis: int) -> Any:
    """Central differences inside, one-sided at the ends; `h` is a step or the coordinates."""
    x = np.moveaxis(f, axis, -1)
    out = np.empty_like(x)
    if np.ndim(h) == 0:
        out[..., 1:-1] = (x[..., 2:] - x[..., :-2]) / (2.0 * h)
        out[..., 0] = (x[..., 1] - x[..., 0]) / h
        out[..., -1] = (x[..., -1] - x[..., -2]) / h
    else:
        d = np.diff(h)
        p, q = d[:-1], d[1:]
        out[..., 1:-1] = (
            -q / (p * (p + q)) * x[..., :-2]
            + (q - p) / (p * q) * x[..., 1:-1]
            + p / (q * (p + q)) * x[..., 2:]
        )
        out[..., 0] = (x[..., 1] - x[..., 0]) / d[0]
        out[..., -1] = (x[..., -1] - x[..., -2]) / d[-1]
    return np.moveaxis(out, -1, axis)


@written("numpy.ediff1d")
def ediff1d(ary: Any) -> Any:
    return np.diff(np.ravel(ary))


@written("numpy.polyval")
def polyval(p: Any, x: Any) -> Any:
    out = np.zeros_like(x)
    for c in np.asarray(p):
        out = out * x + c
    return out


@written("numpy.vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    powers = np.arange(x.shape[0] if N is None else N)
    return x[:, None] ** (powers if increasing else powers[::-1])


@written("numpy.interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    if np.ndim(x) == 0:
        return _interpolated(x, np.asarray(xp), np.asarray(fp), left, right)
    flat = np.ravel(x)
    out = np.zeros(flat.shape)
    for i in range(flat.shape[0]):
        out[i] = _interpolated(flat[i], np.asarray(xp), np.asarray(fp), left, right)
    return out.reshape(np.shape(x))


def _interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    last = xp.shape[0] - 1
    if x != x:
        return x
    if x < xp[0]:
        return 1.0 * (fp[0] if left is None else left)
    if x > xp[last]:
        return 1.0 * (fp[last] if right is None else right)
    i = min(_search(xp, x, True) - 1, last - 1)
    return fp[i] + (fp[i + 1] - fp[i]) / (xp[i + 1] - xp[i]) * (x - xp[i])


@written("numpy.convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    n, m = a.shape[0], v.shape[0]
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


@written("numpy.correlate")
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


@written("numpy.kron")
def kron(a: Any, b: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return np.ravel(a[:, None] * b)
    pairs = a[:, None, :, None] * b[None, :, None, :]
    return pairs.reshape((a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))


@written("numpy.cross")
def cross(a: Any, b: Any) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError("the vectors of a cross product have three components here")
    x0, x1, x2 = x[..., 0], x[..., 1], x[..., 2]
    y0, y1, y2 = y[..., 0], y[..., 1], y[..., 2]
    return np.stack((x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0), axis=-1)


@written("numpy.linalg.multi_dot")
def multi_dot(arrays: Any) -> Any:
    out = arrays[0]
    for array in arrays[1:]:
        out = out @ array
    return out


@written("numpy.linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        raise ValueError("matrix_power with a negative power is not supported")
    out = np.eye(a.shape[0], dtype=a.dtype)
    for _ in range(n):
        out = out @ a
    return out


@written("numpy.logspace")
def logspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10.0
) -> Any:
    return base ** np.linspace(start, stop, num, endpoint)


# ---------------------------------------------------------------- statistics


@written("numpy.average")
def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    x = np.asarray(a)
    if weights is None:
        return np.mean(x, axis=axis)
    w = np.asarray(weights)
    if w.ndim != x.ndim:
        w = np.moveaxis(np.broadcast_to(w, np.moveaxis(x, axis, -1).shape), -1, axis)
    return np.sum(x * w, axis=axis) / np.sum(w, axis=axis)


@written("numpy.ptp")
def ptp(a: Any, axis: Any = None) -> Any:
    return np.max(a, axis=axis) - np.min(a, axis=axis)


@written("numpy.cov")
def cov(m: Any, rowvar: bool = True, ddof: int = 1) -> Any:
    x = m if rowvar else m.T
    if m.ndim == 1:
        return np.sum((m - np.mean(m)) ** 2) / (m.shape[0] - ddof)
    d = x - np.mean(x, axis=1, keepdims=True)
    return d @ d.T / (x.shape[1] - ddof)


@written("numpy.corrcoef")
def corrcoef(x: Any) -> Any:
    c = cov(x)
    s = np.sqrt(np.diag(c))
    return c / s[:, None] / s


@written("numpy.nan_to_num")
def nan_to_num(x: Any, nan: float = 0.0) -> Any:
    largest = np.finfo(x.dtype).max
    return np.where(np.isnan(x), nan, np.where(np.isinf(x), np.sign(x) * largest, x))


@written("numpy.nansum")
def nansum(a: Any, axis: Any = None) -> Any:
    return np.sum(np.where(np.isnan(a), 0.0, a), axis=axis)


@written("numpy.nanmean")
def nanmean(a: Any, axis: Any = None) -> Any:
    return nansum(a, axis) / np.sum(np.logical_not(np.isnan(a)), axis=axis)


@written("numpy.nanmax")
def nanmax(a: Any, axis: Any = None) -> Any:
    return np.max(np.where(np.isnan(a), -np.inf, a), axis=axis)


@written("numpy.nanmin")
def nanmin(a: Any, axis: Any = None) -> Any:
    return np.min(np.where(np.isnan(a), np.inf, a), axis=axis)


@written("numpy.sinc")
def sinc(x: Any) -> Any:
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


@written("math.dist")
def dist(p: Any, q: Any) -> Any:
    total = 0.0
    for x, y in zip(p, q):
        total += (x - y) ** 2
    return math.sqrt(total)


@written("scipy.special.expit")
def expit(x: Any) -> Any:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


@written("scipy.special.logsumexp")
def logsumexp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


@written("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@written("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
