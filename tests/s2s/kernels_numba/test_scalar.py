"""Functions of the runtime, compiled: what the plain ones compute, at the ends of the range."""

# ruff: noqa: E402

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

import s2s.kernels_numba.scalar  # noqa: F401
from s2s import kernels

MOST, LEAST = 2**63 - 1, -(2**63)
INTEGERS = (LEAST, LEAST + 1, -7, -1, 0, 1, 2, 7, MOST - 1, MOST)


@numba.njit(error_model="numpy")
def integers(a, b, c):
    return (
        kernels.floor_divide(a, b), kernels.remainder(a, b), kernels.fmod(a, b),
        kernels.trip_count(a, b, c), kernels.natural_power(a, c),
    )  # fmt: skip


def test_integers() -> None:
    with np.errstate(all="ignore"):
        for a, b in itertools.product(map(np.int64, INTEGERS), repeat=2):
            for c in (1, 3, -1, -2, MOST, LEAST):
                found = integers(a, b, np.int64(c))
                assert found[:3] == (np.floor_divide(a, b), np.remainder(a, b), np.fmod(a, b))
                assert found[3] == kernels.trip_count(a, b, c)
                assert found[3] == min(len_of(range(int(a), int(b), c)), MOST)
                if 0 <= c < 4:
                    assert found[4] == kernels.natural_power(a, c)


def len_of(r: range) -> int:
    if not r:
        return 0
    return (r[-1] - r[0]) // r.step + 1


@numba.njit(error_model="numpy")
def bounds(given, i, n, step):
    return kernels.slice_start(given, i, n, step), kernels.slice_stop(given, i, n, step)


def test_bounds_of_slices() -> None:
    for i, n, step in itertools.product(range(-7, 8), range(5), (-2, -1, 1, 3)):
        for given in (True, False):
            found = bounds(given, i, n, step)
            assert found == (
                kernels.slice_start(given, i, n, step), kernels.slice_stop(given, i, n, step),
            )  # fmt: skip
            start, _, _ = slice(i if given else None, None, step).indices(n)
            _, stop, _ = slice(None, i if given else None, step).indices(n)
            assert found == (start, stop)


@numba.njit(error_model="numpy")
def reals(x, y):
    return (
        kernels.floor_divide(x, y), kernels.remainder(x, y), kernels.fmod(x, y),
        kernels.float_power(abs(x), y), kernels.heaviside(x, y), kernels.cbrt(x),
        kernels.sinc(x), kernels.erf(x), kernels.erfc(x),
    )  # fmt: skip


def test_reals() -> None:
    values = (0.0, -0.0, 1.0, -2.5, 7.25, 1e300, -1e-300, math.inf, -math.inf, math.nan)
    names = ("floor_divide", "remainder", "fmod", None, "heaviside", "cbrt", "sinc", "erf", "erfc")
    with np.errstate(all="ignore"):
        for x, y in itertools.product(map(np.float64, values), repeat=2):
            for name, found in zip(names, reals(x, y)):
                if name is None:
                    continue
                plain = getattr(kernels, name)
                expected = plain(x, y) if name in names[:5] else plain(x)
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300, err_msg=name)


@numba.njit
def reserved(x, used, more):
    return kernels.reserve(x, used, more)


def test_capacity() -> None:
    x = np.arange(3.0)
    assert reserved(x, 1, 2).shape == (3,)
    longer = reserved(x, 3, 1)
    assert longer.shape == (16,) and (longer[:3] == x).all()
    for more in (2**60 + 1, 2**62, MOST - 3, MOST):
        with pytest.raises(MemoryError):
            reserved(x, 1, more)
        with pytest.raises(MemoryError):
            kernels.reserve(x, 1, more)


@numba.njit
def product(swap_a, swap_b, alpha, a, b, beta, c):
    kernels.gemm(swap_a, swap_b, alpha, a, b, beta, c)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_products(dtype) -> None:
    rng = np.random.default_rng(0)
    for m, n, k in ((3, 4, 5), (20, 10, 30), (2, 3, 0), (1, 1, 1), (0, 2, 3)):
        for swap_a, swap_b in itertools.product((False, True), repeat=2):
            a, b = (rng.normal(size=s).astype(dtype) for s in ((m, k), (k, n)))
            c = np.full((m, n), np.nan, dtype)
            for beta in (0, 2):
                expected = -a @ b + (beta * c if beta else 0)
                x, y = (
                    np.ascontiguousarray(z.T) if s else z for z, s in ((a, swap_a), (b, swap_b))
                )
                product(swap_a, swap_b, dtype(-1), x, y, dtype(beta), c)
                np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-5)


@numba.njit
def gathered(a, rows, columns, b, add, c):
    kernels.gemm_at(a, rows, columns, b, add, c)


def test_indexed_products() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 5)), rng.normal(size=(3, 2))
    rows, columns = np.array([0, 7, 9]), np.array([1, 0, 10])
    for add in (True, False):
        c, expected = np.ones((3, 2)), np.ones((3, 2))
        gathered(a, rows, columns, b, add, c)
        kernels.gemm_at(a, rows, columns, b, add, expected)
        np.testing.assert_allclose(c, expected)


def test_lent_arrays_are_read_only() -> None:
    @numba.njit
    def write(a: Any) -> None:
        kernels.lent(a)[0] = 1.0

    with pytest.raises(numba.core.errors.TypingError):
        write(np.zeros(3))
