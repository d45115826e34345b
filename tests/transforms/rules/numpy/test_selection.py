"""Selection by indices and conditions: modes, axes, shapes and errors are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.transforms.rules.numeric import call, same_as_numpy

X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize(
    "indices", [0, -1, [2, 0, 2], [[0, 1], [-1, 2]], np.array([], int)], ids=str
)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take(indices: Any, axis: Any, mode: str) -> None:
    given = np.array(indices) if not isinstance(indices, int) else indices
    same_as_numpy("numpy.take", X, given, axis, mode=mode)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("indices", [[7, -9], [100]])
def test_take_out_of_range(mode: str, indices: Any) -> None:
    got = same_as_numpy("numpy.take", X, np.array(indices), 0, mode=mode)
    assert isinstance(got, IndexError) == (mode == "raise")


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("a", [[0, 1, 1], [2, -1, 0], [[0], [1]]])
def test_choose(a: Any, mode: str) -> None:
    choices = [np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])]
    same_as_numpy("numpy.choose", np.array(a), choices, mode=mode)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_take_along_axis(axis: Any) -> None:
    at = np.argsort(-X, axis=axis)
    same_as_numpy("numpy.take_along_axis", X, at, axis)
    same_as_numpy("numpy.take_along_axis", X, np.array([[0], [1], [2]]), 1)


def test_take_along_axis_needs_the_same_rank() -> None:
    assert isinstance(same_as_numpy("numpy.take_along_axis", X, np.array([0]), 0), ValueError)


def test_select_takes_the_first_condition_that_holds() -> None:
    x = np.array([-1.0, 0.5, 2.0, 3.0])
    same_as_numpy("numpy.select", [x < 0, x < 1, x > 2], [x, 2 * x, x**2])
    same_as_numpy("numpy.select", [x < 0], [x], 7.0)
    assert isinstance(same_as_numpy("numpy.select", [x < 0], [x, x]), ValueError)


def test_blocks() -> None:
    a, b = np.ones((2, 2)), np.zeros((2, 1))
    same_as_numpy("numpy.block", [[a, b], [b.T, np.array([[5.0]])]])
    same_as_numpy("numpy.block", [np.ones(2), np.zeros(3)])
    with pytest.raises(TypeError, match="Only lists"):
        call("numpy.block", ([np.ones(2)],))
