"""Functions that leave NaNs out: axes, rows of nothing but NaN, empty arrays, integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.transforms.rules.numeric import same_as_numpy

NAN, INF = np.nan, np.inf
HOLES = np.array([[1.0, NAN, 3.0], [NAN, NAN, 2.0], [4.0, 0.5, NAN]])
REDUCTIONS = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    same_as_numpy(f"numpy.{name}", HOLES, axis, keepdims=keepdims)
    same_as_numpy(f"numpy.{name}", np.array([[1, 2], [3, 5]]), axis, keepdims=keepdims)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_rows_without_a_number(name: str) -> None:
    same_as_numpy(f"numpy.{name}", np.array([[NAN, NAN], [1.0, NAN]]), 1)
    same_as_numpy(f"numpy.{name}", np.array([INF, NAN, 1.0]))


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_degrees_of_freedom(ddof: int) -> None:
    for name in ("nanvar", "nanstd"):
        same_as_numpy(f"numpy.{name}", HOLES, 0, ddof=ddof)


@pytest.mark.parametrize("name", ["nancumsum", "nancumprod"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scans(name: str, axis: Any) -> None:
    same_as_numpy(f"numpy.{name}", HOLES, axis)


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantiles(q: float, axis: Any) -> None:
    same_as_numpy("numpy.nanquantile", HOLES, q, axis)
    same_as_numpy("numpy.nanpercentile", HOLES, 100 * q, axis, keepdims=True)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_places(name: str) -> None:
    same_as_numpy(f"numpy.{name}", HOLES, 1)
    same_as_numpy(f"numpy.{name}", HOLES)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_instead(dtype: str) -> None:
    x = np.array([NAN, INF, -INF, 1.5], dtype)
    same_as_numpy("numpy.nan_to_num", x)
    same_as_numpy("numpy.nan_to_num", x, nan=7.0, posinf=1.0, neginf=-1.0)
    same_as_numpy("numpy.nan_to_num", np.array([1, 2]))
