"""Formulas of sweeps: fewer operations, the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def mean_square(x):
    return np.mean(x * x)


def half_square(x):
    return np.sum(0.5 * x * x)


def negated(x):
    return -np.sum((x - 1.0) ** 2)


def quotient(x):
    return np.mean(x / 4.0) * 8.0


CASES = [
    (mean_square, "x_bar = 2.0 * out_bar / x.size * x"),
    (negated, "x_bar = -2.0 * out_bar * (x - 1.0)"),
]


@pytest.mark.parametrize(("f", "line"), CASES)
def test_text(f: Callable[..., Any], line: str) -> None:
    assert line in str(s2s.grad(f, backend="loops").source_for(X))


@pytest.mark.parametrize("f", [mean_square, half_square, negated, quotient])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_dtypes(f: Callable[..., Any], dtype: Any) -> None:
    x = X.astype(dtype)
    kernel, text = (s2s.grad(f, backend=backend)(x) for backend in ("loops", "python"))
    assert text.dtype == kernel.dtype == dtype
    np.testing.assert_allclose(text, kernel, rtol=1e-5 if dtype is np.float32 else 1e-12)


def test_no_factor_of_one() -> None:
    text = str(s2s.grad(half_square, backend="loops").source_for(X))
    assert "* 1.0" not in text and "1.0 *" not in text, text


def windows(x, n):
    return np.sum(np.lib.stride_tricks.sliding_window_view(x, 3)[:, 1] ** 2)


def test_sizes() -> None:
    text = str(s2s.grad(windows, backend="loops").source_for(np.arange(6.0), 2))
    assert "// 1" not in text and "- 3 + 1" not in text, text
