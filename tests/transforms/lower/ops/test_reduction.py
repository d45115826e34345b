"""Reductions against NumPy: all sets of axes, keepdims, empty arrays, nan, float32."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.transforms.lower.harness import check, lowered, run

R = np.random.default_rng(3)
X = R.normal(size=(3, 4, 2))
AXES = [None, (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
FOLDS = ["sum", "prod", "mean", "max", "min", "var", "std"]


def reduction(name, **attrs):
    return lambda b, x: b.emit(name, x, **attrs)


def arrays():
    yield X
    yield X.astype("float32")
    yield X.transpose(2, 0, 1)


@pytest.mark.parametrize("name", FOLDS)
def test_all_axes(name):
    for axis, keepdims in itertools.product(AXES, (False, True)):
        extra = {"ddof": 0} if name in ("var", "std") else {}
        f = reduction(name, axis=axis, keepdims=keepdims, **extra)
        for x in arrays():
            tol = 1e-5 if x.dtype == "float32" else 1e-12
            check(f, lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x, tol=tol)


@pytest.mark.parametrize("name", ["any", "all", "count_nonzero"])
def test_of_truth(name):
    x = R.integers(0, 2, size=(3, 4)) * 1.0
    for axis, keepdims in itertools.product([None, (0,), (1,)], (False, True)):
        f = reduction(name, axis=axis, keepdims=keepdims)
        for y in (x, x == 1.0, x[:, :0].copy()):
            check(f, lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), y)


def test_ddof():
    for ddof in (0, 1, 5):
        f = reduction("var", axis=(0,), keepdims=False, ddof=ddof)
        check(f, lambda x: np.var(x, axis=0, ddof=ddof), X, tol=1e-12)


@pytest.mark.parametrize("dtype", ["int64", "bool", "int32"])
def test_integers_sum_to_int64(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    for axis in (None, (0,), (1,)):
        check(reduction("sum", axis=axis, keepdims=False), lambda x: np.sum(x, axis=axis), x)
        check(reduction("mean", axis=axis, keepdims=False), lambda x: np.mean(x, axis=axis), x)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_of_nothing(shape):
    x = np.ones(shape)
    axes = [None, (0,)] + [(1,)] * (len(shape) == 2)
    for name, axis in itertools.product(["sum", "prod", "mean"], axes):
        check(
            reduction(name, axis=axis, keepdims=False), lambda x: getattr(np, name)(x, axis=axis), x
        )
    for name, axis in itertools.product(["max", "min", "argmax"], axes):
        f = reduction(name, axis=axis, keepdims=False)
        empty = axis is None or shape[axis[0]] == 0
        if empty:
            with pytest.raises(ValueError, match="zero-size|empty"):
                run(f, x)
        else:
            check(f, lambda x: getattr(np, name)(x, axis=axis[0]), x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name):
    x = R.integers(0, 3, size=(4, 5)) * 1.0
    holes = x.copy()
    holes[1, 2] = holes[3, 4] = np.nan
    for y, axis in itertools.product((x, holes, x.astype(int), x > 1), (None, 0, 1)):
        axes = None if axis is None else (axis,)
        check(
            reduction(name, axis=axes, keepdims=False), lambda x: getattr(np, name)(x, axis=axis), y
        )


@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_is_extreme(name):
    x = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, -np.inf]])
    for axis in (None, (0,), (1,)):
        check(
            reduction(name, axis=axis, keepdims=False), lambda x: getattr(np, name)(x, axis=axis), x
        )


def test_long_float32_sum_keeps_its_digits():
    x = np.full(20_000, 0.1, "float32")
    got = run(reduction("sum", axis=None, keepdims=False), x)
    assert abs(float(got) - float(x.astype("float64").sum())) < 1e-3


def test_cumsum():
    for axis in (0, 1, 2):
        check(
            lambda b, x: b.emit("cumsum", x, axis=axis), lambda x: np.cumsum(x, axis), X, tol=1e-12
        )


def test_reduction_of_an_expression_is_one_nest():
    def f(b, x, y):
        return b.emit("sum", np.exp(x) * y + 1.0, axis=None, keepdims=False)

    check(f, lambda x, y: np.sum(np.exp(x) * y + 1.0), X, X, tol=1e-12)
    text = lowered(f, X, X).text
    assert "np.empty" not in text and text.count("for ") == 3


@pytest.mark.parametrize("like", [(), (4,), (1, 4), (3, 1), (3, 4), (1, 1), (1,)])
def test_unbroadcast(like):
    g = R.normal(size=(3, 4))

    def reference(g, x):
        lead = g.ndim - x.ndim
        axes = tuple(range(lead)) + tuple(
            lead + k for k in range(x.ndim) if x.shape[k] == 1 and g.shape[lead + k] != 1
        )
        return g.sum(axis=axes, keepdims=True).reshape(x.shape)

    x = np.ones(like) if like else 1.0
    check(
        lambda b, g, x: b.emit("unbroadcast", g, x),
        lambda g, x: reference(g, np.asarray(x))[()],
        g,
        x,
        tol=1e-12,
    )
