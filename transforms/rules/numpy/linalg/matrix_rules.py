"""Declaration of matrix operations, conversion of their operands, and shared expressions.

A *matrix operation* works on the last (core) axes of its operands and broadcasts over the axes
before them, like a gufunc.  The reverse pass sums a cotangent to its operand's shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....ir.builder import OPEN, Builder, Sym
from ....ir.errors import S2SLinAlgError, S2STypeError
from ....ir.nodes import Type, is_complex
from ....ir.op_registry import Rule, register
from ....ir.symbolic_dims import Dim
from ...axes_and_sizes import require_equal, require_static, size_of, span_of
from ...broadcasting import infer_broadcast_shape
from ...declare import as_operand
from ...operation_text import TextRule
from ...promotion import join_dtypes
from ..bilinear import array_or_scalar, transpose_matrices
from ..composed import build_tril, build_triu

Shape = tuple[Dim, ...]


def declare_matrix_op(
    name: str,
    cores: Sequence[int],
    result: Callable[..., Shape],
    *,
    evaluate: Callable[..., Any],
    text: TextRule,
    pullback: Callable[..., Any] | None = None,
    pushforward: Callable[..., Any] | None = None,
    differentiable: tuple[int, ...] = (0,),
    dtype: str = "",
    stacks: bool = True,
    kinks: str = "",
    doc: str = "",
) -> None:
    """Register a matrix operation.

    `cores[i]` is the number of core axes of operand i.  An operand of 2 core axes may also be a
    vector; one of 0 core axes is a scalar parameter.  `result(b, *core_shapes)` returns the core
    shape of the result.  `dtype` is the dtype of the result, by default the join of the operand
    dtypes.  `stacks` is True if the operation accepts stacks of matrices."""

    def infer(b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Any) -> Type:
        ranks = [min(t.ndim, core) for core, t in zip(cores, types, strict=True)]
        heads = [t.shape[: t.ndim - rank] for t, rank in zip(types, ranks)]
        tails = [t.shape[t.ndim - rank :] for t, rank in zip(types, ranks)]
        floats = [t for t, core in zip(types, cores) if core]
        return array_or_scalar(
            dtype or join_dtypes(floats), infer_broadcast_shape(b, *heads) + result(b, *tails)
        )

    register(
        Rule(
            name,
            "opaque",
            infer,
            evaluate=evaluate,
            text=text,
            pullback=pullback,
            pushforward=pushforward,
            batching=_batching(cores) if stacks else None,
            differentiable=differentiable,
            kinks=kinks,
            doc=doc,
        )
    )


def _batching(cores: Sequence[int]) -> Callable[[Any], Sym | None]:
    """The batching rule: the batch axis becomes a stack axis."""

    def batched(m: Any) -> Sym | None:
        if any(mapped and not core for mapped, core in zip(m.mapped, cores)):
            return None
        ranks = [min(t.ndim, core) for t, core in zip(m.types, cores)]
        head = max(t.ndim - rank for t, rank in zip(m.types, ranks))
        args = [m.aligned(i, head + rank) for i, rank in enumerate(ranks)]
        vectors = [rank < core for rank, core in zip(ranks, cores)]
        args = [as_column(x) if vector else x for x, vector in zip(args, vectors)]
        out = m.emit(m.name, *args, **m.attrs)
        return squeeze_column(out) if any(vectors) else out

    return batched


def as_named_tuple(like: Any, *parts: Sym) -> Any:
    """The results as the named tuple that NumPy returns; `like` is an instance of it."""
    return type(like)(*parts)


# ---------------------------------------------------------------- operands


def as_float_operand(b: Builder, value: Any) -> Sym:
    """An operand converted as `numpy.linalg` does: integers become float64, float16 is refused.

    Complex operands are kept.  Most functions refuse them before (`ir/complex_ops.py`)."""
    x = as_operand(b, value)
    if x.dtype == "float16":
        raise S2STypeError("array type float16 is unsupported in linalg", span=span_of(b))
    kept = x.dtype in ("float32", "float64") or is_complex(x.type)
    return x if kept else x.astype("float64")


def scipy_matrix(b: Builder, value: Any, check_finite: Any, small: str = "float32") -> Sym:
    """An operand converted as `scipy.linalg` does: integers of up to 16 bits become `small`.

    A run-time check refuses infinities and NaN unless the user passes check_finite=False."""
    x = as_operand(b, value)
    is_integer = np.dtype(x.dtype).kind in "biu"
    if is_integer and np.dtype(x.dtype).itemsize <= 2:
        x = x.astype(small)
    x = as_float_operand(b, x)
    if require_static(check_finite, "check_finite") and not is_integer:
        finite = b.emit("isfinite", x)
        if x.ndim:
            finite = b.emit("all", finite, axis=None, keepdims=False)
        b.check(finite, "ValueError", "array must not contain infs or NaNs")
    return x


def require_float_matrices(b: Builder, value: Any) -> Sym:
    """An operand of at least two axes, in a float or complex dtype."""
    return require_matrices(b, as_float_operand(b, value))


def require_matrices(b: Builder, value: Any) -> Sym:
    """An operand of at least two axes, in its own dtype."""
    x = as_operand(b, value)
    if x.ndim < 2:
        message = f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        raise S2SLinAlgError(message, span=span_of(b))
    return x


def require_square_matrices(b: Builder, value: Any) -> Sym:
    """An operand of square matrices, in a float or complex dtype."""
    x = require_float_matrices(b, value)
    require_square(b, x, "LinAlgError", "Last 2 dimensions of the array must be square")
    return x


def require_square(b: Builder, x: Sym, exception: str, *message: str) -> None:
    rows, columns = x.type.shape[-2:]
    sizes = (size_of(b, x, x.ndim - 2), size_of(b, x, x.ndim - 1))
    require_equal(b, rows, columns, lambda: sizes, exception, lambda m, n: message)


def min_dim(b: Builder, m: Dim, n: Dim) -> Dim:
    """min(m, n), or an open dim if it is known only at run time."""
    m, n = b.facts.canonical(m), b.facts.canonical(n)
    if m == n:
        return m
    if (m - n).is_const:
        return m if (m - n).const < 0 else n
    return m if b.facts.relate(m, n) == "equal" else OPEN


def min_size(b: Builder, x: Sym) -> Sym:
    """The size of the smaller of the last two axes."""
    rows, columns = (size_of(b, x, x.ndim - k) for k in (2, 1))
    if isinstance(rows, int) and isinstance(columns, int):
        return b.sym(min(rows, columns))
    same = b.facts.known_equal(*x.type.shape[-2:])
    return b.sym(rows) if same else b.emit("minimum", rows, columns)


# ---------------------------------------------------------------- expressions


def as_column(x: Sym) -> Sym:
    """Vectors as matrices of one column: a new last axis."""
    return x.b.emit("expand_dims", x, axes=(x.ndim,))


def as_row(x: Sym) -> Sym:
    """Vectors as matrices of one row: a new axis before the last."""
    return x.b.emit("expand_dims", x, axes=(x.ndim - 1,))


def squeeze_column(x: Sym) -> Sym:
    """Matrices of one column as vectors."""
    return x.b.emit("squeeze", x, axes=(x.ndim - 1,))


def expand_per_matrix(x: Sym) -> Sym:
    """One scalar per matrix, expanded to broadcast against the matrices."""
    return x if not x.ndim else x.b.emit("expand_dims", x, axes=(x.ndim, x.ndim + 1))


def sum_per_matrix(x: Sym) -> Sym:
    """The sum of the elements of each matrix."""
    axis = None if x.ndim == 2 else (x.ndim - 2, x.ndim - 1)
    return x.b.emit("sum", x, axis=axis, keepdims=False)


def symmetric(x: Sym) -> Sym:
    """The symmetric part, (x + x.T) / 2."""
    return (x + transpose_matrices(x)) * 0.5


def lower_part(x: Sym, k: int = 0) -> Sym:
    return build_tril(x.b, x, k)


def upper_part(x: Sym, k: int = 0) -> Sym:
    return build_triu(x.b, x, k)


def symmetric_from_triangle(x: Sym, from_lower: bool = True) -> Sym:
    """The symmetric matrix that one triangle of x determines."""
    if from_lower:
        return lower_part(x) + transpose_matrices(lower_part(x, -1))
    return upper_part(x) + transpose_matrices(upper_part(x, 1))


def identity(x: Sym) -> Sym:
    """The identity matrix of as many rows as x has columns."""
    n = size_of(x.b, x, x.ndim - 1)
    return x.b.emit("eye", n, n, 0, dtype=x.dtype)


def slice_range(x: Sym, axis: int, start: Any, stop: Any) -> Sym:
    """x[..., start:stop, ...] along a non-negative axis."""
    bounds = [v for v in (start, stop) if v is not None]
    positions = iter(range(1, 3))
    where = tuple(None if v is None else next(positions) for v in (start, stop))
    items: list[Any] = [("all",)] * x.ndim
    items[axis] = ("slice", *where, None)
    return x.b.emit("index", x, *bounds, items=tuple(items))
