"""Matrix products: `matmul` for every pair of ranks, and `outer`.

`numpy.dot`, `inner`, `vdot` and `tensordot` are composed of them and of `einsum`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Type, is_complex
from ...ir.op_registry import Rule, register, surface
from ...ir.precedence import MUL
from ..axes_and_sizes import axes_of, product, require_equal, require_static, size_of, value_error
from ..broadcasting import infer_broadcast_shape
from ..declare import as_operand
from ..operation_text import call, infix
from ..promotion import join_dtypes
from .bilinear import LETTERS, array_or_scalar, multilinear_pushforward, transpose_matrices

# ---------------------------------------------------------------- matmul


def _infer_matmul(b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Any) -> Type:
    x, y = types
    for i, t in enumerate(types):
        if t.ndim == 0:
            raise value_error(b, f"matmul: Input operand {i} does not have enough dimensions")
    at = y.ndim - 2 if y.ndim > 1 else 0
    require_equal(
        b,
        x.shape[-1],
        y.shape[at],
        lambda: (size_of(b, operands[0], x.ndim - 1), size_of(b, operands[1], at)),
        "ValueError",
        lambda m, n: (
            "matmul: Input operand 1 has a mismatch in its core dimension 0, "
            "with gufunc signature (n?,k),(k,m?)->(n?,m?) (size ",
            n,
            " is different from ",
            m,
            ")",
        ),
    )
    batch = infer_broadcast_shape(b, x.shape[:-2], y.shape[:-2])
    return array_or_scalar(
        join_dtypes(types), batch + x.shape[-2:-1] + (y.shape[-1:] if y.ndim > 1 else ())
    )


def _pullback_matmul(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    # Stack axes that one operand lacks remain: the reverse pass sums them.
    p, q = (a.type.ndim for a in args)
    bars: dict[int, Any] = {}
    if 0 in wanted:
        bars[0] = _left_bar(b, g, args[1], p, q)
    if 1 in wanted:
        bars[1] = _right_bar(b, g, args[0], p, q)
    return bars


def _left_bar(b: Builder, g: Sym, y: Sym, p: int, q: int) -> Sym:
    if q == 1:
        if p == 1:
            return g * y
        return b.emit("outer", g, y) if p == 2 else b.emit("expand_dims", g, axes=(p - 1,)) * y
    if p > 1:
        return g @ transpose_matrices(y)
    if q == 2:
        return y @ g
    column = b.emit("expand_dims", g, axes=(q - 1,))
    return b.emit("squeeze", y @ column, axes=(q - 1,))


def _right_bar(b: Builder, g: Sym, x: Sym, p: int, q: int) -> Sym:
    if p == 1:
        if q == 1:
            return g * x
        column = b.emit("expand_dims", x, axes=(1,))
        return b.emit("outer", x, g) if q == 2 else column * b.emit("expand_dims", g, axes=(q - 2,))
    if q == 1:
        return transpose_matrices(x) @ g if p == 2 else x * b.emit("expand_dims", g, axes=(p - 1,))
    if q == 2 and p > 2:
        # One product over all rows at once, instead of a sum over a stack of products.
        return transpose_matrices(_rows(b, x)) @ _rows(b, g)
    return transpose_matrices(x) @ g


def _rows(b: Builder, x: Sym) -> Sym:
    """A stack of matrices as one tall matrix."""
    sizes = x.shape
    return b.emit("reshape", x, product(sizes[:-1]), sizes[-1])


register(
    Rule(
        "matmul",
        "contract",
        _infer_matmul,
        evaluate=np.matmul,
        text=infix("@", MUL),
        pullback=_pullback_matmul,
        pushforward=multilinear_pushforward("matmul"),
        differentiable=(0, 1),
        doc="x @ y, batched over leading axes",
    )
)


# ---------------------------------------------------------------- outer


def _infer_outer(b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Any) -> Type:
    x, y = types
    assert x.ndim == y.ndim == 1, types
    return Array(join_dtypes(types), x.shape + y.shape)


def _pullback_outer(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    bars: dict[int, Any] = {}
    if 0 in wanted:
        bars[0] = g @ args[1]
    if 1 in wanted:
        bars[1] = args[0] @ g
    return bars


register(
    Rule(
        "outer",
        "contract",
        _infer_outer,
        evaluate=np.outer,
        text=call("np.outer"),
        pullback=_pullback_outer,
        pushforward=multilinear_pushforward("outer"),
        differentiable=(0, 1),
        doc="x[:, None] * y of two vectors",
    )
)


# ---------------------------------------------------------------- surfaces


@surface("numpy.matmul")
def matmul(b: Builder, x1: Any, x2: Any) -> Sym:
    return b.emit("matmul", as_operand(b, x1), as_operand(b, x2))


@surface("numpy.outer")
def outer(builder: Builder, a: Any, b: Any) -> Sym:
    from .shape_functions import ravel

    return builder.emit("outer", ravel(builder, a), ravel(builder, b))


@surface("numpy.dot", "numpy.ndarray.dot")
def dot(builder: Builder, a: Any, b: Any) -> Sym:
    x, y = as_operand(builder, a), as_operand(builder, b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim <= 2 or x.ndim == 1:
        # If at most one operand is a stack, `dot` and `matmul` contract the same axes.
        return builder.emit("matmul", x, y)
    return tensordot(builder, x, y, ((x.ndim - 1,), (y.ndim - 2,)))


@surface("numpy.vdot")
def vdot(builder: Builder, a: Any, b: Any) -> Sym:
    from .shape_functions import ravel

    x, y = ravel(builder, a), ravel(builder, b)
    return builder.emit("matmul", np.conj(x) if is_complex(x.type) else x, y)


@surface("numpy.inner")
def inner(builder: Builder, a: Any, b: Any) -> Sym:
    x, y = as_operand(builder, a), as_operand(builder, b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim == 1:
        return builder.emit("matmul", x, y)
    if x.ndim == 1:
        return builder.emit("matmul", y, x)
    return tensordot(builder, x, y, ((x.ndim - 1,), (y.ndim - 1,)))


@surface("numpy.tensordot")
def tensordot(builder: Builder, a: Any, b: Any, axes: Any = 2) -> Sym:
    from .einsum import contract

    x, y = as_operand(builder, a), as_operand(builder, b)
    axes = require_static(axes, "axes")
    if isinstance(axes, (tuple, list)):
        left, right = (
            axes_of(builder, axes[0], x.ndim, "axes"),
            axes_of(builder, axes[1], y.ndim, "axes"),
        )
    else:
        if axes > min(x.ndim, y.ndim):
            raise value_error(builder, "tensordot: more axes than an operand has")
        left, right = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    if len(left) != len(right):
        raise value_error(builder, "shape-mismatch for sum")
    for i, j in zip(left, right, strict=True):
        require_equal(
            builder,
            x.type.shape[i],
            y.type.shape[j],
            lambda i=i, j=j: (size_of(builder, x, i), size_of(builder, y, j)),
            "ValueError",
            lambda m, n: ("shape-mismatch for sum",),
        )
    first = LETTERS[: x.ndim]
    second = list(LETTERS[x.ndim : x.ndim + y.ndim])
    for i, j in zip(left, right, strict=True):
        second[j] = first[i]
    kept = [c for i, c in enumerate(first) if i not in left]
    kept += [c for j, c in enumerate(second) if j not in right]
    return contract(builder, [x, y], [first, "".join(second)], "".join(kept))
