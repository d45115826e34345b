"""`tf.linalg`: values from the definitions, batches, options."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s.tf as tf
from tests.s2s.tf.tensors import same

A = np.array([[[2.0, 1.0], [1.0, 3.0]], [[4.0, -1.0], [-1.0, 2.0]]])  # positive definite
B = np.array([[[1.0, 2.0], [0.0, 1.0]], [[3.0, 0.0], [1.0, 5.0]]])


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul(transpose_a: bool, transpose_b: bool) -> None:
    got = tf.matmul(B, A @ B, transpose_a, transpose_b)
    for k in range(2):
        left = B[k].T if transpose_a else B[k]
        right = (A @ B)[k].T if transpose_b else (A @ B)[k]
        np.testing.assert_allclose(got[k], left @ right)


def test_products() -> None:
    same(tf.linalg.matvec(A, B[:, 0]), [A[0] @ B[0, 0], A[1] @ B[1, 0]])
    same(tf.tensordot(A, B, 1), np.tensordot(A, B, 1))
    same(tf.einsum("bij,bjk->bik", A, B), A @ B)


def test_norms() -> None:
    x = np.array([[3.0, -4.0], [0.0, 2.0]])
    same(tf.norm(x), math.sqrt(29))
    same(tf.norm(x, axis=1), [5.0, 2.0])
    same(tf.norm(x, 1, axis=[0]), [3.0, 6.0])
    same(tf.norm(x, np.inf, axis=1, keepdims=True), [[4.0], [2.0]])
    same(tf.norm(x, 2), math.sqrt(29))
    same(tf.linalg.global_norm([x, np.array([math.sqrt(7)])]), 6.0)
    with pytest.raises(NotImplementedError, match="ord 'euclidean', 2, 1 and np.inf, not 3"):
        tf.norm(x, 3)


def test_identities_and_diagonals() -> None:
    same(tf.eye(2), [[1, 0], [0, 1]], "float32")
    same(tf.eye(1, 2, dtype=tf.float64), [[1, 0]], "float64")
    assert tf.eye(2, batch_shape=[3, 1]).shape == (3, 1, 2, 2)
    same(tf.linalg.diag(np.array([1.0, 2.0])), [[1, 0], [0, 2]])
    assert tf.linalg.diag(np.ones((4, 3))).shape == (4, 3, 3)
    same(tf.linalg.diag_part(A), [[2, 3], [4, 2]])
    same(tf.linalg.trace(A), [5, 6])


def test_bands() -> None:
    x = np.arange(1.0, 10.0).reshape(3, 3)
    same(tf.linalg.band_part(x, 0, 0), np.diag(np.diag(x)))
    same(tf.linalg.band_part(x, -1, 0), np.tril(x))
    same(tf.linalg.band_part(x, 0, -1), np.triu(x))
    same(tf.linalg.band_part(x, -1, -1), x)
    same(tf.linalg.band_part(x, 1, 0), [[1, 0, 0], [4, 5, 0], [0, 8, 9]])


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def test_systems() -> None:
    for k in range(2):
        a, b = A[k], B[k]
        close(a @ tf.linalg.solve(a, b), b)
        close(a @ tf.linalg.inv(a), np.eye(2))
        factor = tf.linalg.cholesky(a)
        close(factor @ factor.T, a)
        np.testing.assert_array_equal(factor, np.tril(factor))
        low = np.tril(a)
        close(low @ tf.linalg.triangular_solve(low, b), b)
        close(low.T @ tf.linalg.triangular_solve(low, b, adjoint=True), b)
        close(low.T @ tf.linalg.triangular_solve(low.T, b, lower=False), b)


def test_determinants() -> None:
    exact = [5.0, 7.0]
    same(tf.linalg.det(A), exact)
    same(tf.linalg.logdet(A), np.log(exact))
    sign, log = tf.linalg.slogdet(A[:, ::-1])  # exchanging two rows changes the sign
    same(sign, [-1.0, -1.0]), same(log, np.log(exact))


def test_singular_matrices_are_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
        tf.linalg.inv(np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="[Pp]ositive"):
        tf.linalg.cholesky(-np.eye(2))
