"""Less common losses: values by formulas, gradients, extreme inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.losses import CosineSimilarity, Hinge, KLDivergence, LogCosh, Poisson, SquaredHinge
from s2s.losses.losses_rare import of_length_one, signs

SIGNS = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
COUNTS = np.array([[0.0, 2.0, 5.0], [1.0, 1.0, 3.0]])
P = np.array([[0.4, 0.3, 1.5], [0.2, -2.0, -0.7]])
RATES = np.abs(P) + 0.1
MEASURES = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
OTHERS = np.array([[0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])

CASES: list[tuple[Any, Any, Any, Any]] = [
    (Hinge, SIGNS, P, lambda y, p: max(1 - y * p, 0.0)),
    (SquaredHinge, SIGNS, P, lambda y, p: max(1 - y * p, 0.0) ** 2),
    (LogCosh, SIGNS, P, lambda y, p: math.log(math.cosh(p - y))),
    (Poisson, COUNTS, RATES, lambda y, p: p - y * math.log(p + 1e-7)),
]


@pytest.mark.parametrize("make, y, p, formula", CASES)
def test_elementwise(make: Any, y: Any, p: Any, formula: Any) -> None:
    def mean(p: Any) -> Any:
        return np.array([[formula(a, b) for a, b in zip(*rows)] for rows in zip(y, p)]).mean(1)

    np.testing.assert_allclose(make(reduction=None)(y, p), mean(p), rtol=1e-12)
    np.testing.assert_allclose(make("sum")(y, p, np.array([2.0, 3.0])), mean(p) @ [2, 3])
    gradient = s2s.grad(lambda p: make()(y, p), backend="loops")(p)
    for index in np.ndindex(p.shape):
        step = np.zeros(p.shape)
        step[index] = 1e-6
        want = (mean(p + step).mean() - mean(p - step).mean()) / 2e-6
        np.testing.assert_allclose(gradient[index], want, rtol=1e-6, atol=1e-9)
    assert make()(y.astype(np.float32), p.astype(np.float32)).dtype == np.float32


def test_divergence() -> None:
    want = [
        sum(a * math.log(a / b) for a, b in zip(p, q))
        for p, q in zip(MEASURES.tolist(), OTHERS.tolist())
    ]
    np.testing.assert_allclose(KLDivergence(None)(MEASURES, OTHERS), want)
    np.testing.assert_array_equal(KLDivergence(None)(MEASURES, MEASURES), [0.0, 0.0])
    gradient = s2s.grad(lambda q: KLDivergence("sum")(MEASURES, q), backend="loops")(OTHERS)
    np.testing.assert_allclose(gradient, -MEASURES / OTHERS)
    zero = KLDivergence()(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]))
    assert np.isfinite(zero) and zero > 15.0


def test_cosine_similarity() -> None:
    x, y = np.array([[3.0, 0.0], [4.0, 1.0]]), np.array([[6.0, 1.0], [8.0, 0.0]])
    np.testing.assert_allclose(CosineSimilarity(axis=0, reduction=None)(x, y), [-1.0, 0.0])
    by_rows = [-18 / (3 * math.sqrt(37)), -32 / (math.sqrt(17) * 8)]
    np.testing.assert_allclose(CosineSimilarity(reduction=None)(x, y), by_rows)
    np.testing.assert_allclose(CosineSimilarity(reduction="none")(x, x * 1e-6), [-1.0, -1.0])
    np.testing.assert_array_equal(CosineSimilarity(reduction=None)(x, 0.0 * x), [0.0, 0.0])
    gradient = s2s.grad(lambda p: CosineSimilarity(reduction="sum")(x, p), backend="loops")(y)
    for i, j in np.ndindex(2, 2):  # along a unit vector: (u - v (u . v)) / |y|
        u, v = x[i] / np.hypot(*x[i]), y[i] / np.hypot(*y[i])
        np.testing.assert_allclose(gradient[i, j], -(u - v * (u @ v))[j] / np.hypot(*y[i]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_predictions(dtype: str) -> None:
    y = np.array([[1.0, -1.0, 1.0]], dtype)
    p = np.array([[1e4, 1e4, -1e4]], dtype)
    np.testing.assert_allclose(LogCosh()(y, p), (9999 + 10001 + 10001) / 3 - math.log(2), rtol=1e-6)
    np.testing.assert_allclose(Hinge()(y, p), 20002 / 3, rtol=1e-6)

    def total(p: Any) -> Any:
        return LogCosh()(y, p) + Hinge()(y, p) + SquaredHinge()(y, p) + Poisson()(y, p * p)

    gradient = s2s.grad(total, backend="loops")(p)
    assert gradient.dtype == dtype and np.all(np.isfinite(gradient))
    directions = s2s.grad(lambda p: CosineSimilarity()(y, p), backend="loops")(
        np.zeros((1, 3), dtype)
    )
    assert np.all(np.isfinite(directions))


def test_hinge_at_its_corner() -> None:
    """The derivative at margin 0 is that of the linear part, as in TensorFlow."""
    gradient = s2s.grad(lambda p: Hinge()(np.ones((1, 1)), p), backend="loops")(np.ones((1, 1)))
    np.testing.assert_array_equal(gradient, [[-1.0]])


def test_targets_of_zeros_and_ones_become_signs() -> None:
    np.testing.assert_array_equal(signs(np.array([0.0, 1.0])), [-1.0, 1.0])
    np.testing.assert_array_equal(signs(np.array([-1.0, 1.0])), [-1.0, 1.0])
    np.testing.assert_array_equal(signs(np.array([1.0, 1.0])), [1.0, 1.0])
    bits = np.where(SIGNS > 0, 1, 0)
    assert Hinge()(bits, P) == Hinge()(SIGNS, P)


def test_vectors_of_length_one() -> None:
    np.testing.assert_allclose(
        of_length_one(np.array([[3.0, 4.0], [0.0, 0.0]]), -1), [[0.6, 0.8], [0.0, 0.0]]
    )


def test_shapes_and_options() -> None:
    for make in (Hinge, KLDivergence, LogCosh):
        with pytest.raises(ValueError, match="y_true has shape"):
            make()(np.ones((2, 3)), np.ones(2))
        with pytest.raises(ValueError, match="no reduction 'average'"):
            make("average")
        assert make("sum").reduction == "sum" and make(name="mine").name == "mine"
        assert make(None)(np.ones((0, 3)), np.ones((0, 3))).shape == (0,)
