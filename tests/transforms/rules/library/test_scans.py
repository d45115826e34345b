"""Running products and sums: axes, initial values, dtypes, and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.transforms.rules.numeric import same_as_numpy

M = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_products(axis: Any) -> None:
    same_as_numpy("numpy.cumprod", M, axis)
    same_as_numpy("numpy.cumprod", np.array([[1, 2], [3, 4]]), axis)
    same_as_numpy("numpy.cumprod", M[:, :0], axis)
    same_as_numpy("numpy.cumprod", M, axis, dtype=np.float32)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("include_initial", [False, True])
def test_with_an_initial_value(axis: int, include_initial: bool) -> None:
    for name in ("cumulative_sum", "cumulative_prod"):
        same_as_numpy(f"numpy.{name}", M, axis=axis, include_initial=include_initial)
        same_as_numpy(f"numpy.{name}", M[0], include_initial=include_initial)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_accumulate(axis: Any) -> None:
    for ufunc in ("add", "multiply"):
        if axis is not None:
            same_as_numpy(f"numpy.{ufunc}.accumulate", M, axis)
        same_as_numpy(f"numpy.{ufunc}.accumulate", M[0])


def last(x):
    return np.sum(np.cumprod(x))


@pytest.mark.parametrize(
    "x", [[2.0, 0.0, 3.0], [0.0, 0.0, 1.0], [1.0, 2.0, 4.0], [5.0], []], ids=str
)
def test_the_gradient_of_products_with_zeros_is_exact(x: list[float]) -> None:
    """A quotient of products would divide by zero."""
    want = []
    for i in range(len(x)):
        slope = 0.0
        for k in range(i, len(x)):
            slope += float(np.prod([x[j] for j in range(k + 1) if j != i]))
        want.append(slope)
    np.testing.assert_allclose(s2s.grad(last, backend="loops")(np.array(x)), want, rtol=1e-14)
