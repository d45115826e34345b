"""Sets, counts and histograms: options, empty arrays, edges, errors, as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.transforms.rules.numeric import same_as_numpy

A, B = np.array([3, 1, 2, 3, 1]), np.array([2, 5, 3, 2])
X = np.array([0.5, 2.5, -1.0, 2.5, 0.0, 3.0])


@pytest.mark.parametrize("x", [A, X, A[:0], A[:1], X.reshape(2, 3)], ids=str)
@pytest.mark.parametrize("options", [{}, {"return_index": True}, {"return_counts": True},
                                     {"return_inverse": True}])  # fmt: skip
def test_unique(x: Any, options: Any) -> None:
    same_as_numpy("numpy.unique", x, **options)


@pytest.mark.parametrize("name", ["intersect1d", "union1d", "setdiff1d", "setxor1d", "isin"])
@pytest.mark.parametrize(("left", "right"), [(A, B), (A[:0], B), (A, B[:0]), (A, A)], ids=str)
def test_operations_on_sets(name: str, left: Any, right: Any) -> None:
    same_as_numpy(f"numpy.{name}", left, right)


def test_membership_inverted_and_equality() -> None:
    same_as_numpy("numpy.isin", A.reshape(5, 1), B, invert=True)
    for other in (A, B, A[:3], A.reshape(1, 5)):
        same_as_numpy("numpy.array_equal", A, other)
    same_as_numpy("numpy.array_equiv", A, A.reshape(1, 5))


@pytest.mark.parametrize("minlength", [0, 2, 9])
@pytest.mark.parametrize("weights", [None, np.array([0.5, 1.0, -1.0, 2.0, 0.25])], ids=str)
def test_counts(weights: Any, minlength: int) -> None:
    same_as_numpy("numpy.bincount", A, weights, minlength)
    same_as_numpy("numpy.bincount", A[:0], None, minlength)


def test_counts_that_numpy_refuses() -> None:
    assert isinstance(same_as_numpy("numpy.bincount", np.array([1, -1])), ValueError)
    assert isinstance(same_as_numpy("numpy.bincount", A, None, -1), ValueError)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[0.0, 1.0, 2.5], [2.5, 1.0, 0.0], [0.5]], ids=str)
def test_digitize(bins: Any, right: bool) -> None:
    same_as_numpy("numpy.digitize", X, np.array(bins), right)


@pytest.mark.parametrize("bins", [1, 4, np.array([-1.0, 0.5, 2.5]), np.array([9.0, 10.0])], ids=str)
@pytest.mark.parametrize("options", [{}, {"density": True}, {"range": (0.0, 3.0)}], ids=str)
def test_histograms(bins: Any, options: Any) -> None:
    """The last bin has both of its edges."""
    if options.get("density") and np.ndim(bins) and bins[0] == 9:
        return  # 0 / 0
    same_as_numpy("numpy.histogram", X, bins, dtypes=False, **options)
    same_as_numpy("numpy.histogram", X, bins, weights=np.abs(X), dtypes=False, **options)


def test_edges_of_bins() -> None:
    same_as_numpy("numpy.histogram_bin_edges", X, 5)
    same_as_numpy("numpy.histogram_bin_edges", np.array([2.0, 2.0]), 3)
    same_as_numpy("numpy.histogram_bin_edges", X, 2, (0.0, 1.0))
