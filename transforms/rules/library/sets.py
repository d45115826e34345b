"""Set operations on arrays, counting and histograms, based on sorting and search."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import library_program
from .order import argsort, search, searchsorted


def _firsts(x: Any) -> Any:
    """A mask of the first occurrences in a sorted vector; all NaN count as equal."""
    new = np.ones(x.shape, dtype=np.bool_)
    new[1:] = (x[1:] != x[:-1]) & ~(np.isnan(x[1:]) & np.isnan(x[:-1]))
    return new


@library_program("numpy.unique", kinks="equal values count in the order they stand in")
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    flat = np.ravel(ar)
    order = argsort(flat)
    x = flat[order]
    new = _firsts(x)
    found: Any = [x[new]]
    starts = np.flatnonzero(new)
    if return_index:
        found.append(order[starts])
    if return_inverse:
        inverse = np.zeros(flat.shape, dtype=np.int64)
        inverse[order] = np.cumsum(new) - 1
        found.append(inverse.reshape(np.shape(ar)))
    if return_counts:
        found.append(np.diff(np.concatenate((starts, [flat.shape[0]]))))
    return found[0] if len(found) == 1 else tuple(found)


@library_program("numpy.isin", "numpy.in1d")
def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    found = np.any(np.expand_dims(element, -1) == np.ravel(test_elements), axis=-1)
    return ~found if invert else found


@library_program("numpy.intersect1d")
def intersect1d(ar1: Any, ar2: Any) -> Any:
    x = unique(ar1)
    return x[isin(x, ar2)]


@library_program("numpy.union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


@library_program("numpy.setdiff1d")
def setdiff1d(ar1: Any, ar2: Any) -> Any:
    x = unique(ar1)
    return x[isin(x, ar2, invert=True)]


@library_program("numpy.setxor1d")
def setxor1d(ar1: Any, ar2: Any) -> Any:
    x, y = unique(ar1), unique(ar2)
    return np.sort(np.concatenate((x[isin(x, y, invert=True)], y[isin(y, x, invert=True)])))


@library_program("numpy.array_equal")
def array_equal(a1: Any, a2: Any) -> Any:
    return np.shape(a1) == np.shape(a2) and bool(np.all(np.equal(a1, a2)))


@library_program("numpy.array_equiv")
def array_equiv(a1: Any, a2: Any) -> Any:
    return bool(np.all(np.equal(a1, a2)))


# ---------------------------------------------------------------- counting


@library_program("numpy.bincount")
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    size = minlength
    x = np.asarray(x)
    for i in range(x.shape[0]):
        if x[i] < 0:
            raise ValueError("'list' argument must have no negative elements")
        size = max(size, int(x[i]) + 1)
    if weights is None:
        counts = np.zeros(size, dtype=np.int64)
        for i in range(x.shape[0]):
            counts[x[i]] += 1
        return counts
    sums = np.zeros(size)
    given = np.asarray(weights)
    for i in range(x.shape[0]):
        sums[x[i]] += given[i]
    return sums


@library_program("numpy.digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    edges = np.asarray(bins)
    side = "left" if right else "right"
    if np.size(edges) == 0 or edges[0] <= edges[-1]:
        return searchsorted(edges, x, side)
    return edges.shape[0] - searchsorted(edges[::-1], x, side)


@library_program("numpy.histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None) -> Any:
    if np.ndim(bins) == 1:
        return np.asarray(bins)
    if range is not None:
        low, high = range[0], range[1]
    elif np.size(a) == 0:
        low, high = 0.0, 1.0
    else:
        low, high = 1.0 * np.min(a), 1.0 * np.max(a)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError("autodetected range is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    kind = np.asarray(a).dtype
    return edges.astype(kind) if kind.kind == "f" else edges


@library_program("numpy.histogram")
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    edges = histogram_bin_edges(a, bins, range)
    if weights is None:
        counts = _tally(np.ravel(a), edges, 1, np.zeros(edges.shape[0] - 1, dtype=np.int64))
    else:
        sums = np.zeros(edges.shape[0] - 1, dtype=np.asarray(weights).dtype)
        counts = _tally(np.ravel(a), edges, np.ravel(weights), sums)
    if density:
        return counts / np.diff(edges) / np.sum(counts), edges
    return counts, edges


def _tally(flat: Any, edges: Any, weights: Any, out: Any) -> Any:
    """Add each weight to the bin of its value; the last bin includes its upper edge."""
    for i in range(flat.shape[0]):
        if edges[0] <= flat[i] and flat[i] <= edges[-1]:
            at = min(search(edges, flat[i], True), edges.shape[0] - 1) - 1
            out[at] += weights if np.ndim(weights) == 0 else weights[i]
    return out
