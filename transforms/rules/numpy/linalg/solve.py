"""Functions based on an LU decomposition: `solve`, `inv`, `det`, `cofactor`, `slogdet`.

`cofactor` is the derivative of `det`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....ir.builder import Builder, Sym
from ....ir.nodes import is_complex
from ....ir.op_registry import surface
from ....ir.precedence import ATOM, Text
from ....runtime import matrix_helpers as helpers
from ...axes_and_sizes import axes_of, invalid, product, refuse, require_equal, size_of, static
from ...operation_text import call, call_text
from ..bilinear import transpose_matrices
from .complex_systems import solve_complex_as_real
from .matrix_rules import (
    column,
    declare,
    flat,
    floating,
    identity,
    matrices,
    mirrored,
    require_square,
    results,
    row,
    scipy_matrix,
    spread,
    square,
    total,
)

Attrs = dict[str, Any]


# ---------------------------------------------------------------- solve


def _pullback_solve(
    b: Builder, g: Sym, out: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    a, rhs = args
    transposed = transpose_matrices(a)
    if rhs.ndim == 1 and a.ndim > 2:
        # One right-hand side for a stack of matrices: the cotangent is a stack of vectors, which
        # `solve` would take for a matrix.
        w = b.emit("solve", transposed, column(g))
        bars = {0: -(w @ row(out)), 1: flat(w)}
    else:
        w = b.emit("solve", transposed, g)
        bars = {1: w}
        if 0 in wanted:
            vectors = rhs.ndim == 1
            bars[0] = -(b.emit("outer", w, out) if vectors else w @ transpose_matrices(out))
    return {k: bars[k] for k in wanted}


def _pushforward_solve(b: Builder, dots: Any, out: Sym, args: Sequence[Sym], attrs: Attrs) -> Sym:
    a_dot, rhs_dot = dots
    a, rhs = args
    if a_dot is None:
        return b.emit("solve", a, rhs_dot)
    if rhs.ndim == 1 and a.ndim > 2:
        change = -(a_dot @ column(out))
        if rhs_dot is not None:
            change = column(b.sym(rhs_dot)) + change
        return flat(b.emit("solve", a, change))
    change = a_dot @ out
    return b.emit("solve", a, -change if rhs_dot is None else rhs_dot - change)


declare(
    "solve",
    (2, 2),
    lambda b, a, rhs: a[-1:] + rhs[1:],
    evaluate=np.linalg.solve,
    text=call("np.linalg.solve"),
    pullback=_pullback_solve,
    pushforward=_pushforward_solve,
    differentiable=(0, 1),
    doc="the x with a @ x == b",
)


@surface("numpy.linalg.solve")
def solve(builder: Builder, a: Any, b: Any) -> Sym:
    x, y = square(builder, a), floating(builder, b)
    name, signature = ("solve1", "(m,m),(m)->(m)") if y.ndim == 1 else ("solve", _MATRIX_SIGNATURE)
    if y.ndim == 0:
        raise invalid(
            builder,
            "solve: Input operand 1 does not have enough dimensions (has 0, gufunc core with "
            f"signature {_MATRIX_SIGNATURE} requires 2)",
        )
    at = max(y.ndim - 2, 0)
    require_equal(
        builder,
        x.type.shape[-1],
        y.type.shape[at],
        lambda: (size_of(builder, x, x.ndim - 1), size_of(builder, y, at)),
        "ValueError",
        lambda m, n: (
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
            f"signature {signature} (size ",
            n,
            " is different from ",
            m,
            ")",
        ),
    )
    if is_complex(x.type) or is_complex(y.type):
        return solve_complex_as_real(builder, x, y)
    return builder.emit("solve", x, y)


_MATRIX_SIGNATURE = "(m,m),(m,n)->(m,n)"


# ---------------------------------------------------------------- inv


declare(
    "inv",
    (2,),
    lambda b, a: a,
    evaluate=np.linalg.inv,
    text=call("np.linalg.inv"),
    pullback=lambda b, g, out, args, attrs, wanted: {
        0: -(transpose_matrices(out) @ g @ transpose_matrices(out))
    },
    pushforward=lambda b, dots, out, args, attrs: -(out @ dots[0] @ out),
    doc="the inverse",
)


@surface("numpy.linalg.inv")
def inv(b: Builder, a: Any) -> Sym:
    x = square(b, a)
    if is_complex(x.type):
        return solve_complex_as_real(b, x, identity(b.emit("real", x)))
    return b.emit("inv", x)


# ---------------------------------------------------------------- det


declare(
    "det",
    (2,),
    lambda b, a: (),
    evaluate=np.linalg.det,
    text=call("np.linalg.det"),
    pullback=lambda b, g, out, args, attrs, wanted: {0: spread(g) * b.emit("cofactor", args[0])},
    pushforward=lambda b, dots, out, args, attrs: total(b.emit("cofactor", args[0]) * dots[0]),
    doc="the determinant; its gradient exists for singular matrices, too",
)


@surface("numpy.linalg.det")
def det(b: Builder, a: Any) -> Sym:
    return b.emit("det", square(b, a))


@surface("scipy.linalg.det")
def scipy_det(b: Builder, a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Sym:
    """`scipy.linalg.det`: the result is float64 also for float32."""
    x = scipy_matrix(b, a, check_finite, small="float64")
    return det(b, x.astype("float64") if x.dtype == "float32" else x)


def _pullback_cofactor(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    # The cofactors are det(a) * inv(a).T; their derivative exists only if a is invertible.
    a = args[0]
    inverse = transpose_matrices(b.emit("inv", a))
    change = spread(total(g * inverse)) * inverse - inverse @ transpose_matrices(g) @ inverse
    return {0: spread(b.emit("det", a)) * change}


def _pushforward_cofactor(
    b: Builder, dots: Any, out: Any, args: Sequence[Sym], attrs: Attrs
) -> Sym:
    a, a_dot = args[0], b.sym(dots[0])
    inverse = transpose_matrices(b.emit("inv", a))
    change = (
        spread(total(a_dot * inverse)) * inverse - inverse @ transpose_matrices(a_dot) @ inverse
    )
    return spread(b.emit("det", a)) * change


declare(
    "cofactor",
    (2,),
    lambda b, a: a,
    evaluate=helpers.cofactor,
    text=call("cofactor"),
    pullback=_pullback_cofactor,
    pushforward=_pushforward_cofactor,
    doc="the gradient of the determinant",
)


# ---------------------------------------------------------------- slogdet


def _part(name: str) -> Any:
    def text(args: Sequence[Text], attrs: Attrs, types: Any) -> Text:
        return f"{call_text('np.linalg.slogdet', args)[0]}.{name}", ATOM

    return text


def _slope_of_log(b: Builder, a: Sym) -> Sym:
    """The gradient of log(abs(det(a))), which is inv(a).T."""
    return transpose_matrices(b.emit("inv", a))


declare(
    "slogdet_log",
    (2,),
    lambda b, a: (),
    evaluate=lambda a: np.linalg.slogdet(a).logabsdet,
    text=_part("logabsdet"),
    pullback=lambda b, g, out, args, attrs, wanted: {0: spread(g) * _slope_of_log(b, args[0])},
    pushforward=lambda b, dots, out, args, attrs: total(_slope_of_log(b, args[0]) * dots[0]),
    doc="the logarithm of the determinant's absolute value",
)
declare(
    "slogdet_sign",
    (2,),
    lambda b, a: (),
    evaluate=lambda a: np.linalg.slogdet(a).sign,
    text=_part("sign"),
    differentiable=(),
    doc="the determinant's sign",
)


@surface("numpy.linalg.slogdet")
def slogdet(b: Builder, a: Any) -> Any:
    x = square(b, a)
    parts = b.emit("slogdet_sign", x), b.emit("slogdet_log", x)
    return results(np.linalg.slogdet(np.eye(1)), *parts)


# ---------------------------------------------------------------- composed functions


@surface("numpy.linalg.matrix_power")
def matrix_power(b: Builder, a: Any, n: Any) -> Sym:
    x, power = matrices(b, a), static(n, "n")
    require_square(b, x, "LinAlgError", "Last 2 dimensions of the array must be square")
    if not isinstance(power, (int, np.integer)):
        raise TypeError("exponent must be an integer")
    if power < 0:
        x, power = b.emit("inv", floating(b, x)), -power
    if power == 0:
        unit = identity(x)
        return unit if x.ndim == 2 else b.emit("copy", b.emit("broadcast_like", unit, x))
    out = None
    while power:
        if power & 1:
            out = x if out is None else out @ x
        power >>= 1
        x = x @ x if power else x
    assert out is not None
    return b.emit("copy", out) if n == 1 else out


@surface("numpy.linalg.tensorsolve")
def tensorsolve(builder: Builder, a: Any, b: Any, axes: Any = None) -> Sym:
    x, y = floating(builder, a), floating(builder, b)
    if axes is not None:
        back = axes_of(builder, axes, x.ndim, "axes")
        order = (*(i for i in range(x.ndim) if i not in back), *back)
        x = builder.emit("transpose", x, axes=order)
    rest = x.shape[y.ndim :]
    rows = product(y.shape)
    matrix = builder.emit("reshape", x, rows, product(rest))
    return builder.emit("reshape", solve(builder, matrix, builder.emit("reshape", y, rows)), *rest)


@surface("numpy.linalg.tensorinv")
def tensorinv(b: Builder, a: Any, ind: Any = 2) -> Sym:
    x, k = floating(b, a), static(ind, "ind")
    if k <= 0:
        raise ValueError("Invalid ind argument.")
    front, back = x.shape[:k], x.shape[k:]
    b.check(b.sym(product(back)) != 0, "ValueError", "cannot reshape array of size 0")
    matrix = b.emit("reshape", x, product(front), product(back))
    return b.emit("reshape", inv(b, matrix), *back, *front)


# ---------------------------------------------------------------- SciPy


@surface("scipy.linalg.inv")
def scipy_inv(
    b: Builder,
    a: Any,
    overwrite_a: Any = False,
    check_finite: Any = True,
    *,
    assume_a: Any = None,
    lower: Any = False,
) -> Sym:
    x = square(b, scipy_matrix(b, a, check_finite))
    return b.emit("inv", _assumed(b, x, assume_a, static(lower, "lower")))


@surface("scipy.linalg.solve")
def scipy_solve(
    builder: Builder,
    a: Any,
    b: Any,
    lower: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    assume_a: Any = None,
    transposed: Any = False,
) -> Sym:
    x, y = (scipy_matrix(builder, v, check_finite, small="float64") for v in (a, b))
    x = _assumed(builder, square(builder, x), assume_a, static(lower, "lower"))
    return solve(builder, transpose_matrices(x) if transposed else x, y)


def _assumed(b: Builder, a: Sym, assume_a: Any, lower: bool) -> Sym:
    """The matrix as assume_a= defines it: a symmetric one is given by one triangle."""
    if assume_a in (None, "gen", "general"):
        return a
    if assume_a not in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        raise refuse(b, f"scipy.linalg with assume_a={assume_a!r}", "leave out assume_a=")
    return mirrored(a, lower)
