"""Linear systems, compiled: SciPy's results on both sides of each limit, and nothing beyond."""

# ruff: noqa: E402

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

pytest.importorskip("numba")

import s2s
from s2s.kernels_numba import linalg_solve as routines
from s2s.transforms.runtime import matrix_helpers

SIZES = (0, 1, 3, routines._MAX_LOOP_ROWS, routines._MAX_LOOP_ROWS + 1, 40)
RNG = np.random.default_rng(1)


def guarded(shape: Any, dtype: Any = np.float64) -> tuple[Any, Any]:
    """An array, and the memory around it."""
    count = int(np.prod(shape))
    around = np.full(count + 16, 77, dtype)
    return around[8 : 8 + count].reshape(shape), around


def untouched(around: Any) -> bool:
    return bool((around[:8] == 77).all() and (around[-8:] == 77).all())


@pytest.mark.parametrize("n", SIZES)
def test_systems(n) -> None:
    a, b = RNG.normal(size=(n, n)), RNG.normal(size=(n, 3))
    kept = a.copy()
    out, around = guarded((n, 3))
    assert routines._solve(a, b, out) == 0 and untouched(around)
    np.testing.assert_allclose(out, np.linalg.solve(a, b), rtol=1e-8, atol=1e-10)
    vector, around = guarded((n,))
    assert routines._solve_vector(a, b[:, 0].copy(), vector) == 0 and untouched(around)
    np.testing.assert_allclose(vector, out[:, 0], rtol=1e-8, atol=1e-10)
    inverse, around = guarded((n, n))
    assert routines._inv(a, inverse) == 0 and untouched(around)
    np.testing.assert_allclose(inverse @ a, np.eye(n), atol=1e-8)
    assert routines._det(a) == pytest.approx(np.linalg.det(a), rel=1e-8)
    sign, log = np.linalg.slogdet(a)
    assert routines._slogdet_sign(a) == sign and routines._slogdet_log(a) == pytest.approx(log)
    np.testing.assert_array_equal(a, kept)


@pytest.mark.parametrize("n", [n for n in SIZES if n])
def test_singular_systems_have_a_status(n) -> None:
    a = np.zeros((n, n))
    assert routines._solve(a, np.ones((n, 1)), np.empty((n, 1))) == 1
    assert routines._inv(a, np.empty((n, n))) == 1 and routines._det(a) == 0
    assert routines._slogdet_log(a) == -np.inf and routines._slogdet_sign(a) == 0
    assert routines._cholesky(-np.eye(n), np.empty((n, n))) == 1
    assert routines._solve_triangular(a, np.ones((n, 1)), 0, True, False, np.empty((n, 1))) == 1


@pytest.mark.parametrize("n", SIZES)
def test_factors(n) -> None:
    a = RNG.normal(size=(n, n))
    positive = a @ a.T + n * np.eye(n)
    low, around = guarded((n, n))
    assert routines._cholesky(positive, low) == 0 and untouched(around)
    np.testing.assert_allclose(low, np.linalg.cholesky(positive), rtol=1e-9, atol=1e-9)
    if n:
        lu, pivots = scipy.linalg.lu_factor(a)
        found, around = guarded((n, n))
        routines._lu_compact(a, found)
        places, more = guarded((n,), np.int32)
        routines._lu_pivots(a, places)
        assert untouched(around) and untouched(more)
        np.testing.assert_allclose(found, lu, rtol=1e-9, atol=1e-10)
        np.testing.assert_array_equal(places, pivots)


@pytest.mark.parametrize(
    "trans, lower, unit", [*itertools.product((0, 1), (False, True), (False, True))]
)
def test_triangular_systems(trans, lower, unit) -> None:
    for n, k in ((0, 2), (1, 1), (5, 3), (130, 9), (97, 8), (150, 2)):
        a = RNG.normal(size=(n, n)) / max(n, 1) + 2.0 * np.eye(n)
        b = RNG.normal(size=(n, k))
        out, around = guarded((n, k))
        assert routines._solve_triangular(a, b, trans, lower, unit, out) == 0 and untouched(around)
        expected = scipy.linalg.solve_triangular(a, b, trans, lower, unit) if n else b
        np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-10)


def test_the_first_zero_of_a_diagonal() -> None:
    a = np.diag([1.0, 2.0, 0.0, 0.0])
    assert routines._solve_triangular(a, np.ones((4, 1)), 0, True, False, np.empty((4, 1))) == 3
    assert routines._solve_triangular(a, np.ones((4, 1)), 0, True, True, np.empty((4, 1))) == 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_order_of_pivots(dtype) -> None:
    for n in (0, 1, 2, 7):
        for _ in range(5):
            pivots = RNG.integers(-n, max(n, 1), n).astype(dtype)
            out, around = guarded((n,), np.int64)
            routines._pivot_order(pivots, out)
            assert untouched(around)
            np.testing.assert_array_equal(out, matrix_helpers.pivot_order(pivots))


@pytest.mark.parametrize("bad", [3, 4, -4, 8, -9, 2**31 - 1, -(2**31)])
def test_pivots_out_of_range_write_nothing_elsewhere(bad) -> None:
    """The result holds only indices that are out of range."""
    for place in range(3):
        pivots = np.array([1, 2, 2], np.int32)
        pivots[place] = bad
        out, around = guarded((3,), np.int64)
        routines._pivot_order(pivots, out)
        assert untouched(around) and (out == 3).all()
        with pytest.raises(IndexError):
            matrix_helpers.pivot_order(pivots)


@pytest.mark.parametrize("trans", [0, 1])
def test_pivots_of_the_user_are_checked(trans) -> None:
    def solved(lu, pivots, b):
        return np.sum(scipy.linalg.lu_solve((lu, pivots), b, trans) ** 2)

    function = s2s.value_and_grad(solved, wrt="b", backend="numba")
    lu, pivots = scipy.linalg.lu_factor(RNG.normal(size=(4, 4)))
    lu, b = np.ascontiguousarray(lu), np.ones(4)
    value, _ = function(lu, pivots, b)
    assert value == pytest.approx(np.sum(scipy.linalg.lu_solve((lu, pivots), b, trans) ** 2))
    for bad in (4, 100_000_000, -5):
        wrong = pivots.copy()
        wrong[2] = bad
        with pytest.raises(IndexError):
            function(lu, wrong, b)


def test_bands() -> None:
    for n, lower, upper in ((1, 0, 0), (5, 1, 1), (8, 2, 1), (6, 0, 2), (7, 3, 0)):
        ab = RNG.normal(size=(lower + upper + 1, n))
        ab[upper] += 4.0
        b = RNG.normal(size=(n, 2))
        out, around = guarded((n, 2))
        assert routines._solve_banded(ab, b, lower, upper, out) == 0 and untouched(around)
        np.testing.assert_allclose(out, scipy.linalg.solve_banded((lower, upper), ab, b), rtol=1e-9)
    assert routines._solve_banded(np.zeros((1, 3)), np.ones((3, 1)), 0, 0, np.empty((3, 1))) == 1
