"""Sorting and quantiles: axes, methods, ties, short arrays; each as NumPy does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.rules.library import LIBRARY
from tests.transforms.rules.numeric import same_as_numpy

RNG = np.random.default_rng(12)
V, M = RNG.normal(size=7), RNG.normal(size=(4, 5))
TIES = np.array([2.0, 1.0, 2.0, 1.0, 2.0])
METHODS = [
    "linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased",
    "normal_unbiased", "interpolated_inverted_cdf",
]  # fmt: skip


@pytest.mark.parametrize("path", ["numpy.sort", "numpy.argsort"])
@pytest.mark.parametrize("axis", [-1, 0, 1, None])
@pytest.mark.parametrize(
    "x", [M, M[:1], M[:, :0], np.array([[3, 1], [2, 2]])], ids=lambda x: str(x.shape)
)
def test_sorting_along_axes(path: str, axis: Any, x: Any) -> None:
    if x.size or axis in (0, None):
        same_as_numpy(path, x, axis)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0,)])
def test_sorting_nothing(shape: Any) -> None:
    """In compiled code the number of rows is known; the plain program would divide by zero."""
    for f in (sorted_rows, order_of_rows):
        got = s2s.function(f, backend="loops")(np.empty(shape))
        assert got.shape == shape and got.dtype == f(np.empty(shape)).dtype


def sorted_rows(x):
    return np.sort(x)


def order_of_rows(x):
    return np.argsort(x)


def test_equal_values_stay_in_order() -> None:
    same_as_numpy("numpy.argsort", TIES, kind="stable")
    same_as_numpy("numpy.lexsort", [V, np.sign(V)])


@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 1.0, 1 / 3, np.array([0.1, 0.9])], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_quantiles_by_every_method(method: str, q: Any) -> None:
    for x in (V, TIES, V[:1], V[:2]):
        same_as_numpy("numpy.quantile", x, q, method=method)


@pytest.mark.parametrize("method", ["inverted_cdf", "averaged_inverted_cdf", "closest_observation"])
def test_methods_that_are_refused(method: str) -> None:
    with pytest.raises(UnsupportedError, match=f"by the method {method}"):
        LIBRARY["numpy.quantile"](V, 0.5, method=method)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_medians_and_percentiles_along_axes(axis: Any, keepdims: bool) -> None:
    same_as_numpy("numpy.median", M, axis, keepdims=keepdims)
    same_as_numpy("numpy.percentile", M, 30.0, axis, keepdims=keepdims)
    same_as_numpy("numpy.quantile", M, np.array([0.2, 0.7]), axis, keepdims=keepdims)


def test_not_a_number_makes_the_median_not_a_number() -> None:
    same_as_numpy("numpy.median", np.array([1.0, np.nan, 3.0]))
    same_as_numpy("numpy.sort", np.array([1.0, np.nan, -np.inf, 3.0, np.inf]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_a_sorted_array(side: str) -> None:
    knots = np.array([1.0, 2.0, 2.0, 3.0])
    for v in (0.0, 2.0, 3.0, 9.0, np.array([[1.0, 2.5], [2.0, 4.0]]), np.empty(0)):
        same_as_numpy("numpy.searchsorted", knots, v, side)
        same_as_numpy("numpy.searchsorted", knots[:0], v, side)


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, np.array([0.5, 2.0])], ids=str)
def test_quantiles_out_of_range(q: Any) -> None:
    assert isinstance(same_as_numpy("numpy.quantile", V, q), ValueError)
    assert isinstance(same_as_numpy("numpy.nanquantile", V, q), ValueError)
    assert isinstance(same_as_numpy("numpy.percentile", V, 100 * q), ValueError)


def test_a_range_that_is_known_at_run_time() -> None:
    f = s2s.function(quantile_of, backend="loops")
    assert f(V, 0.3) == pytest.approx(quantile_of(V, 0.3), rel=1e-14)
    with pytest.raises(ValueError, match="Quantiles must be in the range"):
        f(V, 1.5)


def quantile_of(x, q):
    return np.quantile(x, q)
