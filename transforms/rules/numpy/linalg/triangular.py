"""Triangular systems and Cholesky factorisation.

`cholesky` reads the lower triangle, as NumPy does.  Its gradient is that of a function of the
symmetric matrix, distributed evenly over both triangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....ir.builder import Builder, Sym
from ....ir.op_registry import surface
from ....ir.precedence import ATOM, TERNARY, Text, wrap
from ....runtime import matrix_helpers as helpers
from ...axes_and_sizes import require_equal, require_static, size_of, unsupported_error, value_error
from ...operation_text import call
from ..bilinear import transpose_matrices
from .matrix_rules import (
    declare_matrix_op,
    lower_part,
    require_matrices,
    require_square,
    require_square_matrices,
    scipy_matrix,
    symmetric,
    upper_part,
)

Attrs = dict[str, Any]


# ---------------------------------------------------------------- solve_triangular


def _triangle(x: Sym, attrs: Attrs) -> Sym:
    """The part of a matrix that `solve_triangular` reads."""
    below = -1 if attrs["unit_diagonal"] else 0
    return lower_part(x, below) if attrs["lower"] else upper_part(x, -below)


def _pullback_triangular(
    b: Builder, g: Sym, out: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    w = b.emit("solve_triangular", args[0], g, **{**attrs, "trans": 1 - attrs["trans"]})
    bars: dict[int, Any] = {1: w}
    if 0 in wanted:
        left, right = (out, w) if attrs["trans"] else (w, out)
        vectors = args[1].ndim == 1
        change = b.emit("outer", left, right) if vectors else left @ transpose_matrices(right)
        bars[0] = -_triangle(change, attrs)
    return {k: bars[k] for k in wanted}


def _pushforward_triangular(
    b: Builder, dots: Any, out: Sym, args: Sequence[Sym], attrs: Attrs
) -> Sym:
    a_dot, rhs_dot = dots
    change = rhs_dot
    if a_dot is not None:
        read = _triangle(b.sym(a_dot), attrs)
        moved = (transpose_matrices(read) if attrs["trans"] else read) @ out
        change = -moved if rhs_dot is None else rhs_dot - moved
    return b.emit("solve_triangular", args[0], change, **attrs)


def _text_triangular(args: Sequence[Text], attrs: Attrs, types: Any) -> Text:
    parts = [wrap(a, TERNARY) for a in args]
    parts += [f"{k}={v!r}" for k, v in attrs.items() if v]
    return f"solve_triangular({', '.join(parts)})", ATOM


declare_matrix_op(
    "solve_triangular",
    (2, 2),
    lambda b, a, rhs: a[-1:] + rhs[1:],
    evaluate=helpers.solve_triangular,
    text=_text_triangular,
    pullback=_pullback_triangular,
    pushforward=_pushforward_triangular,
    differentiable=(0, 1),
    doc="the x with a @ x == b, of a triangular matrix",
)


def emit_solve_triangular(
    a: Sym, rhs: Any, *, lower: bool = True, trans: int = 0, unit_diagonal: bool = False
) -> Sym:
    """Emit `solve_triangular`."""
    attrs = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    return a.b.emit("solve_triangular", a, rhs, **attrs)


# SciPy's values of trans=, as 1 for the transposed system.
TRANS = {0: 0, "N": 0, 1: 1, "T": 1, 2: 1, "C": 1}


@surface("scipy.linalg.solve_triangular")
def solve_triangular(
    builder: Builder,
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: Any = False,
    unit_diagonal: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Sym:
    x, y = (scipy_matrix(builder, v, check_finite) for v in (a, b))
    if x.ndim < 2:
        raise value_error(builder, "expected square matrix")
    if x.ndim > 2 and x.ndim != y.ndim:
        raise unsupported_error(
            builder,
            "scipy.linalg.solve_triangular of a stack of matrices and an array of another rank",
            "give the right-hand sides the rank of the matrices",
        )
    if y.ndim > 2 > x.ndim - 1:
        raise unsupported_error(
            builder,
            "scipy.linalg.solve_triangular with a stack of right-hand sides",
            "give it one matrix of them",
        )
    require_square(builder, x, "ValueError", "expected square matrix")
    require_same_rows(builder, x, y, "shapes of a ", " and b ", " are incompatible")
    attrs = {
        "trans": TRANS[require_static(trans, "trans")],
        "lower": bool(require_static(lower, "lower")),
        "unit_diagonal": bool(require_static(unit_diagonal, "unit_diagonal")),
    }
    return builder.emit("solve_triangular", x, y, **attrs)


def require_same_rows(b: Builder, x: Sym, y: Sym, *texts: str) -> None:
    """Require that y has as many rows as x has columns.

    The three `texts` precede, separate and follow both shapes in the error message."""

    def message(m: Any, n: Any) -> tuple[Any, ...]:
        return (texts[0], *_shape_parts(b, x), texts[1], *_shape_parts(b, y), texts[2])

    at = max(y.ndim - 2, 0)
    require_equal(
        b,
        x.type.shape[-1],
        y.type.shape[at],
        lambda: (size_of(b, x, x.ndim - 1), size_of(b, y, at)),
        "ValueError",
        message,
    )


def _shape_parts(b: Builder, x: Sym) -> tuple[Any, ...]:
    """A shape as parts of an error message, in the format of a Python tuple."""
    parts: list[Any] = ["("]
    for k in range(x.ndim):
        size = size_of(b, x, k)
        parts += [", " if k else "", str(size) if isinstance(size, int) else size]
    return (*parts, ",)" if x.ndim == 1 else ")")


# ---------------------------------------------------------------- cholesky


def _half_diagonal(x: Sym) -> Sym:
    """The lower triangle, with the diagonal halved."""
    return (lower_part(x) + lower_part(x, -1)) * 0.5


def _pullback_cholesky(
    b: Builder, g: Sym, out: Sym, args: Any, attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    inner = _half_diagonal(transpose_matrices(out) @ g)
    left = emit_solve_triangular(out, inner, trans=1)
    return {0: symmetric(emit_solve_triangular(out, transpose_matrices(left), trans=1))}


def _pushforward_cholesky(b: Builder, dots: Any, out: Sym, args: Any, attrs: Attrs) -> Sym:
    left = emit_solve_triangular(out, symmetric(b.sym(dots[0])))
    return out @ _half_diagonal(emit_solve_triangular(out, transpose_matrices(left)))


declare_matrix_op(
    "cholesky",
    (2,),
    lambda b, a: a,
    evaluate=np.linalg.cholesky,
    text=call("np.linalg.cholesky"),
    pullback=_pullback_cholesky,
    pushforward=_pushforward_cholesky,
    kinks="reads the lower triangle; the gradient is symmetric",
    doc="the lower triangular factor l with l @ l.T == a",
)


@surface("numpy.linalg.cholesky")
def cholesky(b: Builder, a: Any, /, *, upper: Any = False) -> Sym:
    return _factor(b, require_square_matrices(b, a), not require_static(upper, "upper"))


def _factor(b: Builder, x: Sym, lower: bool) -> Sym:
    return (
        b.emit("cholesky", x)
        if lower
        else transpose_matrices(b.emit("cholesky", transpose_matrices(x)))
    )


@surface("scipy.linalg.cholesky")
def scipy_cholesky(
    b: Builder, a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True
) -> Sym:
    x = require_square_matrices(b, scipy_matrix(b, a, check_finite))
    return _factor(b, x, bool(require_static(lower, "lower")))


@surface("scipy.linalg.cho_factor")
def cho_factor(
    b: Builder, a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True
) -> tuple[Sym, bool]:
    """The Cholesky factor in one triangle; the other triangle is that of `a`, as in SciPy."""
    x, low = (
        require_square_matrices(b, scipy_matrix(b, a, check_finite)),
        bool(require_static(lower, "lower")),
    )
    rest = upper_part(x, 1) if low else lower_part(x, -1)
    return _factor(b, x, low) + rest, low


@surface("scipy.linalg.cho_solve")
def cho_solve(
    builder: Builder,
    c_and_lower: Any,
    b: Any,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Sym:
    factor, y = (scipy_matrix(builder, v, check_finite) for v in (c_and_lower[0], b))
    c, low = require_matrices(builder, factor), bool(require_static(c_and_lower[1], "lower"))
    require_square(builder, c, "ValueError", "The factored matrix c is not square.")
    require_same_rows(builder, c, y, "incompatible dimensions (", " and ", ")")
    first = emit_solve_triangular(c, y, lower=low, trans=0 if low else 1)
    return emit_solve_triangular(c, first, lower=low, trans=1 if low else 0)
