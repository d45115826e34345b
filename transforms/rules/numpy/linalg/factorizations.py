"""Orthogonal factorisations: QR, symmetric eigendecomposition (`eigh`), SVD.

One operation computes the orthogonal factor.  The other factors follow from it: r = q.T @ a, and an
eigenvalue or singular value is a product of its vectors with the matrix.  So each operation has one
result and its own derivative, and derivatives of any order follow.

Vectors that belong to equal eigenvalues or singular values are not unique and have no derivative.
A derivative that depends on them is inf or nan, never an arbitrary finite value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....ir.builder import Builder, Sym
from ....ir.op_registry import Accumulate, surface
from ....ir.precedence import ATOM, Text
from ....runtime import matrix_helpers as helpers
from ...axes_and_sizes import require_static, size_of, unsupported_error
from ...operation_text import call, call_text
from ..bilinear import transpose_matrices
from .matrix_rules import (
    as_column,
    as_named_tuple,
    as_row,
    declare_matrix_op,
    identity,
    lower_part,
    min_dim,
    require_float_matrices,
    require_square_matrices,
    slice_range,
    symmetric,
    upper_part,
)
from .triangular import emit_solve_triangular

Attrs = dict[str, Any]


# ---------------------------------------------------------------- qr


def _leading(a: Sym, q: Sym) -> Sym:
    """The columns of `a` that determine q: as many as q has, the first min(rows, columns)."""
    if a.b.facts.known_equal(a.type.shape[-1], q.type.shape[-1]):
        return a
    return slice_range(a, a.ndim - 1, None, size_of(a.b, q, q.ndim - 1))


def _pullback_qr(
    b: Builder, g: Sym, q: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    a = args[0]
    leading = _leading(a, q)
    r = upper_part(transpose_matrices(q) @ leading)
    inner = transpose_matrices(g) @ q
    back = lower_part(inner) + transpose_matrices(lower_part(inner, -1))
    bar = transpose_matrices(
        emit_solve_triangular(r, transpose_matrices(g - q @ back), lower=False)
    )
    if leading is a:
        return {0: bar}
    items = (*[("all",)] * (a.ndim - 1), ("slice", None, 2, None))
    return {0: Accumulate(bar, (("index", items),), (size_of(b, q, q.ndim - 1),))}


def _pushforward_qr(b: Builder, dots: Any, q: Sym, args: Sequence[Sym], attrs: Attrs) -> Sym:
    leading, a_dot = _leading(args[0], q), b.sym(dots[0])
    if leading is not args[0]:
        a_dot = slice_range(a_dot, a_dot.ndim - 1, None, size_of(b, q, q.ndim - 1))
    r = upper_part(transpose_matrices(q) @ leading)
    moved = transpose_matrices(
        emit_solve_triangular(r, transpose_matrices(a_dot), lower=False, trans=1)
    )
    inner = transpose_matrices(q) @ moved
    below = lower_part(inner, -1)
    return moved - q @ (inner - below + transpose_matrices(below))


def _attribute(function: str, name: str) -> Any:
    def text(args: Sequence[Text], attrs: Attrs, types: Any) -> Text:
        return f"{call_text(function, args[:1])[0]}.{name}", ATOM

    return text


declare_matrix_op(
    "qr_q",
    (2,),
    lambda b, a: (a[0], min_dim(b, *a)),
    evaluate=lambda a: np.linalg.qr(a).Q,
    text=_attribute("np.linalg.qr", "Q"),
    pullback=_pullback_qr,
    pushforward=_pushforward_qr,
    kinks="the matrix must have full rank",
    doc="the orthogonal factor of a = q @ r",
)


@surface("numpy.linalg.qr")
def qr(b: Builder, a: Any, mode: Any = "reduced") -> Any:
    x, mode = require_float_matrices(b, a), require_static(mode, "mode")
    if mode not in ("reduced", "r"):
        if mode in ("complete", "raw"):
            raise unsupported_error(b, f"numpy.linalg.qr with mode={mode!r}", "use mode='reduced'")
        raise ValueError(f"Unrecognized mode '{mode}'")
    q = b.emit("qr_q", x)
    r = upper_part(transpose_matrices(q) @ x)
    return r if mode == "r" else as_named_tuple(np.linalg.qr(np.eye(1)), q, r)


# ---------------------------------------------------------------- eigh


def _over(g: Sym, gaps: Sym) -> Sym:
    """g[i, j] / gaps[i, j] off the diagonal; 0 where g is 0, even if two values are equal."""
    b = g.b
    same = identity(gaps) > 0.0
    return b.emit("strong_mul", g, 1.0 / b.emit("where", same, np.inf, gaps))


def _eigenvalues(a: Sym, v: Sym, attrs: Attrs) -> Sym:
    return a.b.emit("eigh_values", a, v, **attrs)


def _pullback_vectors(
    b: Builder, g: Sym, v: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    w = _eigenvalues(args[0], v, attrs)
    p = transpose_matrices(v) @ g
    inner = _over((p - transpose_matrices(p)) * 0.5, as_row(w) - as_column(w))
    return {0: v @ inner @ transpose_matrices(v)}


def _pushforward_vectors(b: Builder, dots: Any, v: Sym, args: Sequence[Sym], attrs: Attrs) -> Sym:
    w = _eigenvalues(args[0], v, attrs)
    change = transpose_matrices(v) @ symmetric(b.sym(dots[0])) @ v
    return v @ _over(change, as_row(w) - as_column(w))


_TRIANGLE_READ = "UPLO='U' reads the upper triangle, 'L' the lower; the gradient is symmetric"


def _text_eigh(function: str, name: str = "") -> Any:
    def text(args: Sequence[Text], attrs: Attrs, types: Any) -> Text:
        uplo = {} if attrs["lower"] else {"UPLO": "U"}
        return call_text(function, args[:1], uplo)[0] + name, ATOM

    return text


def _uplo(lower: bool) -> Any:
    return "L" if lower else "U"


declare_matrix_op(
    "eigh_vectors",
    (2,),
    lambda b, a: a,
    evaluate=lambda a, lower: np.linalg.eigh(a, _uplo(lower)).eigenvectors,
    text=_text_eigh("np.linalg.eigh", ".eigenvectors"),
    pullback=_pullback_vectors,
    pushforward=_pushforward_vectors,
    kinks=f"none where eigenvalues are equal; {_TRIANGLE_READ}",
    doc="the eigenvectors of a symmetric matrix, as columns",
)
declare_matrix_op(
    "eigh_values",
    (2, 2),
    lambda b, a, v: a[1:],
    evaluate=lambda a, v, lower: np.linalg.eigvalsh(a, _uplo(lower)),
    text=_text_eigh("np.linalg.eigvalsh"),
    pullback=lambda b, g, out, args, attrs, wanted: {
        0: args[1] * as_row(g) @ transpose_matrices(args[1])
    },
    pushforward=lambda b, dots, out, args, attrs: _products(
        args[1], symmetric(b.sym(dots[0])) @ args[1]
    ),
    kinks=_TRIANGLE_READ,
    doc="the eigenvalues that belong to given eigenvectors",
)


def _products(x: Sym, y: Sym) -> Sym:
    """The dot product of each column of x with the same column of y."""
    return x.b.emit("sum", x * y, axis=(x.ndim - 2,), keepdims=False)


def _is_lower(uplo: Any) -> bool:
    letter = require_static(uplo, "UPLO").upper()
    if letter not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return letter == "L"


@surface("numpy.linalg.eigh")
def eigh(b: Builder, a: Any, UPLO: Any = "L") -> Any:
    x = require_square_matrices(b, a)
    attrs: Attrs = {"lower": _is_lower(UPLO)}
    v = b.emit("eigh_vectors", x, **attrs)
    return as_named_tuple(np.linalg.eigh(np.eye(1)), _eigenvalues(x, v, attrs), v)


@surface("numpy.linalg.eigvalsh")
def eigvalsh(b: Builder, a: Any, UPLO: Any = "L") -> Sym:
    return eigh(b, a, UPLO).eigenvalues


@surface("numpy.linalg.eig", "numpy.linalg.eigvals", "scipy.linalg.eig", "scipy.linalg.eigvals")
def eig(b: Builder, *args: Any, **keywords: Any) -> Any:
    raise unsupported_error(
        b,
        "eig and eigvals have no rule: what they give may be complex",
        "use np.linalg.eigh for a symmetric matrix",
    )


# ---------------------------------------------------------------- svd


def _halves(a: Sym, vectors: Sym) -> tuple[Sym, Sym]:
    """u and v, split from one array that holds u above v."""
    rows = size_of(a.b, a, a.ndim - 2)
    at = vectors.ndim - 2
    return slice_range(vectors, at, None, rows), slice_range(vectors, at, rows, None)


def _joined(u: Sym, v: Sym) -> Sym:
    return u.b.emit("concatenate", u, v, axis=u.ndim - 2)


def _outside(g: Sym, u: Sym, inner: Sym, s: Sym) -> Sym | None:
    """The component of g orthogonal to the columns of u, divided by s; None if u is square."""
    b, (rows, columns) = g.b, (size_of(g.b, u, u.ndim - k) for k in (2, 1))
    if b.facts.known_equal(*u.type.shape[-2:]):
        return None
    rest = b.emit("strong_mul", g - u @ inner, 1.0 / as_row(s))
    return b.emit("where", b.sym(rows) > columns, rest, 0.0)


def _plus(x: Sym, y: Sym | None) -> Sym:
    return x if y is None else x + y


def _pullback_svd(
    b: Builder, g: Sym, out: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    a = args[0]
    u, v = _halves(a, out)
    gu, gv = _halves(a, g)
    s = b.emit("svd_values", a, out)
    gaps = _square_gaps(s)
    p, q = transpose_matrices(u) @ gu, transpose_matrices(v) @ gv
    inner = _over(p - transpose_matrices(p), gaps) * as_row(s) + as_column(s) * _over(
        q - transpose_matrices(q), gaps
    )
    bar = _plus(u @ inner, _outside(gu, u, p, s)) @ transpose_matrices(v)
    right = _outside(gv, v, q, s)
    return {0: bar if right is None else bar + u @ transpose_matrices(right)}


def _square_gaps(s: Sym) -> Sym:
    """s[j] ** 2 - s[i] ** 2 for all pairs."""
    return (as_row(s) - as_column(s)) * (as_row(s) + as_column(s))


def _pushforward_svd(b: Builder, dots: Any, out: Sym, args: Sequence[Sym], attrs: Attrs) -> Sym:
    a, a_dot = args[0], b.sym(dots[0])
    u, v = _halves(a, out)
    s = b.emit("svd_values", a, out)
    gaps = _square_gaps(s)
    right = a_dot @ v
    left = transpose_matrices(a_dot) @ u
    inner = transpose_matrices(u) @ right
    back = transpose_matrices(inner)
    du = u @ _over(inner * as_row(s) + as_column(s) * back, gaps)
    dv = v @ _over(as_column(s) * inner + back * as_row(s), gaps)
    return _joined(_plus(du, _outside(right, u, inner, s)), _plus(dv, _outside(left, v, back, s)))


declare_matrix_op(
    "svd_vectors",
    (2,),
    lambda b, a: (a[0] + a[1], min_dim(b, *a)),
    evaluate=helpers.svd_vectors,
    text=call("svd_vectors"),
    pullback=_pullback_svd,
    pushforward=_pushforward_svd,
    kinks="none where singular values are equal, or 0 in a matrix that is not square",
    doc="the left singular vectors above the right ones, as columns",
)
declare_matrix_op(
    "svd_values",
    (2, 2),
    lambda b, a, vectors: vectors[1:],
    evaluate=lambda a, vectors: np.linalg.svd(a, compute_uv=False),
    text=lambda args, attrs, types: call_text("np.linalg.svd", args[:1], {"compute_uv": False}),
    pullback=lambda b, g, out, args, attrs, wanted: {0: _weighted(*_halves(*args), g)},
    pushforward=lambda b, dots, out, args, attrs: _along(*_halves(*args), b.sym(dots[0])),
    doc="the singular values that belong to given singular vectors",
)


def _weighted(u: Sym, v: Sym, g: Sym) -> Sym:
    """u @ diag(g) @ v.T"""
    return u * as_row(g) @ transpose_matrices(v)


def _along(u: Sym, v: Sym, a_dot: Sym) -> Sym:
    """The diagonal of u.T @ a_dot @ v."""
    return _products(u, a_dot @ v)


def singular_values(b: Builder, x: Sym) -> Sym:
    return b.emit("svd_values", x, b.emit("svd_vectors", x))


@surface("numpy.linalg.svd")
def svd(
    b: Builder, a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False
) -> Any:
    x = require_float_matrices(b, a)
    if require_static(hermitian, "hermitian"):
        raise unsupported_error(
            b, "numpy.linalg.svd with hermitian=True", "leave out hermitian=, or use eigh"
        )
    if not require_static(compute_uv, "compute_uv"):
        return singular_values(b, x)
    if (
        require_static(full_matrices, "full_matrices")
        and not b.facts.relate(*x.type.shape[-2:]) == "equal"
    ):
        raise unsupported_error(
            b,
            "numpy.linalg.svd with full_matrices=True of a matrix that is not square",
            "use full_matrices=False: the other columns are not unique",
        )
    vectors = b.emit("svd_vectors", x)
    u, v = _halves(x, vectors)
    s = b.emit("svd_values", x, vectors)
    return as_named_tuple(np.linalg.svd(np.eye(1)), u, s, transpose_matrices(v))


@surface("numpy.linalg.svdvals")
def svdvals(b: Builder, x: Any, /) -> Sym:
    return singular_values(b, require_float_matrices(b, x))
