"""The matrix exponential.

Its directional derivative is the upper right block of the exponential of a block triangular matrix
of twice the size."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.op_registry import surface
from ...runtime import matrix_helpers as helpers
from ..axes_and_sizes import size_of
from ..numpy.bilinear import transpose_matrices
from ..numpy.linalg.matrix_rules import declare_matrix_op, require_square_matrices, slice_range
from ..operation_text import call


def _change(a: Sym, direction: Sym) -> Sym:
    """The directional derivative of expm at `a`."""
    b, columns = a.b, a.ndim - 1
    zeros = b.emit("zeros_like", a, dtype=a.dtype)
    above = b.emit("concatenate", a, direction, axis=columns)
    below = b.emit("concatenate", zeros, a, axis=columns)
    blocks = b.emit("concatenate", above, below, axis=columns - 1)
    n = size_of(b, a, columns)
    return slice_range(slice_range(b.emit("expm", blocks), columns - 1, None, n), columns, n, None)


declare_matrix_op(
    "expm",
    (2,),
    lambda b, a: a,
    evaluate=helpers.expm,
    text=call("expm"),
    pullback=lambda b, g, out, args, attrs, wanted: {0: _change(transpose_matrices(args[0]), g)},
    pushforward=lambda b, dots, out, args, attrs: _change(args[0], b.sym(dots[0])),
    doc="the matrix exponential",
)


@surface("scipy.linalg.expm")
def expm(b: Builder, A: Any) -> Sym:
    return b.emit("expm", require_square_matrices(b, A))
