"""Gradients where exponentials overflow and underflow: user code compared with mpmath, and
activations, losses and layers compared with TensorFlow."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import s2s
import s2s.tf as tf

from ..scale import count, sample
from .saturation import CASES, FILE, FINITE, INPUTS, outcomes, spread

# ---------------------------------------------------------------- users' own code


def logistic(x: Any) -> Any:
    return np.sum(1 / (1 + np.exp(-x)))


def logistic_of_floats(x: Any) -> Any:
    return np.sum(1.0 / (1.0 + np.exp(-x)))


def logistic_by_power(x: Any) -> Any:
    return np.sum((1.0 + np.exp(-x)) ** -1)


def logistic_by_reciprocal(x: Any) -> Any:
    return np.sum(np.reciprocal(np.exp(-x) + 1.0))


def other_half(x: Any) -> Any:
    return np.sum(np.exp(x) / (1.0 + np.exp(x)))


def chosen_half(x: Any) -> Any:
    return np.sum(np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x))))


def softplus(x: Any) -> Any:
    return np.sum(np.log(1.0 + np.exp(x)))


def softplus_by_log1p(x: Any) -> Any:
    return np.sum(np.log1p(np.exp(x)))


def chosen_softplus(x: Any) -> Any:
    return np.sum(np.where(x > 30.0, x, np.log1p(np.exp(x))))


def negative_log(x: Any) -> Any:
    return np.sum(-np.log(1.0 / (1.0 + np.exp(-x))))


def silu(x: Any) -> Any:
    return np.sum(x / (1.0 + np.exp(-x)))


def logcosh(x: Any) -> Any:
    return np.sum(np.log(np.cosh(x)))


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += 1.0 / (1.0 + math.exp(-x[i]))
    return total


def softplus_in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += math.log(1.0 + math.exp(x[i]))
    return total


def _logistic(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _logistic_slope(x: Any) -> Any:
    return _logistic(x) * _logistic(-x)


def _logistic_bend(x: Any) -> Any:
    return _logistic_slope(x) * (_logistic(-x) - _logistic(x))


# By program: first and second derivative, and the bound up to which NumPy's value is not NaN.
ELEMENTWISE: dict[Callable[..., Any], tuple[Any, Any, float]] = {
    **dict.fromkeys(
        (logistic, logistic_of_floats, logistic_by_power, logistic_by_reciprocal, chosen_half,
         in_a_loop),
        (_logistic_slope, _logistic_bend, math.inf),
    ),
    other_half: (_logistic_slope, _logistic_bend, 88.0),
    **dict.fromkeys(
        (softplus, softplus_by_log1p, chosen_softplus, softplus_in_a_loop),
        (_logistic, _logistic_slope, math.inf),
    ),
    negative_log: (lambda x: -_logistic(-x), _logistic_slope, math.inf),
    silu: (
        lambda x: _logistic(x) + x * _logistic_slope(x),
        lambda x: 2 * _logistic_slope(x) + x * _logistic_bend(x),
        math.inf,
    ),
    logcosh: (mpmath.tanh, lambda x: mpmath.sech(x) ** 2, math.inf),
}  # fmt: skip


def points(n: int) -> np.ndarray:
    """Points from -1e4 to 1e4, dense where exponentials overflow, underflow or are near 1."""
    rng = np.random.default_rng(5)
    near = [c + d for c in (-745, -709, -104, -88, 0, 88, 709) for d in (-1.5, 0.0, 0.5, 1.5)]
    return np.array([*near, -1e4, 1e4, *rng.uniform(-1e4, 1e4, n), *rng.uniform(-40, 40, n)])


def exact(f: Any, x: np.ndarray) -> np.ndarray:
    with mpmath.workdps(40):
        return np.array([float(f(mpmath.mpf(float(v)))) for v in x])


def close(got: np.ndarray, want: np.ndarray, dtype: Any, ulps: float = 64) -> None:
    info = np.finfo(dtype)
    np.testing.assert_allclose(got, want, rtol=ulps * info.eps, atol=4 * float(info.tiny))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", ELEMENTWISE, ids=lambda f: f.__name__)
def test_beside_mpmath(f: Any, dtype: Any) -> None:
    first, second, last = ELEMENTWISE[f]
    x = points(count(20, 2000)).astype(dtype)
    x = x[x < last]
    with np.errstate(all="ignore"):
        slope = s2s.grad(f, backend="loops")(x)
        assert slope.dtype == dtype
        # Near a sign change of the derivative, digits cancel.
        spare = 400 if f in (silu, chosen_softplus) else 64
        at_zero = np.abs(exact(first, x)) > (1e-2 if f is silu else 0.0)
        close(slope[at_zero], exact(first, x)[at_zero], dtype, spare)
        np.testing.assert_allclose(slope, exact(first, x), rtol=1e-5, atol=1e-6)

        def along(x: Any, way: Any) -> Any:
            return np.sum(way * s2s.grad(f)(x))

        way = np.ones_like(x)
        bend = s2s.grad(along, backend="loops")(x, way)
        np.testing.assert_allclose(bend, exact(second, x), rtol=2e-5, atol=1e-6)
        pushed = s2s.jvp(f, (x,), (way,), backend="loops")[1]
        np.testing.assert_allclose(pushed, np.sum(exact(first, x)), rtol=1e-5, atol=1e-5)


def test_numba_agrees() -> None:
    x = points(40)
    for f in (logistic, softplus, chosen_half):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                s2s.grad(f)(x), exact(ELEMENTWISE[f][0], x), rtol=1e-13, atol=1e-300
            )


# ---------------------------------------------------------------- of several numbers


def logsumexp(x: Any) -> Any:
    return np.log(np.sum(np.exp(x)))


def logsumexp_of_rows(x: Any) -> Any:
    return np.sum(np.log(np.sum(np.exp(np.reshape(x, (1, -1))), axis=1)))


def logsumexp_kept(x: Any) -> Any:
    return np.sum(np.log(np.sum(np.exp(np.reshape(x, (1, -1))), axis=-1, keepdims=True)))


def logmeanexp(x: Any) -> Any:
    return np.log(np.mean(np.exp(x)))


def logaddexp(x: Any) -> Any:
    return np.log(np.exp(x[0]) + np.exp(x[1]) + np.exp(x[2]))


def by_builtin_sum(x: Any) -> Any:
    return np.log(sum([np.exp(x[0]), np.exp(x[1]), np.exp(x[2])]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "f",
    [logsumexp, logsumexp_of_rows, logsumexp_kept, logmeanexp, logaddexp, by_builtin_sum],
    ids=lambda f: f.__name__,
)
def test_logsumexp_beside_mpmath(f: Any, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    slope = s2s.grad(f, backend="loops")
    for _ in range(count(30, 1000)):
        middle = rng.choice([0.0, 10 ** rng.uniform(0, 4) * rng.choice([-1, 1])])
        x = (middle + rng.normal(size=3) * rng.choice([1.0, 30.0])).astype(dtype)
        with mpmath.workdps(40):
            e = [mpmath.exp(mpmath.mpf(float(v))) for v in x]
            want = [float(v / sum(e)) for v in e]
        with np.errstate(all="ignore"):
            close(slope(x), np.array(want), dtype, 200)


def softmax(x: Any) -> Any:
    e = np.exp(x)
    return np.sum(e / np.sum(e) * np.array([1.0, 2.0, 4.0]))


def test_softmax_where_its_value_is_a_number() -> None:
    slope = s2s.grad(softmax, backend="loops")
    for middle in (-700.0, -300.0, 0.0, 300.0, 700.0):
        x = middle + np.array([0.5, -1.0, 0.0])
        with mpmath.workdps(40):
            e = [mpmath.exp(mpmath.mpf(v)) for v in x]
            p = [v / sum(e) for v in e]
            mean = sum(a * b for a, b in zip(p, (1, 2, 4)))
            want = [float(a * (b - mean)) for a, b in zip(p, (1, 2, 4))]
        np.testing.assert_allclose(slope(x), want, rtol=1e-12)


def test_nan_stays_nan() -> None:
    with np.errstate(all="ignore"):
        for f in (logistic, softplus, logsumexp, other_half):
            assert np.isnan(s2s.grad(f, backend="loops")(np.array([np.nan]))).all(), f.__name__
        assert np.isnan(s2s.grad(other_half, backend="loops")(np.array([1000.0]))).all()
        assert np.isnan(s2s.grad(softmax, backend="loops")(np.array([1000.0, 0.0, 1.0]))).all()


# ---------------------------------------------------------------- beside TensorFlow

ORACLE = json.loads(FILE.read_text(encoding="utf-8"))["cases"]


def test_oracle_is_complete() -> None:
    assert list(ORACLE) == list(CASES), "run python -m tests.attack.saturation"


# TensorFlow's selu computes exp(x) - 1, which is 0 near 0.
NEAR_ZERO = ("selu",)


@pytest.mark.parametrize("name", sample(list(CASES), 30))
def test_beside_tensorflow(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Value and gradient are equal wherever TensorFlow's is not NaN."""
    monkeypatch.setenv("S2S_BACKEND", "loops")
    with np.errstate(all="ignore"):
        found = outcomes(tf, tmp_path, [name])[name]
    for at, (got, want) in enumerate(zip(found, ORACLE[name], strict=True)):
        inputs = [INPUTS[at]] * len(want[1]) if CASES[name][1] else INPUTS
        for what, g, w in zip(("value", "gradient"), got, want):
            given = inputs if len(w) == len(inputs) else [INPUTS[at]] * len(w)
            for x, ours, theirs in zip(given, g, w, strict=True):
                if math.isnan(theirs) or (name in NEAR_ZERO and abs(x) < 1e-6):
                    continue
                near = ours == theirs or abs(ours - theirs) <= 2e-6 + 1e-4 * abs(theirs)
                assert near, f"{what} at {x}: {ours}, TensorFlow {theirs}"
                if x in FINITE and math.isfinite(theirs):
                    assert math.isfinite(ours)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_parameters_of_a_layer_normalization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")
    layer = tf.keras.layers.LayerNormalization()
    for v in FINITE:
        x = tf.constant(spread(v, (1, 3)))
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(layer(x) * tf.constant([[1.0, 2.0, 4.0]]))
        for slope in tape.gradient(total, layer.trainable_variables):
            assert np.isfinite(np.asarray(slope)).all(), v
