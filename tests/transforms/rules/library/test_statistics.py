"""Averages and covariances: weights, axes, degrees of freedom, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.transforms.rules.numeric import same_as_numpy

RNG = np.random.default_rng(9)
M, W = RNG.normal(size=(3, 4)), RNG.uniform(0.5, 2.0, (3, 4))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("returned", [False, True])
def test_averages(axis: Any, keepdims: bool, returned: bool) -> None:
    for weights in (None, W):
        same_as_numpy("numpy.average", M, axis, weights, returned, keepdims=keepdims)
    if axis is not None:
        flat = np.arange(1.0, 1.0 + M.shape[axis])
        same_as_numpy("numpy.average", M, axis, flat, returned, keepdims=keepdims)


def test_weights_that_do_not_fit() -> None:
    assert isinstance(same_as_numpy("numpy.average", M, 0, W[0]), ValueError)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_peak_to_peak(axis: Any) -> None:
    same_as_numpy("numpy.ptp", M, axis)
    same_as_numpy("numpy.ptp", np.array([3, 1, 2]))


@pytest.mark.parametrize("rowvar", [True, False])
@pytest.mark.parametrize("options", [{}, {"bias": True}, {"ddof": 0}, {"ddof": 2}], ids=str)
def test_covariances(rowvar: bool, options: Any) -> None:
    same_as_numpy("numpy.cov", M, rowvar=rowvar, **options)
    same_as_numpy("numpy.cov", M, W, rowvar=rowvar, **options)
    same_as_numpy("numpy.cov", M[0], **options)
    same_as_numpy("numpy.cov", M[0], W[0], **options)


def test_correlations() -> None:
    same_as_numpy("numpy.corrcoef", M)
    same_as_numpy("numpy.corrcoef", M, rowvar=False)
    same_as_numpy("numpy.corrcoef", M[0], W[0])


def spread(x):
    return np.ptp(x)


def test_ties_share_evenly() -> None:
    """docs/kinks.md: extremes that occur several times."""
    got = s2s.grad(spread, backend="loops")(np.array([1.0, 3.0, 3.0, 1.0, 2.0]))
    np.testing.assert_array_equal(got, [-0.5, 0.5, 0.5, -0.5, 0.0])
