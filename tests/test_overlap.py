"""Arguments that share memory, `f(x, x)` or `f(x[1:], x[:-1])`: written, or only read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s

BACKENDS = ("loops", "python")


def product(x: Any, y: Any) -> Any:
    return np.sum(x * x * y)


def shifted(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] = y[i] * 2.0 + 1.0
    return np.sum(x * y)


def added(x: Any, y: Any) -> Any:
    x += y
    y *= 3.0
    return np.sum(x)


def same(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x, x


def neighbours(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x[1:], x[:-1]


def backwards(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x, x[::-1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pair", [same, neighbours, backwards])
def test_arguments_only_read(backend: str, pair: Callable[..., Any]) -> None:
    """Each parameter has its own gradient, as for disjoint arrays."""
    x, y = pair(np.array([0.5, -1.0, 2.0, 0.25]))
    gx, gy = s2s.grad(product, wrt=("x", "y"), backend=backend)(x, y)
    np.testing.assert_allclose(gx, 2.0 * x * y)
    np.testing.assert_allclose(gy, x * x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pair", [same, neighbours, backwards])
@pytest.mark.parametrize("f", [shifted, added])
@pytest.mark.parametrize("transform", [s2s.function, s2s.value_and_grad])
def test_arguments_written(
    backend: str, pair: Callable[..., Any], f: Callable[..., Any], transform: Any
) -> None:
    """The value and the memory afterwards are those of Python, or the call is refused without side
    effects."""
    expected, actual = np.arange(1.0, 6.0), np.arange(1.0, 6.0)
    value = f(*pair(expected))
    g = transform(f, backend=backend)
    try:
        out = g(*pair(actual))
    except s2s.errors.S2SError as error:
        assert isinstance(error, ValueError)
        assert "overlap" in str(error) and "copy()" in error.advice
        np.testing.assert_array_equal(actual, np.arange(1.0, 6.0))
        return
    out = out if transform is s2s.function else out[0]
    assert out == pytest.approx(value)
    np.testing.assert_allclose(actual, expected)
