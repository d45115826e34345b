"""`tf.linalg`; some of its functions are also in `tf` itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..public_names import listing
from ..runtime.lazy_import import lazy_import
from ..training.gradient_clipping import global_norm
from ._axes import axes
from ._inputs import alike, given
from .tensors import export

scipy: Any = lazy_import(
    "scipy"
)  # imported lazily: it takes longer to load than this whole package

__all__ = [
    "band_part", "cholesky", "det", "diag", "diag_part", "einsum", "eye", "inv", "logdet", "matmul",
    "global_norm", "matvec", "norm", "slogdet", "solve", "tensordot", "trace", "triangular_solve",
]  # fmt: skip
__dir__ = listing(__name__)


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    a, b = alike(a, b)
    if transpose_a:
        a = np.swapaxes(a, -1, -2)
    if transpose_b:
        b = np.swapaxes(b, -1, -2)
    return np.matmul(a, b)


def matvec(a: Any, b: Any) -> Any:
    a, b = alike(a, b)
    return np.matmul(a, b[..., None])[..., 0]


def tensordot(a: Any, b: Any, axes: Any) -> Any:
    a, b = alike(a, b)
    return np.tensordot(a, b, axes)


def einsum(equation: str, *operands: Any) -> Any:
    return np.einsum(equation, *[given(x) for x in operands])


def norm(x: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False) -> Any:
    """The Euclidean norm; for `ord` 1 the sum of magnitudes, for infinity their maximum (vector
    norms)."""
    x = given(x)
    if ord == 1:
        return np.sum(np.abs(x), axis=axes(axis), keepdims=keepdims)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axes(axis), keepdims=keepdims)
    if ord != "euclidean" and ord != 2:
        raise NotImplementedError(f"tf.norm has ord 'euclidean', 2, 1 and np.inf, not {ord!r}")
    return np.sqrt(np.sum(x * x, axis=axes(axis), keepdims=keepdims))


def eye(n: int, m: Any = None, batch_shape: Any = None, dtype: Any = np.float32) -> Any:
    one = np.eye(n, m, dtype=dtype)
    if batch_shape is None:
        return one
    return np.broadcast_to(one, (*batch_shape, *one.shape))


def diag(x: Any) -> Any:
    """Diagonal matrices with the last axis as diagonals."""
    x = given(x)
    return np.expand_dims(x, -1) * np.eye(x.shape[-1], dtype=x.dtype)


def diag_part(x: Any) -> Any:
    return np.diagonal(given(x), axis1=-2, axis2=-1)


def trace(x: Any) -> Any:
    return np.trace(given(x), axis1=-2, axis2=-1)


def inv(x: Any) -> Any:
    return np.linalg.inv(given(x))


def det(x: Any) -> Any:
    return np.linalg.det(given(x))


def solve(a: Any, b: Any) -> Any:
    a, b = alike(a, b)
    return np.linalg.solve(a, b)


def cholesky(x: Any) -> Any:
    return np.linalg.cholesky(given(x))


def slogdet(x: Any) -> Any:
    return np.linalg.slogdet(given(x))


def logdet(x: Any) -> Any:
    """The log-determinant of a symmetric positive definite matrix, by its Cholesky factor."""
    x = given(x)
    lower = np.linalg.cholesky(x)
    return 2.0 * np.sum(np.log(np.diagonal(lower, axis1=-2, axis2=-1)), axis=-1)


def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Any:
    matrix, rhs = alike(matrix, rhs)
    return scipy.linalg.solve_triangular(
        matrix, rhs, trans=1 if adjoint else 0, lower=lower, check_finite=False
    )


def band_part(input: Any, num_lower: int, num_upper: int) -> Any:
    """The band with `num_lower` subdiagonals and `num_upper` superdiagonals; a negative number
    means all."""
    input = given(input)
    if num_lower >= 0:
        input = np.triu(input, -num_lower)
    return np.tril(input, num_upper) if num_upper >= 0 else input


export(globals())
