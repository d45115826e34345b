"""Shifts by any amount have NumPy's semantics on every backend."""

from __future__ import annotations

import numpy as np
import pytest

import s2s

BACKENDS = ["loops", "numba"]
PLACES = [0, 1, 7, 8, 9, 31, 32, 33, 62, 63, 64, 65, 100, 127]


def both_ways(x, n):
    return x << n, x >> n


def numbers(dtype):
    edges = np.iinfo(dtype)
    x, by = np.array([1, 5, 120, edges.min, edges.max], dtype), np.array(PLACES, dtype)
    if edges.min == 0:
        return x, by
    return np.append(x, -x), np.append(by, np.array([-1, -2, -64, edges.min], dtype))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint64", "uint8"])
def test_arrays(dtype, backend):
    x, by = numbers(dtype)
    f = s2s.function(both_ways, backend=backend)
    for n in (by, by[-1], by[:0]):
        for got, want in zip(f(x[:, None], n), both_ways(x[:, None], n)):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers(backend):
    f = s2s.function(both_ways, backend=backend)
    x, by = numbers("int64")
    for a in x:
        for n in by:
            want = both_ways(a, n)
            assert f(a, n) == want
            assert f(int(a), int(n)) == want  # an int has 64 bits, too


@pytest.mark.parametrize("backend", BACKENDS)
def test_counted(backend):
    def f(x, c):
        out = np.zeros((3, x.shape[0]), np.int64)
        for j in range(x.shape[0]):
            out[0, j], out[1, j], out[2, j] = 1 << j, c >> j, -3 << (x.shape[0] - 1 - j)
        return out

    for n in (0, 1, 63, 64, 65, 70):
        j, c = np.arange(n), -(2**63) + 1
        want = [np.int64(1) << j, np.int64(c) >> j, np.int64(-3) << j[::-1]]
        np.testing.assert_array_equal(s2s.function(f, backend=backend)(np.ones(n), c), want)


@pytest.mark.parametrize("by", PLACES)
def test_known_amounts_are_not_asked(by):
    def f(x):
        return (x << by) + (x >> by)

    x, _ = numbers("int64")
    g = s2s.function(f, backend="loops")
    np.testing.assert_array_equal(g(x), (x << by) + (x >> by))
    assert " else " not in g.lowered
