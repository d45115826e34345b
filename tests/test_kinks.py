"""The documented conventions where a function has no derivative."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import activations

INF = float("inf")


def absolute(x: Any) -> Any:
    return abs(x)


def numpy_absolute(x: Any) -> Any:
    return np.abs(x)


def maximum_tie(x: Any) -> Any:
    return np.maximum(x, 1.0)


def minimum_tie(x: Any) -> Any:
    return np.minimum(x, 1.0)


def builtin_max_tie(x: Any) -> Any:
    return max(x, 1.0)


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def where_relu(x: Any) -> Any:
    return np.where(x > 0.0, x, 0.0)


def clip_low(x: Any) -> Any:
    return np.clip(x, 1.0, 3.0)


def clip_high(x: Any) -> Any:
    return np.clip(x, -3.0, 1.0)


def root(x: Any) -> Any:
    return np.sqrt(x)


def guarded_root(x: Any) -> Any:
    return np.where(x > 0.0, np.sqrt(x), 0.0)


def root_times_zero(x: Any) -> Any:
    return np.sqrt(x) * 0.0


def square(x: Any) -> Any:
    return x**2


def cube_float(x: Any) -> Any:
    return x**3.0


def power_zero(x: Any) -> Any:
    return x**0


def power_itself(x: Any) -> Any:
    return x**x


def exponent_at_zero(x: Any) -> Any:
    return 0.0**x


def sign(x: Any) -> Any:
    return np.sign(x) * 3.0


def floor(x: Any) -> Any:
    return np.floor(x)


def rounded(x: Any) -> Any:
    return np.round(x) + round(x)


def compared(x: Any) -> Any:
    return (x > 1.0) * 2.0


def math_floor(x: Any) -> Any:
    return math.floor(x) * 1.0 + math.ceil(x)


SCALARS = [
    (absolute, 0.0, 0.0), (numpy_absolute, 0.0, 0.0), (maximum_tie, 1.0, 0.5),
    (minimum_tie, 1.0, 0.5), (builtin_max_tie, 1.0, 0.5), (relu, 0.0, 0.5), (where_relu, 0.0, 0.0),
    (clip_low, 1.0, 1.0), (clip_high, 1.0, 1.0), (root, 0.0, INF), (guarded_root, 0.0, 0.0),
    (root_times_zero, 0.0, 0.0), (square, 0.0, 0.0), (cube_float, 0.0, 0.0), (power_zero, 0.0, 0.0),
    (exponent_at_zero, 2.0, 0.0), (exponent_at_zero, 0.0, 0.0), (power_itself, 0.0, 0.0),
    (sign, 0.0, 0.0), (floor, 2.0, 0.0), (rounded, 0.5, 0.0), (compared, 1.0, 0.0),
    (math_floor, 2.0, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize(
    ("f", "x", "expected"), SCALARS, ids=[f"{f.__name__}-{x}" for f, x, _ in SCALARS]
)
def test_convention(f: Callable[..., Any], x: float, expected: float, backend: str) -> None:
    with np.errstate(all="ignore"):
        value, gradient = s2s.value_and_grad(f, backend=backend)(x)
        assert value == f(x)
    assert gradient == expected


def root_of_square(x: Any) -> Any:
    return (x * x) ** 0.5


def root_of_zero(x: Any) -> Any:
    return (x - x) ** x


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize(("f", "x"), [(root_of_square, 0.0), (root_of_zero, 0.5)])
def test_an_infinite_cotangent_times_zero_is_nan(f: Any, x: float, backend: str) -> None:
    """As in JAX.  From exponent 1 on, the partial at base 0 is finite."""
    with np.errstate(all="ignore"):
        assert math.isnan(s2s.grad(f, backend=backend)(x))
        assert s2s.grad(root_of_zero, backend=backend)(2.0) == 0.0


def largest(x: Any) -> Any:
    return np.max(x)


def smallest(x: Any) -> Any:
    return np.min(x, axis=0).sum()


def pairwise(x: Any) -> Any:
    return np.sum(np.maximum(x, x))


def norm_of_nothing(x: Any) -> Any:
    return np.linalg.norm(x)


def product_of_zeros(x: Any) -> Any:
    return np.prod(x)


ARRAYS = [
    (largest, [2.0, 1.0, 2.0], [0.5, 0.0, 0.5]),
    (smallest, [[1.0, 3.0], [1.0, 2.0]], [[0.5, 0.0], [0.5, 1.0]]),
    (pairwise, [1.0, 2.0], [1.0, 1.0]),
    (norm_of_nothing, [0.0, 0.0], [0.0, 0.0]),
    (product_of_zeros, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    (product_of_zeros, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize(("f", "x", "expected"), ARRAYS)
def test_array_convention(f: Callable[..., Any], x: Any, expected: Any, backend: str) -> None:
    with np.errstate(all="ignore"):
        gradient = s2s.grad(f, backend=backend)(np.array(x))
    np.testing.assert_array_equal(gradient, np.array(expected))


@pytest.mark.parametrize(
    ("name", "at", "slopes"),
    [
        ("relu", [0.0, -0.0], [0.0, 0.0]),
        ("relu6", [0.0, 6.0], [0.0, 0.0]),
        ("leaky_relu", [0.0], [0.2]),
        ("elu", [0.0, 100.0], [1.0, 1.0]),
        ("hard_sigmoid", [-3.0, 3.0], [0.0, 0.0]),
    ],
)
def test_activations_have_tensorflows_derivatives(
    name: str, at: list[float], slopes: list[float]
) -> None:
    activation = getattr(activations, name)
    gradient = s2s.grad(lambda x: np.sum(activation(x)), backend="loops")
    np.testing.assert_allclose(gradient(np.array(at, np.float32)), slopes, rtol=1e-6)
