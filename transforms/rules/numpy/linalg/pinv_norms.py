"""Pseudo-inverse, least squares, rank, condition number, and vector and matrix norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....ir.builder import Builder, Sym
from ....ir.op_registry import SURFACES, surface
from ...axes_and_sizes import (
    axes_of,
    require_equal,
    require_flag,
    require_static,
    size_of,
    unsupported_error,
)
from ...declare import as_operand
from ...operation_text import call
from ..bilinear import transpose_matrices
from ..reductions import one_more
from .factorizations import singular_values
from .matrix_rules import (
    as_column,
    as_float_operand,
    declare_matrix_op,
    min_size,
    require_float_matrices,
    require_square_matrices,
    scipy_matrix,
)

Attrs = dict[str, Any]


# ---------------------------------------------------------------- pinv


def _pullback_pinv(
    b: Builder, g: Sym, p: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    # Valid where the rank is locally constant (Golub and Pereyra).
    a = args[0]
    transposed, back = transpose_matrices(p), transpose_matrices(g)
    bar = -(transposed @ g @ transposed)
    outer = back @ p @ transposed
    inner = transposed @ p @ back
    return {0: bar + (outer - a @ (p @ outer)) + (inner - (inner @ p) @ a)}


def _pushforward_pinv(b: Builder, dots: Any, p: Sym, args: Sequence[Sym], attrs: Attrs) -> Sym:
    a, a_dot = args[0], b.sym(dots[0])
    transposed, back = transpose_matrices(p), transpose_matrices(a_dot)
    left = p @ transposed @ back
    right = back @ transposed @ p
    return -(p @ a_dot @ p) + (left - (left @ a) @ p) + (right - p @ (a @ right))


declare_matrix_op(
    "pinv",
    (2, 0),
    lambda b, a, rcond: a[::-1],
    evaluate=lambda a, rcond: np.linalg.pinv(a, rcond),
    text=call("np.linalg.pinv"),
    pullback=_pullback_pinv,
    pushforward=_pushforward_pinv,
    kinks="where the rank changes: the derivative at constant rank",
    doc="the pseudo-inverse; singular values up to rcond times the largest count as 0",
)

_UNSET = object()


@surface("numpy.linalg.pinv")
def pinv(
    b: Builder, a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = _UNSET
) -> Sym:
    x = require_float_matrices(b, a)
    if require_static(hermitian, "hermitian"):
        raise unsupported_error(b, "numpy.linalg.pinv with hermitian=True", "leave out hermitian=")
    if rcond is None:
        rcond = 1e-15 if rtol is _UNSET else _precision(b, x) if rtol is None else rtol
    elif rtol is not _UNSET:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    return b.emit("pinv", x, _scalar_tolerance(b, rcond, "rcond"))


def _scalar_tolerance(b: Builder, value: Any, what: str) -> Sym:
    """A tolerance, which must be one scalar for all matrices."""
    x = as_operand(b, value)
    if x.ndim:
        raise unsupported_error(b, f"an array as {what}", "give one number for all matrices")
    return x


def _precision(b: Builder, x: Sym) -> Sym:
    """NumPy's default tolerance for singular values, relative to the largest one."""
    rows, columns = (size_of(b, x, x.ndim - k) for k in (2, 1))
    largest = b.emit("maximum", rows, columns)
    return largest * float(np.finfo(x.dtype).eps)


# ---------------------------------------------------------------- lstsq


@surface("numpy.linalg.lstsq")
def lstsq(builder: Builder, a: Any, b: Any, rcond: Any = None) -> tuple[Sym, ...]:
    """Solution, residuals, rank, singular values.

    As in NumPy, the residuals are empty if the rank is deficient or there are no more rows than
    columns."""
    x, y = as_float_operand(builder, a), as_float_operand(builder, b)
    for v in (x, y):
        if v.ndim != 2 and not (v is y and v.ndim == 1):
            message = f"{v.ndim}-dimensional array given. Array must be two-dimensional"
            raise _linalg_error(builder, message)
    require_equal(
        builder,
        x.type.shape[0],
        y.type.shape[0],
        lambda: (size_of(builder, x, 0), size_of(builder, y, 0)),
        "LinAlgError",
        lambda m, n: ("Incompatible dimensions",),
    )
    limit = _precision(builder, x) if rcond is None else _scalar_tolerance(builder, rcond, "rcond")
    s = singular_values(builder, x)
    solution = builder.emit("pinv", x, limit) @ y
    rank = _rank(builder, s, limit).astype("int32")
    rest = y - x @ solution
    rest = as_column(rest) if y.ndim == 1 else rest
    squares = builder.emit("sum", rest * rest, axis=(0,), keepdims=False)
    rows, columns = size_of(builder, x, 0), size_of(builder, x, 1)
    has_residuals = (rank == columns) & (builder.sym(rows) > columns)
    mask = builder.emit("broadcast_like", has_residuals, squares)
    return solution, builder.emit("index", squares, mask, items=(("mask", 1),)), rank, s


def _linalg_error(b: Builder, message: str) -> Exception:
    from ....ir.errors import S2SLinAlgError
    from ...axes_and_sizes import span_of

    return S2SLinAlgError(message, span=span_of(b))


# ---------------------------------------------------------------- rank and condition


def _rank(b: Builder, s: Sym, relative: Any) -> Sym:
    # Without singular values (an empty matrix) the largest counts as 0.
    top = SURFACES["numpy.max"](b, s, axis=s.ndim - 1, keepdims=True, initial=0.0)
    return _count(b, s > top * relative)


def _count(b: Builder, mask: Sym) -> Sym:
    axis = None if mask.ndim == 1 else (mask.ndim - 1,)
    return b.emit("count_nonzero", mask, axis=axis, keepdims=False)


@surface("numpy.linalg.matrix_rank")
def matrix_rank(
    b: Builder, A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None
) -> Sym:
    x = as_float_operand(b, A)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if x.ndim < 2:
        return b.emit("any", x != 0, axis=None, keepdims=False).astype("int64")
    s = singular_values(b, x)
    if tol is not None:
        return _count(b, s > _scalar_tolerance(b, tol, "tol"))
    return _rank(b, s, _precision(b, x) if rtol is None else _scalar_tolerance(b, rtol, "rtol"))


@surface("numpy.linalg.cond")
def cond(b: Builder, x: Any, p: Any = None) -> Sym:
    m, p = require_float_matrices(b, x), require_static(p, "p")
    if p in (None, 2, -2):
        s = singular_values(b, m)
        last = min_size(b, m) - 1
        ends = [
            b.emit("index", s, at, items=(*[("all",)] * (s.ndim - 1), ("int", 1)))
            for at in (b.sym(0), last)
        ]
        ratio = ends[1] / ends[0] if p == -2 else ends[0] / ends[1]
        # The zero matrix gives 0 / 0; as for every singular matrix the result is inf.
        axis = None if m.ndim == 2 else (m.ndim - 2, m.ndim - 1)
        undefined = b.emit("any", b.emit("isnan", m), axis=axis, keepdims=False)
        return b.emit("where", b.emit("isnan", ratio) & ~undefined, np.inf, ratio)
    m = require_square_matrices(b, m)
    axes = (m.ndim - 2, m.ndim - 1)
    # A singular matrix has no inverse, and the condition number inf.
    singular = SURFACES["numpy.linalg.slogdet"](b, m)[0] == 0
    identity = SURFACES["numpy.eye"](b, size_of(b, m, m.ndim - 1), dtype=m.dtype)
    chosen = b.emit("expand_dims", singular, axes=axes) if singular.ndim else singular
    inverse = b.emit("inv", b.emit("where", chosen, identity, m))
    return b.emit("where", singular, np.inf, norm(b, m, p, axes) * norm(b, inverse, p, axes))


# ---------------------------------------------------------------- norms


@surface("scipy.linalg.norm")
def scipy_norm(
    b: Builder,
    a: Any,
    ord: Any = None,
    axis: Any = None,
    keepdims: Any = False,
    check_finite: Any = True,
) -> Sym:
    return norm(b, scipy_matrix(b, a, check_finite, small="float64"), ord, axis, keepdims)


@surface("numpy.linalg.norm")
def norm(b: Builder, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Sym:
    """Vector and matrix norms; the derivative at 0 is 0."""
    x, ord = as_float_operand(b, as_operand(b, x)), require_static(ord, "ord")
    if x.ndim == 0:
        return b.emit("absolute", x)
    axes = tuple(range(x.ndim)) if axis is None else axes_of(b, axis, x.ndim)
    keep = require_flag(b, keepdims, "keepdims")
    if ord is None and (axis is None or len(axes) < 3):
        return _euclidean(b, x, axes, keep)
    if len(axes) == 1:
        return _vector_norm(b, x, ord, axes, keep)
    if len(axes) == 2:
        return _matrix_norm(b, x, ord, axes, keep)
    raise ValueError("Improper number of dimensions to norm.")


def _reduced(b: Builder, name: str, x: Sym, axes: tuple[int, ...], keep: bool) -> Sym:
    every = len(axes) == x.ndim
    if name == "max":  # of magnitudes: without elements it is 0
        x = one_more(b, x, 0.0, axes[0])
    return b.emit(name, x, axis=None if every else tuple(sorted(axes)), keepdims=keep)


def _euclidean(b: Builder, x: Sym, axes: tuple[int, ...], keep: bool) -> Sym:
    return _root(b, _reduced(b, "sum", x * x, axes, keep))


def _root(b: Builder, total: Sym, power: float = 0.5) -> Sym:
    # Where the total is 0 the root of 1 is taken instead, so that the cotangent there is 0.
    some = total > 0
    safe = b.emit("where", some, total, 1.0)
    root = b.emit("sqrt", safe) if power == 0.5 else safe**power
    return b.emit("where", some, root, total)


def _vector_norm(b: Builder, x: Sym, ord: Any, axes: tuple[int, ...], keep: bool) -> Sym:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == 2:
        return _euclidean(b, x, axes, keep)
    if ord == 0:
        return _reduced(b, "sum", (x != 0).astype(x.dtype), axes, keep)
    size = b.emit("absolute", x)
    if ord in (1, np.inf, -np.inf):
        return _reduced(b, {1: "sum", np.inf: "max", -np.inf: "min"}[ord], size, axes, keep)
    powers = size ** float(ord)
    return _root(b, _reduced(b, "sum", powers, axes, keep), 1.0 / ord)


def _matrix_norm(b: Builder, x: Sym, ord: Any, axes: tuple[int, ...], keep: bool) -> Sym:
    if ord in ("fro", "f"):
        return _euclidean(b, x, axes, keep)
    if ord in (1, -1, np.inf, -np.inf):
        # Sums along one axis, then the maximum or minimum along the other.
        along, over = axes if abs(ord) == 1 else axes[::-1]
        sums = _reduced(b, "sum", b.emit("absolute", x), (along,), True)
        return _shaped(b, _reduced(b, "max" if ord > 0 else "min", sums, (over,), True), axes, keep)
    if ord not in ("nuc", 2, -2):
        raise ValueError("Invalid norm order for matrices.")
    others = tuple(i for i in range(x.ndim) if i not in axes)
    front = (*others, *axes)
    moved = x if front == tuple(range(x.ndim)) else b.emit("transpose", x, axes=front)
    s = singular_values(b, moved)
    name = {"nuc": "sum", 2: "max", -2: "min"}[ord]
    value = _reduced(b, name, s, (s.ndim - 1,), False)
    return b.emit("expand_dims", b.emit("reshape", value) if not value.ndim else value,
                  axes=tuple(sorted(axes))) if keep else value  # fmt: skip


def _shaped(b: Builder, x: Sym, axes: tuple[int, ...], keep: bool) -> Sym:
    if keep:
        return x
    if x.ndim == len(axes):
        return b.emit("index", b.emit("reshape", x, 1), 0, items=(("int", 1),))
    return b.emit("squeeze", x, axes=tuple(sorted(axes)))


@surface("numpy.linalg.vector_norm")
def vector_norm(
    b: Builder, x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2
) -> Sym:
    v = as_operand(b, x)
    if axis is None and v.ndim != 1:
        from ..shape_functions import ravel

        if keepdims:
            raise unsupported_error(
                b, "numpy.linalg.vector_norm of everything with keepdims", "name the axes"
            )
        return norm(b, ravel(b, v), ord)
    return norm(b, v, ord, axis, keepdims)


@surface("numpy.linalg.matrix_norm")
def matrix_norm(b: Builder, x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Sym:
    v = require_float_matrices(b, x)
    return norm(b, v, ord, (v.ndim - 2, v.ndim - 1), keepdims)
