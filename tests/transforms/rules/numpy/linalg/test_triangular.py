"""`scipy.linalg.solve_triangular`: keywords, ranks and errors, with what is not read as NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from s2s.transforms.ir.errors import UnsupportedError
from tests.transforms.rules.numeric import call, check_derivatives, same_as_numpy

RNG = np.random.default_rng(1)
A, B = RNG.normal(size=(4, 4)) + 3 * np.eye(4), RNG.normal(size=(4, 2))
PATH = "scipy.linalg.solve_triangular"


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_keywords(trans: Any, lower: bool, unit_diagonal: bool) -> None:
    for b in (B, B[:, 0]):
        same_as_numpy(PATH, A, b, trans, lower, unit_diagonal)


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_derivatives_are_those_of_the_triangle(
    trans: int, lower: bool, unit_diagonal: bool
) -> None:
    attrs = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    check_derivatives("solve_triangular", A, B, **attrs)
    check_derivatives("solve_triangular", A, B[:, 0], **attrs)


def test_errors() -> None:
    for a, b in ((A[:3], B), (A, B[:3])):
        assert isinstance(same_as_numpy(PATH, a, b), ValueError)
    with pytest.raises(ValueError, match="expected square matrix"):
        call(PATH, A[0], B[:, 0])
    with pytest.raises(ValueError, match="infs or NaNs"):
        call(PATH, np.full((2, 2), np.nan), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        call(PATH, np.zeros((2, 2)), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        scipy.linalg.solve_triangular(np.zeros((2, 2)), np.ones(2))


def test_stacks_that_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="stack"):
        call(PATH, np.stack([A, A]), B[:, 0])
    with pytest.raises(UnsupportedError, match="stack of right-hand sides"):
        call(PATH, A, np.stack([B, B]))
