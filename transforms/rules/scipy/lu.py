"""LU factorisation reused for several systems: `scipy.linalg.lu_factor` and `lu_solve`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.op_registry import Accumulate, surface
from ...runtime import matrix_helpers as helpers
from ..axes_and_sizes import require_static, unsupported_error
from ..declare import as_operand
from ..numpy.bilinear import transpose_matrices
from ..numpy.linalg.matrix_rules import (
    declare_matrix_op,
    identity,
    lower_part,
    require_square_matrices,
    scipy_matrix,
    upper_part,
)
from ..numpy.linalg.triangular import TRANS, emit_solve_triangular, require_same_rows
from ..operation_text import call

Attrs = dict[str, Any]


def _order(a: Sym) -> Sym:
    """The row permutation of the factorisation of `a`."""
    return a.b.emit("pivot_order", a.b.emit("lu_pivots", a))


def _unit_lower(lu: Sym) -> Sym:
    """The factor l, whose diagonal is 1."""
    return lower_part(lu, -1) + identity(lu)


def _pullback(
    b: Builder, g: Sym, lu: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    inner = lower_part(transpose_matrices(_unit_lower(lu)) @ lower_part(g, -1), -1)
    inner = inner + upper_part(upper_part(g) @ transpose_matrices(upper_part(lu)))
    left = emit_solve_triangular(lu, inner, trans=1, unit_diagonal=True)
    bar = transpose_matrices(emit_solve_triangular(lu, transpose_matrices(left), lower=False))
    rows = (("index", (("array", 2), ("all",))),)
    return {0: Accumulate(bar, rows, (_order(args[0]),))}


def _pushforward(b: Builder, dots: Any, lu: Sym, args: Sequence[Sym], attrs: Attrs) -> Sym:
    moved = b.emit("index", dots[0], _order(args[0]), items=(("array", 1), ("all",)))
    left = emit_solve_triangular(lu, moved, unit_diagonal=True)
    inner = transpose_matrices(
        emit_solve_triangular(lu, transpose_matrices(left), lower=False, trans=1)
    )
    return _unit_lower(lu) @ lower_part(inner, -1) + upper_part(inner) @ upper_part(lu)


declare_matrix_op(
    "lu_compact",
    (2,),
    lambda b, a: a,
    evaluate=helpers.lu_compact,
    text=call("lu_compact"),
    pullback=_pullback,
    pushforward=_pushforward,
    stacks=False,
    doc="the LU factors of a with exchanged rows: l, of unit diagonal, below u",
)
declare_matrix_op(
    "lu_pivots",
    (2,),
    lambda b, a: a[:1],
    evaluate=helpers.lu_pivots,
    text=call("lu_pivots"),
    differentiable=(),
    dtype="int32",
    stacks=False,
    doc="the row that each row is exchanged with, in order",
)
declare_matrix_op(
    "pivot_order",
    (1,),
    lambda b, pivots: pivots,
    evaluate=helpers.pivot_order,
    text=call("pivot_order"),
    differentiable=(),
    dtype="int64",
    stacks=False,
    doc="the source row of each row after all exchanges",
)


@surface("scipy.linalg.lu_factor")
def lu_factor(
    b: Builder, a: Any, overwrite_a: Any = False, check_finite: Any = True
) -> tuple[Sym, Sym]:
    x = require_square_matrices(b, scipy_matrix(b, a, check_finite))
    if x.ndim > 2:
        raise unsupported_error(
            b, "scipy.linalg.lu_factor of a stack of matrices", "use np.linalg.solve"
        )
    return b.emit("lu_compact", x), b.emit("lu_pivots", x)


@surface("scipy.linalg.lu_solve")
def lu_solve(
    builder: Builder,
    lu_and_piv: Any,
    b: Any,
    trans: Any = 0,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Sym:
    lu = require_square_matrices(builder, scipy_matrix(builder, lu_and_piv[0], False))
    y = scipy_matrix(builder, b, check_finite)
    if y.ndim > 2 or lu.ndim > 2:
        raise unsupported_error(builder, "scipy.linalg.lu_solve of stacks", "use np.linalg.solve")
    require_same_rows(builder, lu, y, "Shapes of lu ", " and b ", " are incompatible")
    order = builder.emit("pivot_order", as_operand(builder, lu_and_piv[1]))
    rest = [("all",)] * (y.ndim - 1)
    if TRANS[require_static(trans, "trans")] == 0:
        moved = builder.emit("index", y, order, items=(("array", 1), *rest))
        return emit_solve_triangular(
            lu, emit_solve_triangular(lu, moved, unit_diagonal=True), lower=False
        )
    first = emit_solve_triangular(lu, y, lower=False, trans=1)
    last = emit_solve_triangular(lu, first, trans=1, unit_diagonal=True)
    zeros = builder.emit("zeros_like", last, dtype=last.dtype)
    path = (("index", (("array", 2), *rest)),)
    return builder.emit("update", zeros, last, order, path=path)
