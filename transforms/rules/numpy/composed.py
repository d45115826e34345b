"""Surfaces that expand to a few operations and are differentiated through them.

Diagonals, triangles, `tile`, `repeat`, `nonzero`, `isclose`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import is_complex, is_float
from ...ir.op_registry import surface
from ..axes_and_sizes import (
    axis_of,
    constant_value,
    iota,
    product,
    require_static,
    size_of,
    unsupported_error,
)
from ..declare import as_operand, refuse_keywords

# ---------------------------------------------------------------- diagonals and triangles


@surface("numpy.diagonal", "numpy.ndarray.diagonal")
def diagonal(b: Builder, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Sym:
    return b.view(build_diagonal(b, a, offset, axis1, axis2))


def build_diagonal(b: Builder, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Sym:
    x, k = as_operand(b, a), require_static(offset, "offset")
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = axis_of(b, axis1, x.ndim, "axis1"), axis_of(b, axis2, x.ndim, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    order = (*(i for i in range(x.ndim) if i not in (first, second)), first, second)
    if order != tuple(range(x.ndim)):
        x = b.emit("transpose", x, axes=order)
    rows, columns = (size_of(b, x, x.ndim - i) for i in (2, 1))
    if k >= 0:
        columns = columns - k
    else:
        rows = rows + k
    # A diagonal outside the matrix is empty: its length is negative, and so `arange` is empty.
    square = not k and b.facts.known_equal(*x.type.shape[-2:])
    length = rows if square else b.emit("minimum", rows, columns)
    at = iota(b, constant_value(b.sym(length)))
    indices = (at - min(k, 0), at + max(k, 0)) if k else (at, at)
    items = (*[("all",)] * (x.ndim - 2), ("array", 1), ("array", 2))
    return b.emit("index", x, *indices, items=items)


@surface("numpy.trace", "numpy.ndarray.trace")
def build_trace(
    b: Builder,
    a: Any,
    offset: Any = 0,
    axis1: Any = 0,
    axis2: Any = 1,
    dtype: Any = None,
    out: Any = None,
) -> Sym:
    refuse_keywords("numpy.trace", {"dtype": dtype, "out": out})
    along = build_diagonal(b, a, offset, axis1, axis2)
    axis = None if along.ndim == 1 else (along.ndim - 1,)
    return b.emit("sum", along, axis=axis, keepdims=False)


@surface("numpy.diag")
def build_diag(b: Builder, v: Any, k: Any = 0) -> Sym:
    x, k = as_operand(b, v), require_static(k, "k")
    if x.ndim == 2:
        return b.view(build_diagonal(b, x, k))
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = size_of(b, x, 0)
    size = n + abs(k)
    at = iota(b, n)
    zeros = b.emit("zeros", size, size, dtype=x.dtype)
    indices = (at - min(k, 0), at + max(k, 0)) if k else (at, at)
    path = (("index", (("array", 2), ("array", 3))),)
    return b.emit("update", zeros, x, *indices, path=path)


def _triangle(b: Builder, m: Any, k: Any, lower: bool) -> Sym:
    x = as_operand(b, m)
    if not x.ndim:
        raise unsupported_error(b, "a triangle of a number", "give it a matrix")
    if x.ndim > 1 and isinstance(constant_value(k), (int, np.integer)):
        return b.emit("tril" if lower else "triu", x, k=int(constant_value(k)))
    # As in NumPy, a vector is broadcast to a square matrix whose rows are that vector.
    rows = b.emit("expand_dims", iota(b, size_of(b, x, max(x.ndim - 2, 0))), axes=(1,))
    columns = iota(b, size_of(b, x, x.ndim - 1))
    below = columns - rows <= k if lower else columns - rows >= k
    return b.emit("where", below, x, np.dtype(x.dtype).type(0))


@surface("numpy.tril")
def build_tril(b: Builder, m: Any, k: Any = 0) -> Sym:
    return _triangle(b, m, k, lower=True)


@surface("numpy.triu")
def build_triu(b: Builder, m: Any, k: Any = 0) -> Sym:
    return _triangle(b, m, k, lower=False)


# ---------------------------------------------------------------- repetition


@surface("numpy.tile")
def build_tile(b: Builder, A: Any, reps: Any) -> Sym:
    x = as_operand(b, A)
    counts = [constant_value(r) for r in (reps if isinstance(reps, (tuple, list)) else (reps,))]
    rank = max(x.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    sizes = [1] * (rank - x.ndim) + [size_of(b, x, i) for i in range(x.ndim)]
    if not rank:
        return b.emit("copy", x)
    split = b.emit("reshape", x, *(n for size in sizes for n in (1, size)))
    wide = b.emit("broadcast_to", split, *(n for pair in zip(counts, sizes) for n in pair))
    return b.new(b.emit("reshape", wide, *(product(pair) for pair in zip(counts, sizes))))


@surface("numpy.repeat", "numpy.ndarray.repeat")
def build_repeat(b: Builder, a: Any, repeats: Any, axis: Any = None) -> Sym:
    x, count = as_operand(b, a), constant_value(repeats)
    if axis is None and x.ndim != 1:
        axis, x = 0, b.emit("reshape", x, product(x.shape))
    at = axis_of(b, 0 if axis is None else axis, x.ndim)
    if isinstance(count, (tuple, list)) or (isinstance(count, Sym) and count.ndim):
        counts = as_operand(b, count)
        n, given = size_of(b, x, at), size_of(b, counts, 0)
        if not isinstance(given, Sym) and given == 1:
            return build_repeat(b, x, b.emit("index", counts, 0, items=(("int", 1),)), at)
        b.check(b.sym(n) == given, "ValueError", "operands could not be broadcast together")
        natural = b.emit("all", counts >= 0, axis=None, keepdims=False)
        b.check(natural, "ValueError", "repeats may not contain negative values.")
        items: list[Any] = [("all",)] * x.ndim
        items[at] = ("array", 1)
        return b.emit("index", x, _repeated_indices(b, counts), items=tuple(items))
    sizes: list[Any] = [size_of(b, x, i) for i in range(x.ndim)]
    split = b.emit("expand_dims", x, axes=(at + 1,))
    wide = b.emit("broadcast_to", split, *sizes[: at + 1], count, *sizes[at + 1 :])
    merged = product((sizes[at], count))
    return b.new(b.emit("reshape", wide, *sizes[:at], merged, *sizes[at + 1 :]))


def _repeated_indices(b: Builder, counts: Sym) -> Sym:
    """The indices 0, 1, …, index i repeated counts[i] times.

    They are the running sum of marks set where each index's run ends."""
    ends = b.emit("cumsum", counts.astype("int64"), axis=0)
    total = b.emit("sum", counts.astype("int64"), axis=None, keepdims=False)
    marks = b.emit("zeros", total + 1, dtype="int64")
    marks = b.emit("update_add", marks, 1, ends, path=(("index", (("array", 2),)),))
    indices = b.emit("cumsum", marks, axis=0)
    return b.emit("index", indices, total, items=(("slice", None, 1, None),))


# ---------------------------------------------------------------- queries


@surface("numpy.nonzero", "numpy.ndarray.nonzero")
def build_nonzero(b: Builder, a: Any) -> tuple[Sym, ...]:
    """The indices of the nonzero elements, one array per axis, selected by the mask."""
    x = as_operand(b, a)
    if not x.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed.")
    mask = x if x.dtype == "bool" else x != 0
    indices = []
    for axis in range(x.ndim):
        at = iota(b, size_of(b, x, axis))
        if x.ndim > 1:
            others = tuple(i for i in range(x.ndim) if i != axis)
            at = b.emit("broadcast_like", b.emit("expand_dims", at, axes=others), mask)
        indices.append(b.emit("index", at, mask, items=(("mask", 1),)))
    return tuple(indices)


@surface("numpy.flatnonzero")
def build_flatnonzero(b: Builder, a: Any) -> Sym:
    x = as_operand(b, a)
    return build_nonzero(b, x if x.ndim == 1 else b.emit("reshape", x, product(x.shape)))[0]


@surface("numpy.isclose")
def build_isclose(
    b: Builder, a: Any, b_: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False
) -> Sym:
    x, y = as_operand(b, a), as_operand(b, b_)
    # Integers are compared as floats: the difference of two may overflow.
    y = y if is_float(y.type) or is_complex(y.type) else y.astype("float64")
    near = b.emit("absolute", x - y) <= atol + rtol * b.emit("absolute", y)
    # An infinity is close only to itself.
    close = (near & b.emit("isfinite", y)) | (x == y)
    if require_static(equal_nan, "equal_nan"):
        close = close | (b.emit("isnan", x) & b.emit("isnan", y))
    return close


@surface("numpy.allclose")
def build_allclose(b: Builder, a: Any, b_: Any, *args: Any, **keywords: Any) -> Sym:
    close = build_isclose(b, a, b_, *args, **keywords)
    return b.emit("all", close, axis=None, keepdims=False) if close.ndim else close
