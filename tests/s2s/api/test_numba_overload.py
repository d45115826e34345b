"""Gradients called in users' `@njit` code."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import s2s
from s2s.runtime import block_pool

numba = pytest.importorskip("numba")

scale = 2.0
offsets = np.array([1.0, 2.0, 3.0])


class Params(NamedTuple):
    W: np.ndarray
    b: float


@s2s.grad
def loss(x, c=1.0):
    return (x * x).sum() * c * scale


@s2s.value_and_grad(wrt=("x", "y"))
def product(x, y):
    return (x * offsets).sum() * y


@s2s.grad
def affine(p, x):
    return (p.W * x).sum() + p.b


@s2s.function
def twice(x):
    return x * 2.0


def test_scalars_arrays_and_defaults():
    @numba.njit
    def user(x):
        return loss(x), loss(x, 3.0), loss(x, c=2.0), twice(1.5)

    a, b, c, d = user(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(a, [4.0, 8.0])
    np.testing.assert_array_equal(b, [12.0, 24.0])
    np.testing.assert_array_equal(c, [8.0, 16.0])
    assert d == 3.0


def test_values_and_tuples_of_gradients():
    @numba.njit
    def user(x, y):
        value, (x_bar, y_bar) = product(x, y)
        return value, x_bar, y_bar

    value, x_bar, y_bar = user(np.ones(3), 2.0)
    assert (value, y_bar) == (12.0, 6.0)
    np.testing.assert_array_equal(x_bar, [2.0, 4.0, 6.0])


def test_namedtuples():
    @numba.njit
    def user(p, x):
        g = affine(p, x)
        return g.W, g.b

    W_bar, b_bar = user(Params(np.ones(2), 1.0), np.array([3.0, 4.0]))
    np.testing.assert_array_equal(W_bar, [3.0, 4.0])
    assert b_bar == 1.0


def test_in_prange():
    @numba.njit(parallel=True)
    def user(xs):
        out = np.empty_like(xs)
        for i in numba.prange(xs.shape[0]):
            out[i] = loss(xs[i])
        return out

    xs = np.arange(40.0).reshape(10, 4)
    np.testing.assert_allclose(user(xs), 4 * xs)


def test_in_a_loop():
    @numba.njit
    def descend(x, steps):
        for _ in range(steps):
            x = x - 0.1 * loss(x)
        return x

    np.testing.assert_allclose(descend(np.ones(3), 50), np.zeros(3), atol=1e-10)


def test_a_refusal_names_what_is_wrong():
    @s2s.grad
    def bad(x):
        return open(x)

    @numba.njit
    def user(x):
        return bad(x)

    with pytest.raises(Exception, match="open"):
        user(1.0)


def test_integers_are_refused():
    @numba.njit
    def user(n):
        return loss(n)

    with pytest.raises(Exception, match="x is int"):
        user(3)


# ---------------------------------------------------------------- the loop nests of s2s


@s2s.value_and_grad(wrt=("x", "y"))
def bell(x, y):
    return np.sum(np.exp(-x * x) * y)


@numba.njit
def bells(x, y):
    return bell(x, y)


def test_loop_nests_are_those_of_the_default_back_end():
    """Numba has no vectorised exponential function."""
    x = np.linspace(0.0, 1.0, 100)
    value, bars = bells(x, x)
    expected, right = bell(x, x)
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(bars, right, rtol=1e-12)
    (code,) = bells.inspect_llvm().values()
    assert "s2s.alloc" in code and re.search(r"fmul.*<[48] x double>", code)


@pytest.mark.parametrize("sizes", [(3, 3), (3, 1), (1, 3), (0, 0), (1, 0)])
def test_sizes_are_those_of_each_call(sizes):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=n) for n in sizes)
    value, bars = bells(x, y)
    expected, right = s2s.value_and_grad(bell.python, wrt=("x", "y"), backend="python")(x, y)
    assert value == pytest.approx(expected)
    for found, bar in zip(bars, right, strict=True):
        np.testing.assert_allclose(found, bar)


def test_sizes_that_do_not_fit_are_errors():
    with pytest.raises(ValueError):
        bells(np.ones(3), np.ones(4))


def test_layouts_readonly_arrays_and_precisions():
    @numba.njit
    def of_frozen():
        return bell(offsets, offsets)

    x = np.linspace(0.0, 1.0, 6)
    frozen = x.copy()
    frozen.flags.writeable = False
    expected = bell(x, x)
    for given in (frozen, np.repeat(x, 2)[::2], x[::-1][::-1]):
        value, bars = bells(given, x)
        assert value == pytest.approx(expected[0])
        np.testing.assert_allclose(bars, expected[1])
    value, bars = bells(x.astype(np.float32), x.astype(np.float32))
    assert value == pytest.approx(expected[0], rel=1e-5) and bars[0].dtype == np.float32
    assert of_frozen()[0] == pytest.approx(bell(offsets, offsets)[0])

    @s2s.grad
    def total(m):
        return np.sum(m * m)

    @numba.njit
    def user(m):
        return total(m)

    m = np.arange(6.0).reshape(2, 3)
    for given in (m, np.asfortranarray(m), m.T, m[:, ::2]):
        np.testing.assert_array_equal(user(given), 2 * given)


def test_arrays_that_are_written():
    @s2s.function
    def shift(x, y):
        for i in range(x.shape[0]):
            x[i] = y[i] + 1.0
        return x

    @numba.njit
    def user(x, y):
        return shift(x, y)

    x = np.zeros(5)
    assert np.shares_memory(user(x, np.arange(5.0)), x)
    np.testing.assert_array_equal(x, np.arange(1.0, 6.0))
    with pytest.raises(ValueError, match="shift writes into an array that overlaps another"):
        user(x[1:], x[:-1])
    np.testing.assert_array_equal(x, np.arange(1.0, 6.0))
    user(x[3:], x[:2])
    np.testing.assert_array_equal(x, [1, 2, 3, 2, 3])
    columns = np.zeros((3, 2))
    user(columns[:, 0], columns[:, 1])
    np.testing.assert_array_equal(columns, [[1, 0]] * 3)
    with pytest.raises(ValueError, match="overlaps another"):
        user(columns[::2, 0], columns[:2, 0])
    (whole, strided) = user.inspect_llvm().values()
    assert "s2s.apart" in whole and "s2s.apart" not in strided


def test_loops_on_several_threads():
    @s2s.grad(parallel=True)
    def waves(x):
        return np.sum(np.exp(-x * x) * np.sin(x))

    @numba.njit
    def user(x):
        return waves(x)

    @numba.njit(parallel=True)
    def rows(xs):
        out = np.empty_like(xs)
        for i in numba.prange(xs.shape[0]):
            out[i] = waves(xs[i])
        return out

    x = np.linspace(0.0, 1.0, 40000)
    np.testing.assert_allclose(user(x), waves(x), rtol=1e-12, atol=1e-14)
    (code,) = user.inspect_llvm().values()
    assert "s2s_parallel_for" in code
    xs = np.random.default_rng(0).normal(size=(8, 5000))
    np.testing.assert_allclose(rows(xs), np.stack([waves(row) for row in xs]), atol=1e-12)


def test_generators_and_records():
    @s2s.value_and_grad
    def noisy(x, rng):
        return np.sum(x * rng.normal(size=x.shape[0]))

    @s2s.grad(wrt=("c",))
    def energy(bodies, c):
        total = 0.0
        for i in range(bodies.shape[0]):
            total += bodies[i].m * bodies[i].v ** 2 * c
        return total

    @numba.njit
    def user(x, rng, bodies):
        return noisy(x, rng), energy(bodies, 2.0)

    bodies = np.ones(3, np.dtype([("m", float), ("v", float)]))
    bodies["v"] = [1.0, 2.0, 3.0]
    (value, x_bar), (c_bar,) = user(np.ones(4), np.random.default_rng(1), bodies)
    drawn = np.random.default_rng(1).normal(size=4)
    assert value == pytest.approx(drawn.sum()) and c_bar == pytest.approx(14.0)
    np.testing.assert_allclose(x_bar, drawn)
    (code,) = user.inspect_llvm().values()
    assert "s2s.alloc" in code


def test_errors_reach_the_caller():
    @s2s.grad
    def element(x, k):
        return np.exp(x)[k]

    @numba.njit
    def user(x, k):
        return element(x, k)

    x = np.ones(4000)
    np.testing.assert_array_equal(user(x, 1).nonzero()[0], [1])
    gc.collect()
    before = block_pool.usage()["in_use"]
    for _ in range(5):
        user(x, 2)
        with pytest.raises(IndexError):
            user(x, 4000)
    gc.collect()
    assert block_pool.usage()["in_use"] == before


def test_threads():
    @numba.njit(nogil=True)
    def user(x, n):
        for _ in range(n):
            _, (x_bar, _) = bell(x, x)
        return x_bar

    xs = [np.linspace(0.0, 1.0, 3000 + i) for i in range(8)]
    expected = [user(x, 1) for x in xs]
    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: user(xs[i], 200)})) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, x_bar in enumerate(expected):
        np.testing.assert_array_equal(found[i], x_bar)


PROGRAM = """
import sys
import numba, numpy as np, s2s

@s2s.grad
def product(x, w):
    return np.sum(np.tanh(x @ w))

@s2s.grad
def bell(x):
    return np.sum(np.exp(-x * x))

@numba.njit(cache=True)
def user(x):
    return bell(x)

@numba.njit(cache=True)
def other(x, w):
    return product(x, w)

x = np.linspace(0.0, 1.0, 5000)
g = user(x)
m = other(np.eye(3), np.eye(3))
print(np.allclose(g, -2 * x * np.exp(-x * x)), np.allclose(np.diag(m), 1 / np.cosh(1) ** 2))
print(sum(user.stats.cache_hits.values()))
"""


def test_functions_of_users_that_numba_caches(tmp_path: Path):
    """Another process would not find the kernel's module: Numba says that it does not cache them,
    and the kernels are cached by s2s."""
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {
        **os.environ, "S2S_CACHE_DIR": str(tmp_path / "own"), "S2S_BACKEND": "numba",
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
    }  # fmt: skip
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.splitlines())
        assert done.stderr.count("Cannot cache compiled function") == 2
    assert found == 2 * [["True True", "0"]]
