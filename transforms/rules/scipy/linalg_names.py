"""Surfaces of `scipy.linalg` that use the rules of `numpy.linalg`, and structured matrices."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.op_registry import surface
from ..axes_and_sizes import iota, require_static, size_of, unsupported_error
from ..declare import as_operand
from ..numpy.bilinear import transpose_matrices
from ..numpy.linalg.factorizations import qr, svd, svdvals
from ..numpy.linalg.matrix_rules import (
    as_column,
    as_row,
    require_matrices,
    require_square_matrices,
    scipy_matrix,
    symmetric_from_triangle,
)
from ..numpy.linalg.pinv_norms import pinv
from ..numpy.linalg.triangular import emit_solve_triangular
from ..numpy.shape_functions import ravel

# ---------------------------------------------------------------- factorisations


@surface("scipy.linalg.eigvalsh")
def eigvalsh(builder: Builder, a: Any, b: Any = None, **keywords: Any) -> Sym:
    return eigh(builder, a, b, eigvals_only=True, **keywords)


@surface("scipy.linalg.eigh")
def eigh(
    builder: Builder,
    a: Any,
    b: Any = None,
    *,
    lower: Any = True,
    eigvals_only: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    type: Any = 1,
    check_finite: Any = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Sym:
    if not require_static(eigvals_only, "eigvals_only"):
        # SciPy calls a different LAPACK routine, which may choose other signs.
        raise unsupported_error(
            builder,
            "scipy.linalg.eigh with eigenvectors",
            "use np.linalg.eigh or eigvals_only=",
        )
    if (
        require_static(type, "type") != 1
        or subset_by_index is not None
        or subset_by_value is not None
    ):
        raise unsupported_error(
            builder, "scipy.linalg.eigh with subset_ or type=", "use np.linalg.eigh"
        )
    low = bool(require_static(lower, "lower"))
    x = require_square_matrices(builder, scipy_matrix(builder, a, check_finite))
    if b is not None:
        # a @ v == w * (b @ v) has the eigenvalues of inv(l) @ a @ inv(l).T, where b == l @ l.T.
        factor = builder.emit(
            "cholesky",
            symmetric_from_triangle(
                require_square_matrices(builder, scipy_matrix(builder, b, check_finite)), low
            ),
        )
        half = emit_solve_triangular(factor, symmetric_from_triangle(x, low))
        x = emit_solve_triangular(factor, transpose_matrices(half))
        low = True
    v = builder.emit("eigh_vectors", x, lower=low)
    return builder.emit("eigh_values", x, v, lower=low)


@surface("scipy.linalg.svd")
def scipy_svd(
    b: Builder,
    a: Any,
    full_matrices: Any = True,
    compute_uv: Any = True,
    overwrite_a: Any = False,
    check_finite: Any = True,
    lapack_driver: Any = "gesdd",
) -> Any:
    if require_static(lapack_driver, "lapack_driver") != "gesdd":
        raise unsupported_error(
            b, "scipy.linalg.svd with lapack_driver=", "leave out lapack_driver="
        )
    out = svd(b, scipy_matrix(b, a, check_finite), full_matrices, compute_uv)
    return tuple(out) if isinstance(out, tuple) else out


@surface("scipy.linalg.svdvals")
def scipy_svdvals(b: Builder, a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Sym:
    return svdvals(b, scipy_matrix(b, a, check_finite))


@surface("scipy.linalg.qr")
def scipy_qr(
    b: Builder,
    a: Any,
    overwrite_a: Any = False,
    lwork: Any = None,
    mode: Any = "full",
    pivoting: Any = False,
    check_finite: Any = True,
) -> Any:
    x, mode = require_matrices(b, scipy_matrix(b, a, check_finite)), require_static(mode, "mode")
    if require_static(pivoting, "pivoting"):
        raise unsupported_error(b, "scipy.linalg.qr with pivoting", "leave out pivoting=")
    square_matrix = b.facts.relate(*x.type.shape[-2:]) == "equal"
    if mode == "economic" or (square_matrix and mode in ("full", "r")):
        q, r = qr(b, x)
        return (r,) if mode == "r" else (q, r)
    raise unsupported_error(b, f"scipy.linalg.qr with mode={mode!r}", 'use mode="economic"')


@surface("scipy.linalg.pinv")
def scipy_pinv(
    b: Builder,
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: Any = False,
    check_finite: Any = True,
) -> Sym:
    if atol is not None or require_static(return_rank, "return_rank"):
        raise unsupported_error(b, "scipy.linalg.pinv with atol= or return_rank=", "use rtol=")
    return pinv(b, scipy_matrix(b, a, check_finite), rtol=rtol)


# ---------------------------------------------------------------- structured matrices


def _vector(b: Builder, value: Any) -> Sym:
    x = as_operand(b, value)
    if x.ndim > 1:
        raise unsupported_error(b, "a matrix of more than one vector", "loop over the vectors")
    return ravel(b, x)


def _gathered(b: Builder, x: Sym, at: Sym) -> Sym:
    return b.emit("index", x, at, items=(("array", 1),))


@surface("scipy.linalg.toeplitz")
def toeplitz(b: Builder, c: Any, r: Any = None) -> Sym:
    first = _vector(b, c)
    top = first if r is None else _vector(b, r)
    rows, columns = size_of(b, first, 0), size_of(b, top, 0)
    # One vector through the corner: the reversed first column, then the rest of the first row.
    backwards = b.emit("index", first, -1, items=(("slice", None, None, 1),))
    rest = b.emit("index", top, 1, items=(("slice", 1, None, None),))
    line = b.emit("concatenate", backwards, rest, axis=0)
    at = as_row(iota(b, columns)) - as_column(iota(b, rows)) + (rows - 1)
    return _gathered(b, line, at)


@surface("scipy.linalg.circulant")
def circulant(b: Builder, c: Any) -> Sym:
    x = _vector(b, c)
    n = size_of(b, x, 0)
    along = iota(b, n)
    return _gathered(b, x, (as_column(along) - as_row(along)) % n)


@surface("scipy.linalg.hankel")
def hankel(b: Builder, c: Any, r: Any = None) -> Sym:
    if not as_operand(b, c).ndim:
        raise IndexError("too many indices for array: array is 0-dimensional")
    first = _vector(b, c)
    last = b.emit("zeros_like", first, dtype=first.dtype) if r is None else _vector(b, r)
    rows, columns = size_of(b, first, 0), size_of(b, last, 0)
    rest = b.emit("index", last, 1, items=(("slice", 1, None, None),))
    line = b.emit("concatenate", first, rest, axis=0)
    return _gathered(b, line, as_row(iota(b, columns)) + as_column(iota(b, rows)))
