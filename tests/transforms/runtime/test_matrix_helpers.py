"""Matrix functions that NumPy lacks, against SciPy and against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from s2s.transforms.runtime import matrix_helpers as ours

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrix(rng: np.random.Generator, *shape: int, dtype: Any = np.float64) -> Any:
    a = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.normal(size=shape)
    return a.astype(dtype)


def tolerance(dtype: Any) -> float:
    return 1e-11 if np.dtype(dtype).char in "dD" else 1e-4


# ---------------------------------------------------------------- triangles


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("columns", [(), (1,), (3,)])
def test_triangular_systems_are_scipys(rng: Any, trans: int, lower: bool, unit: bool, columns: Any):
    """Of the other triangle nothing is read."""
    a, b = matrix(rng, 4, 4) + 4 * np.eye(4), matrix(rng, 4, *columns)
    hidden = a.copy()
    hidden[np.triu_indices(4, 1) if lower else np.tril_indices(4, -1)] = np.nan
    if unit:
        hidden[np.diag_indices(4)] = np.nan
    want = scipy.linalg.solve_triangular(a, b, trans, lower, unit)
    before = b.copy()
    got = ours.solve_triangular(hidden, b, trans, lower, unit)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got.shape == b.shape
    np.testing.assert_array_equal(b, before)


@pytest.mark.parametrize(("heads"), [((), (2,)), ((2,), ()), ((3, 1), (2,)), ((0,), ())])
def test_batches_of_systems_are_broadcast(rng: Any, heads: Any) -> None:
    first, second = heads
    a, b = matrix(rng, *first, 3, 3) + 3 * np.eye(3), matrix(rng, *second, 3, 2)
    got = ours.solve_triangular(a, b, lower=True)
    assert got.shape == (*np.broadcast_shapes(first, second), 3, 2)
    np.testing.assert_allclose(np.tril(a) @ got, np.broadcast_to(b, got.shape), atol=1e-12)


def test_a_zero_on_the_diagonal_is_singular_unless_it_counts_as_one() -> None:
    a = np.array([[2.0, 0.0], [1.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match="failed at diagonal 1"):
        ours.solve_triangular(a, np.ones(2), lower=True)
    np.testing.assert_array_equal(
        ours.solve_triangular(a, np.ones(2), lower=True, unit_diagonal=True), [1.0, 0.0]
    )


@pytest.mark.parametrize(("a", "b"), [("f", "d"), ("d", "D"), ("F", "d")])
def test_the_wider_dtype_of_matrix_and_right_side(rng: Any, a: str, b: str) -> None:
    x = ours.solve_triangular(np.eye(2, dtype=a), np.ones(2, b))
    assert x.dtype == np.result_type(a, b)


def test_no_rows() -> None:
    assert ours.solve_triangular(np.empty((0, 0)), np.empty((0, 2))).shape == (0, 2)
    assert ours.solve_triangular(np.empty((0, 0)), np.empty(0)).shape == (0,)


# ---------------------------------------------------------------- LU


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lu_is_scipys(rng: Any, n: int, dtype: Any) -> None:
    a = matrix(rng, n, n, dtype=dtype)
    before = a.copy()
    lu, pivots = ours.lu_compact(a), ours.lu_pivots(a)
    np.testing.assert_array_equal(a, before)
    assert lu.dtype == dtype and pivots.dtype == np.int32
    if n:
        want, want_pivots = scipy.linalg.lu_factor(a)
        np.testing.assert_allclose(lu, want, rtol=tolerance(dtype), atol=tolerance(dtype))
        np.testing.assert_array_equal(pivots, want_pivots)
    factors = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
    np.testing.assert_allclose(factors, a[ours.pivot_order(pivots)], atol=10 * tolerance(dtype))


def test_lu_of_a_singular_matrix_has_a_zero_pivot() -> None:
    """As in LAPACK, there is no division by it."""
    a = np.array([[0.0, 1.0], [0.0, 2.0]])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(ours.lu_compact(a), a)
        np.testing.assert_array_equal(ours.lu_pivots(a), [0, 1])


def test_the_first_of_equal_pivots_is_taken() -> None:
    np.testing.assert_array_equal(ours.lu_pivots(np.array([[1.0, 2.0], [-1.0, 1.0]])), [0, 1])


@pytest.mark.parametrize(
    ("pivots", "order"),
    [([], []), ([0, 1], [0, 1]), ([2, 2, 2], [2, 0, 1]), ([1, 2, 2], [1, 2, 0])],
)
def test_the_order_of_rows_after_all_exchanges(pivots: list[int], order: list[int]) -> None:
    np.testing.assert_array_equal(ours.pivot_order(np.array(pivots, np.int32)), order)


# ---------------------------------------------------------------- determinants


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_cofactor_matrix_of_a_regular_matrix(rng: Any, n: int, dtype: Any) -> None:
    a = matrix(rng, 3, n, n, dtype=dtype)
    want = np.linalg.det(a)[:, None, None] * np.swapaxes(np.linalg.inv(a), -1, -2)
    got = ours.cofactor(a)
    np.testing.assert_allclose(got, want, rtol=20 * tolerance(dtype), atol=20 * tolerance(dtype))
    assert got.dtype == dtype


def minors(a: Any) -> Any:
    """The cofactor matrix by its definition."""
    n = len(a)
    out = np.empty((n, n))
    for i, j in np.ndindex(n, n):
        rest = np.delete(np.delete(a, i, 0), j, 1)
        out[i, j] = (-1) ** (i + j) * (np.linalg.det(rest) if n > 1 else 1.0)
    return out


@pytest.mark.parametrize(
    "a",
    [
        [[0.0]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
        np.zeros((3, 3)),
        np.diag([1.0, 1.0, 0.0]),
        np.diag([1.0, 0.0, 0.0]),
    ],
)
def test_the_cofactor_matrix_of_a_singular_matrix(a: Any) -> None:
    """The gradient of the determinant is exact there (docs/kinks.md)."""
    np.testing.assert_allclose(ours.cofactor(np.array(a)), minors(np.array(a)), atol=1e-13)


def test_a_matrix_with_nan_or_inf_spoils_only_its_own_cofactors() -> None:
    a = np.stack([np.eye(2), np.full((2, 2), np.inf), [[np.nan, 0.0], [0.0, 1.0]]])
    got = ours.cofactor(a)
    np.testing.assert_array_equal(got[0], np.eye(2))
    assert np.isnan(got[1:]).all()


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (5, 3, 2)])
def test_singular_vectors_are_stacked(rng: Any, shape: Any) -> None:
    a = matrix(rng, *shape)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    got = ours.svd_vectors(a)
    np.testing.assert_array_equal(got[..., : shape[-2], :], u)
    np.testing.assert_array_equal(got[..., shape[-2] :, :], np.swapaxes(vh, -1, -2))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_singular_vectors_of_no_number(value: float) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        ours.svd_vectors(np.array([[1.0, value], [0.0, 1.0]]))


# ---------------------------------------------------------------- bands


def banded(a: Any, lower: int, upper: int) -> Any:
    n = len(a)
    ab = np.full((lower + upper + 1, n), np.nan, a.dtype)  # what lies outside is not read
    for i, j in np.ndindex(n, n):
        if -upper <= i - j <= lower:
            ab[upper + i - j, j] = a[i, j]
    return ab


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (1, 1), (2, 0), (0, 2), (1, 2), (3, 3)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_banded_systems(rng: Any, lower: int, upper: int, columns: Any) -> None:
    n = 6
    full = np.triu(np.tril(matrix(rng, n, n), upper), -lower)
    b = matrix(rng, n, *columns)
    got = ours.solve_banded(banded(full, lower, upper), b, lower, upper)
    np.testing.assert_allclose(got, np.linalg.solve(full, b), rtol=1e-9, atol=1e-9)
    assert got.shape == b.shape


def test_banded_elimination_exchanges_rows() -> None:
    """Without pivoting it would divide by zero."""
    a = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 1.0, 1.0]])
    b = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ours.solve_banded(banded(a, 1, 1), b, 1, 1), np.linalg.solve(a, b))


def test_a_singular_banded_matrix() -> None:
    a = np.array([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="singular matrix"):
        ours.solve_banded(banded(a, 1, 1), np.ones(2), 1, 1)
    out = np.empty((2, 1))
    assert ours.eliminate_bands(banded(a, 1, 1), np.ones((2, 1)), 1, 1, out) == 1


# ---------------------------------------------------------------- exponentials


@pytest.mark.parametrize("scale", [0.0, 1e-8, 1.0, 5.3, 5.4, 40.0])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_expm_is_scipys_on_both_sides_of_the_scaling(rng: Any, scale: float, dtype: Any) -> None:
    a = matrix(rng, 4, 4, dtype=dtype)
    a *= scale / np.abs(a).sum(axis=0).max()
    want = scipy.linalg.expm(a)
    np.testing.assert_allclose(ours.expm(a), want, rtol=1e-11, atol=1e-12 * np.abs(want).max())


def test_each_matrix_of_a_batch_is_scaled_by_itself(rng: Any) -> None:
    a = matrix(rng, 3, 2, 2) * np.array([1e-3, 1.0, 30.0])[:, None, None]
    got = ours.expm(a)
    for one, whole in zip(a, got):
        np.testing.assert_allclose(whole, scipy.linalg.expm(one), rtol=1e-10)
    assert ours.expm(np.empty((0, 2, 2))).shape == (0, 2, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_expm_keeps_the_dtype(dtype: Any) -> None:
    got = ours.expm(np.diag([0.0, 1.0]).astype(dtype))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, np.diag([1.0, np.e]), rtol=1e-6)


def test_expm_of_no_number_is_nan_of_its_matrix_alone() -> None:
    got = ours.expm(np.stack([np.zeros((2, 2)), np.full((2, 2), np.nan)]))
    np.testing.assert_allclose(got[0], np.eye(2), rtol=1e-15)
    assert np.isnan(got[1]).all()
