"""Advice for a NaN or inf: only where it fits the operands, and its promises hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.diagnostics import nan_hints
from s2s.transforms.diagnostics.nan_hints import hint
from s2s.transforms.rules import RULES

INF, NAN = np.inf, np.nan


def test_every_operation_with_advice_exists() -> None:
    """Other names would never match."""
    named = nan_hints._VALUES.keys() | nan_hints._SLOPES.keys() | nan_hints._OVERFLOWING
    assert named - RULES.keys() <= {"dot"}


@pytest.mark.parametrize(
    ("op", "values", "says"),
    [
        ("log", [0.0], "log(0) is -inf"),
        ("log10", [-1.0], "negative number"),
        ("log1p", [-1.0], "x > -1"),
        ("divide", [0.0, 0.0], "0/0"),
        ("divide", [1.0, 0.0], "division by 0"),
        ("divide", [INF, -INF], "inf/inf"),
        ("reciprocal", [0.0], "division by 0"),
        ("sqrt", [-1.0], "root of a negative"),
        ("exp", [1000.0], "logaddexp"),
        ("power", [-1.0, 0.5], "no integer"),
        ("power", [0.0, -1.0], "negative power"),
        ("arcsin", [1.1], "[-1, 1]"),
        ("arccosh", [0.5], "x >= 1"),
        ("subtract", [INF, INF], "inf - inf"),
        ("multiply", [0.0, INF], "0 * inf"),
        ("mean", [None], "no elements"),
        ("lgamma", [-2.0], "poles"),
    ],
)
def test_values(op: str, values: list[Any], says: str) -> None:
    assert says in hint(op, "NaN", False, values)


@pytest.mark.parametrize(
    ("op", "values", "says"),
    [
        ("sqrt", [0.0], "infinite slope at 0"),
        ("cbrt", [0.0], "infinite slope"),
        ("power", [0.0, 0.5], "x**0.5 has an infinite slope"),
        ("arccos", [-1.0], "at -1 and 1"),
        ("arctan2", [0.0, 0.0], "(0, 0)"),
        ("inv", [None], "singular"),
        ("eigh_vectors", [None], "eigenvectors of equal eigenvalues"),
        ("svd_vectors", [None], "singular vectors of equal singular values"),
        # What is wrong with the value is wrong with the derivative, too.
        ("log", [0.0], "log(0) is -inf"),
    ],
)
def test_derivatives(op: str, values: list[Any], says: str) -> None:
    assert says in hint(op, "inf", True, values)


@pytest.mark.parametrize(
    ("op", "values"),
    [
        ("log", [2.0]), ("log1p", [0.0]), ("divide", [1.0, 2.0]), ("sqrt", [4.0]),
        ("power", [2.0, 0.5]), ("multiply", [2.0, 3.0]), ("subtract", [1.0, 2.0]),
        ("lgamma", [-1.5]), ("sin", [1.0]), ("unheard_of", [1.0]), ("sin", []),
    ],
)  # fmt: skip
def test_no_advice_that_does_not_fit(op: str, values: list[Any]) -> None:
    assert hint(op, "NaN", False, values) == ""


def test_slopes_are_not_told_of_values() -> None:
    assert hint("sqrt", "inf", False, [0.0]) == ""
    assert hint("arctan2", "NaN", False, [0.0, 0.0]) == ""
    assert hint("sqrt", "NaN", True, [4.0]) == "" == hint("arcsin", "NaN", False, [None])[:0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_overflow_of_finite_operands(dtype: str) -> None:
    large = hint("multiply", "inf", False, [1e300, 1e300], dtype)
    assert "exact result is too large" in large and dtype in large
    grown = hint("multiply", "-inf", True, [1e300, 1e300], dtype)
    assert "derivative grew too large" in grown and dtype in grown
    assert "too large" in hint("matmul", "inf", False, [None, None])
    assert hint("add", "inf", False, [INF, 1.0]) == "", "the inf was there before"
    assert hint("multiply", "NaN", True, [1.0, 1.0]) == ""
    assert hint("sin", "inf", False, [1.0]) == "", "a sine does not overflow"


def test_what_the_advice_computes_is_finite() -> None:
    with np.errstate(all="ignore"):
        assert np.isfinite(np.log(np.maximum(0.0, 1e-300)))
        x, y = np.float64(0.0), np.float64(0.0)
        assert np.where(y != 0, x / y, 0.0) == 0.0
        assert np.isfinite(np.logaddexp(1000.0, 0.0))
        limits = [709.78, 88.72]
        for dtype, limit in zip((np.float64, np.float32), limits):
            assert np.isfinite(np.exp(dtype(limit)))
            assert np.isinf(np.exp(dtype(limit + 0.01)))
