"""Linear-algebra functions composed of products: `kron`, `cross`, `multi_dot`, array API names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ir.builder import Builder, Sym
from ....ir.op_registry import surface
from ....ir.symbolic_dims import Dim
from ...axes_and_sizes import (
    axis_of,
    product,
    require_equal,
    size_of,
    unsupported_error,
    value_error,
)
from ...declare import as_operand, refuse_keywords
from ..bilinear import transpose_matrices
from ..composed import build_diagonal, build_trace
from ..matmul import dot, matmul, outer, tensordot
from .matrix_rules import require_matrices

# ---------------------------------------------------------------- diagonals


@surface("numpy.linalg.diagonal")
def linalg_diagonal(b: Builder, x: Any, /, *, offset: Any = 0) -> Sym:
    return b.view(build_diagonal(b, x, offset, -2, -1))


@surface("numpy.linalg.trace")
def linalg_trace(b: Builder, x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Sym:
    return build_trace(b, x, offset, -2, -1, dtype)


# ---------------------------------------------------------------- products


@surface("numpy.linalg.multi_dot")
def multi_dot(b: Builder, arrays: Any, *, out: Any = None) -> Sym:
    refuse_keywords("numpy.linalg.multi_dot", {"out": out})
    xs = [as_operand(b, x) for x in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    for x in xs[1:-1]:
        if x.ndim != 2:
            message = f"{x.ndim}-dimensional array given. Array must be two-dimensional"
            raise value_error(b, message)
    if xs[-1].ndim == 1:
        # Evaluated from the right, every product is one of a matrix and a vector.
        total = xs[-1]
        for x in reversed(xs[:-1]):
            total = dot(b, x, total)
        return total
    total = xs[0]
    for x in xs[1:]:
        total = dot(b, total, x)
    return total


@surface("numpy.kron")
def kron(builder: Builder, a: Any, b: Any) -> Sym:
    x, y = as_operand(builder, a), as_operand(builder, b)
    rank = max(x.ndim, y.ndim)
    if not rank:
        return x * y
    sizes = [
        [1] * (rank - v.ndim) + [size_of(builder, v, i) for i in range(v.ndim)] for v in (x, y)
    ]
    # Axis i of the result runs over axis i of x and, faster, over axis i of y.
    left = builder.emit("reshape", x, *(n for size in sizes[0] for n in (size, 1)))
    right = builder.emit("reshape", y, *(n for size in sizes[1] for n in (1, size)))
    return builder.emit("reshape", left * right, *(product(pair) for pair in zip(*sizes)))


@surface("numpy.cross", "numpy.linalg.cross")
def cross(
    builder: Builder,
    a: Any,
    b: Any,
    axisa: Any = -1,
    axisb: Any = -1,
    axisc: Any = -1,
    axis: Any = None,
) -> Sym:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_operand(builder, a), as_operand(builder, b)
    for v in (x, y):
        if v.ndim == 0:
            raise ValueError("At least one array has zero dimension")
    x, y = _last(builder, x, axisa, "axisa"), _last(builder, y, axisb, "axisb")
    wide = [_components(builder, v) for v in (x, y)]
    p, q = (_components_along_last(v, n) for v, n in zip((x, y), wide))
    third = p[0] * q[1] - p[1] * q[0]
    if wide == [2, 2]:
        return third
    zero = np.dtype(third.dtype).type(0)
    px, py, pz = (*p, zero)[:3]
    qx, qy, qz = (*q, zero)[:3]
    parts = [py * qz - pz * qy, pz * qx - px * qz, third]
    # A constant 0 component leaves out a product: a part may lack the broadcast shape.
    parts = [v + third * zero if v.ndim < third.ndim else v for v in parts]
    at = axis_of(builder, axisc, third.ndim + 1, "axisc")
    return builder.emit("stack", *parts, axis=at)


def _last(b: Builder, x: Sym, axis: Any, what: str) -> Sym:
    """`x` with one axis moved to the end."""
    at = axis_of(b, axis, x.ndim, what)
    order = (*(i for i in range(x.ndim) if i != at), at)
    return x if order == tuple(range(x.ndim)) else b.emit("transpose", x, axes=order)


def _components(b: Builder, x: Sym) -> int:
    """The number of components, 2 or 3; a compile-time constant."""
    dim = x.type.shape[-1]
    for count in (3, 2):
        if b.facts.known_equal(dim, Dim.of(count)):
            return count
    for count in (3, 2):
        if b.facts.relate(dim, Dim.of(count)) == "equal":
            return count
    size = size_of(b, x, x.ndim - 1)
    message = "incompatible dimensions for cross product\n(dimension must be 2 or 3)"
    b.check(b.sym(size) == 3 if isinstance(size, Sym) else False, "ValueError", message)
    return 3


def _components_along_last(x: Sym, count: int) -> list[Sym]:
    lead = [("all",)] * (x.ndim - 1)
    return [x.b.emit("index", x, k, items=(*lead, ("int", 1))) for k in range(count)]


# ---------------------------------------------------------------- the array API


@surface("numpy.linalg.matrix_transpose")
def matrix_transpose(b: Builder, x: Any, /) -> Sym:
    return transpose_matrices(require_matrices(b, x))


@surface("numpy.vecdot", "numpy.linalg.vecdot")
def vecdot(b: Builder, x1: Any, x2: Any, /, *, axis: Any = -1) -> Sym:
    x, y = as_operand(b, x1), as_operand(b, x2)
    x, y = _last(b, x, axis, "axis"), _last(b, y, axis, "axis")
    _require_same_core(b, x, y, x.ndim - 1, y.ndim - 1, "vecdot", "(n),(n)->()", 0)
    if x.ndim == y.ndim == 1:
        return b.emit("matmul", x, y)
    products = x * y
    return b.emit("sum", products, axis=(products.ndim - 1,), keepdims=False)


@surface("numpy.matvec")
def matvec(b: Builder, x1: Any, x2: Any, /) -> Sym:
    x, y = as_operand(b, x1), as_operand(b, x2)
    _require_same_core(b, x, y, x.ndim - 1, y.ndim - 1, "matvec", "(m,n),(n)->(m)", 0)
    if y.ndim == 1:
        return b.emit("matmul", x, y)
    wide = b.emit("matmul", x, b.emit("expand_dims", y, axes=(y.ndim,)))
    return b.emit("squeeze", wide, axes=(wide.ndim - 1,))


@surface("numpy.vecmat")
def vecmat(b: Builder, x1: Any, x2: Any, /) -> Sym:
    x, y = as_operand(b, x1), as_operand(b, x2)
    _require_same_core(b, x, y, x.ndim - 1, y.ndim - 2, "vecmat", "(n),(n,m)->(m)", 0)
    if x.ndim == 1:
        return b.emit("matmul", x, y)
    wide = b.emit("matmul", b.emit("expand_dims", x, axes=(x.ndim - 1,)), y)
    return b.emit("squeeze", wide, axes=(wide.ndim - 2,))


def _require_same_core(
    b: Builder, x: Sym, y: Sym, i: int, j: int, name: str, signature: str, core: int
) -> None:
    if min(i, j) < 0:
        raise value_error(b, f"{name}: an operand does not have enough dimensions")
    require_equal(
        b,
        x.type.shape[i],
        y.type.shape[j],
        lambda: (size_of(b, x, i), size_of(b, y, j)),
        "ValueError",
        lambda m, n: (
            f"{name}: Input operand 1 has a mismatch in its core dimension {core}, "
            f"with gufunc signature {signature} (size ",
            n,
            " is different from ",
            m,
            ")",
        ),
    )


@surface("numpy.linalg.outer")
def linalg_outer(b: Builder, x1: Any, x2: Any, /) -> Sym:
    x, y = as_operand(b, x1), as_operand(b, x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x.ndim} and x2.ndim={y.ndim}."
        )
    return outer(b, x, y)


@surface("numpy.linalg.matmul")
def linalg_matmul(b: Builder, x1: Any, x2: Any, /) -> Sym:
    return matmul(b, x1, x2)


@surface("numpy.linalg.tensordot")
def linalg_tensordot(b: Builder, x1: Any, x2: Any, /, *, axes: Any = 2) -> Sym:
    return tensordot(b, x1, x2, axes)


# ---------------------------------------------------------------- SciPy's


@surface("scipy.linalg.block_diag")
def block_diag(b: Builder, *arrs: Any) -> Sym:
    xs = [as_operand(b, x) for x in arrs]
    xs = [b.emit("reshape", x, *[1] * (2 - x.ndim), *x.shape) if x.ndim < 2 else x for x in xs]
    if any(x.ndim > 2 for x in xs):
        raise unsupported_error(b, "scipy.linalg.block_diag of stacks", "give it matrices")
    rows = []
    for i, x in enumerate(xs):
        height = size_of(b, x, 0)
        widths = [size_of(b, y, 1) for y in xs]
        row = [
            x if i == j else b.emit("zeros", height, width, dtype=x.dtype)
            for j, width in enumerate(widths)
        ]
        rows.append(b.emit("concatenate", *row, axis=1) if len(row) > 1 else row[0])
    return b.emit("concatenate", *rows, axis=0) if len(rows) > 1 else b.emit("copy", rows[0])
