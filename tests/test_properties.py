"""Property tests of broadcasting and slicing for random shapes and bounds, compared with NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import s2s

QUICK = settings(max_examples=60, deadline=None, derandomize=True)
BACKENDS = ("loops", "python")


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Ignore recompilation warnings: one function is called with many shapes on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", s2s.errors.RecompilationWarning)
        yield


def mixed(x: Any, y: Any) -> Any:
    return np.sum(x * y * y - x)


MIXED = {b: s2s.value_and_grad(mixed, wrt=("x", "y"), backend=b) for b in BACKENDS}


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    kept = tuple(i for i, n in enumerate(shape) if n == 1)
    return g.sum(axis=kept, keepdims=True) if kept else g


@QUICK
@given(
    mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=4),
    st.integers(0, 1000),
)
def test_broadcasting(shapes: Any, seed: int) -> None:
    a, b = shapes.input_shapes
    rng = np.random.default_rng(seed)
    x, y = np.asarray(rng.normal(size=a)), np.asarray(rng.normal(size=b))
    whole = np.broadcast_shapes(a, b)
    ones = np.ones(whole)
    for backend in BACKENDS:
        value, (gx, gy) = MIXED[backend](x, y)
        np.testing.assert_allclose(value, mixed(x, y), atol=1e-12)
        np.testing.assert_allclose(gx, unbroadcast((y * y - 1.0) * ones, a), atol=1e-12)
        np.testing.assert_allclose(gy, unbroadcast(2.0 * x * y * ones, b), atol=1e-12)


@QUICK
@given(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.tuples(st.integers(0, 4)))
def test_shapes_that_do_not_meet(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            MIXED["loops"](np.zeros(a), np.zeros(b))


def sliced(x: Any, start: int, stop: int) -> Any:
    v = x[start:stop]
    return np.sum(v * v * v)


def strided(x: Any, start: int, stop: int, step: int) -> Any:
    return np.sum(x[start:stop:step] ** 2)


def written(x: Any, v: Any, start: int, stop: int, step: int) -> Any:
    y = x * 2.0
    y[start:stop:step] = v
    y[start:stop:step] += y[start:stop:step] * v
    return np.sum(y * y)


SLICED = {b: s2s.grad(sliced, backend=b) for b in BACKENDS}
STRIDED = {b: s2s.grad(strided, backend=b) for b in BACKENDS}
WRITTEN = {b: s2s.value_and_grad(written, wrt=("x", "v"), backend=b) for b in BACKENDS}

bounds = st.integers(-7, 7)
steps = st.sampled_from([1, 2, 3, -1, -2, -3])


@QUICK
@given(st.integers(0, 5), bounds, bounds)
def test_slices(n: int, start: int, stop: int) -> None:
    x = np.arange(1.0, n + 1.0)
    expected = np.zeros(n)
    expected[start:stop] = 3.0 * x[start:stop] ** 2
    for backend in BACKENDS:
        np.testing.assert_allclose(SLICED[backend](x, start, stop), expected)


@QUICK
@given(st.integers(0, 5), bounds, bounds, steps)
def test_strided_slices(n: int, start: int, stop: int, step: int) -> None:
    x = np.arange(1.0, n + 1.0)
    expected = np.zeros(n)
    expected[start:stop:step] = 2.0 * x[start:stop:step]
    for backend in BACKENDS:
        np.testing.assert_allclose(STRIDED[backend](x, start, stop, step), expected)


@QUICK
@given(st.integers(0, 5), bounds, bounds, steps)
def test_slices_written(n: int, start: int, stop: int, step: int) -> None:
    x, v = np.arange(1.0, n + 1.0), 0.7
    covered = np.zeros(n, dtype=bool)
    covered[start:stop:step] = True
    new = v + v * v
    expected = np.where(covered, 0.0, 8.0 * x)
    for backend in BACKENDS:
        value, (gx, gv) = WRITTEN[backend](x, v, start, stop, step)
        np.testing.assert_allclose(value, written(x, v, start, stop, step))
        np.testing.assert_allclose(gx, expected)
        np.testing.assert_allclose(gv, covered.sum() * 2.0 * new * (1.0 + 2.0 * v))


def picked(x: Any, i: int) -> Any:
    return x[i] * x[i]


PICKED = s2s.grad(picked, backend="loops")


@QUICK
@given(st.integers(0, 4), st.integers(-6, 6))
def test_an_index_wraps_or_raises(n: int, i: int) -> None:
    x = np.arange(1.0, n + 1.0)
    if -n <= i < n:
        expected = np.zeros(n)
        expected[i] = 2.0 * x[i]
        np.testing.assert_allclose(PICKED(x, i), expected)
    else:
        with pytest.raises(IndexError):
            PICKED(x, i)


def gathered(x: Any, k: Any) -> Any:
    y = x * 1.0
    y[k] = x[k] * x[k]
    return np.sum(y) + np.sum(x[k])


GATHERED = {b: s2s.grad(gathered, backend=b) for b in BACKENDS}


@QUICK
@given(st.integers(1, 5), st.lists(st.integers(-5, 4), max_size=6))
def test_repeated_indices(n: int, k: list[int]) -> None:
    assume(all(-n <= i < n for i in k))
    x, idx = np.arange(1.0, n + 1.0), np.array(k, dtype=np.int64)
    expected = np.ones(n)
    expected[idx] = 2.0 * x[idx]
    np.add.at(expected, idx, 1.0)
    for backend in BACKENDS:
        np.testing.assert_allclose(GATHERED[backend](x, idx), expected)
