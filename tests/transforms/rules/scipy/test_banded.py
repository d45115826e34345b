"""`scipy.linalg.solve_banded`: every form of its arguments, and SciPy's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from s2s.transforms.ir.errors import UnsupportedError
from tests.transforms.rules.numeric import call, check_derivatives, same_as_numpy

RNG = np.random.default_rng(1)
PATH = "scipy.linalg.solve_banded"


def bands(lower: int, upper: int, n: int = 5) -> Any:
    ab = RNG.normal(size=(lower + upper + 1, n))
    ab[upper] += 4.0
    return ab


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (1, 0), (0, 2), (1, 1), (2, 1)])
@pytest.mark.parametrize("columns", [(), (1,), (3,)])
def test_systems(lower: int, upper: int, columns: Any) -> None:
    same_as_numpy(PATH, (lower, upper), bands(lower, upper), RNG.normal(size=(5, *columns)))


@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f4", "f8"), ("i8", "i8"), ("i2", "f4")])
def test_dtypes(dtypes: Any) -> None:
    ab, b = np.array([[0, 1, 1], [4, 4, 4], [1, 1, 0]], dtypes[0]), np.array([1, 2, 3], dtypes[1])
    got = call(PATH, (1, 1), ab, b)
    want = scipy.linalg.solve_banded((1, 1), ab, b)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert got.dtype == want.dtype


@pytest.mark.parametrize(
    ("l_and_u", "ab", "b"), [((1, 1), (2, 4), (4,)), ((1, 1), (3, 4), (5,)), ((0, 0), (3, 4), (4,))]
)
def test_shapes_that_do_not_fit(l_and_u: Any, ab: Any, b: Any) -> None:
    assert isinstance(same_as_numpy(PATH, l_and_u, np.ones(ab), np.ones(b)), ValueError)


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="stacks"):
        call(PATH, (0, 0), np.ones((2, 1, 3)), np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        call(PATH, (0, 0), np.zeros((1, 2)), np.ones(2))
    with pytest.raises(ValueError, match="infs or NaNs"):
        call(PATH, (0, 0), np.array([[1.0, np.nan]]), np.ones(2))


@pytest.mark.parametrize("columns", [(), (2,)])
def test_derivatives(columns: Any) -> None:
    ab, b = bands(1, 2), RNG.normal(size=(5, *columns))
    check_derivatives("solve_banded", ab, b, lower=1, upper=2, rtol=1e-5)
