"""Bindings of LAPACK: letters of dtypes, copies, and versions by rank."""

# ruff: noqa: E402

from __future__ import annotations

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from s2s.kernels import linalg, registry
from s2s.kernels_numba import lapack, linalg_solve


@pytest.mark.parametrize("dtype, letter", [(np.float32, "s"), (np.float64, "d")])
def test_letters(dtype, letter) -> None:
    assert lapack._kind(np.zeros((1, 1), dtype)) == ord(letter)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 5), (4, 4)])
def test_copies_share_no_memory(shape) -> None:
    a = np.arange(float(np.prod(shape))).reshape(shape)
    turned, copied = lapack._transposed(a), lapack._copied(a)
    np.testing.assert_array_equal(turned, a.T)
    np.testing.assert_array_equal(copied, a)
    assert turned.flags.c_contiguous and copied.flags.c_contiguous
    assert not np.shares_memory(turned, a) and not np.shares_memory(copied, a)


def test_versions_by_rank() -> None:
    assert registry.compiled_form(linalg.solve, (2, 1, 1)) is linalg_solve._solve_vector
    assert registry.compiled_form(linalg.solve, (2, 2, 2)) is linalg_solve._solve
    assert registry.compiled_form(linalg.inv, (2, 2)) is linalg_solve._inv


def test_numba_finds_the_routine_of_a_name() -> None:
    @numba.njit
    def product(a):
        return 2.0 * linalg.det(a)

    assert product(np.array([[2.0, 1.0], [1.0, 3.0]])) == 10.0
