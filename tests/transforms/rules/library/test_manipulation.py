"""Splitting, inserting, indices and windows: every form of the arguments, as NumPy does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.transforms.rules.numeric import same_as_numpy

X, CUBE = np.arange(12.0).reshape(4, 3), np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("parts", [1, 2, 3, 5, [1, 3], [0, 2], [2, 2, 9], [-1]], ids=str)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_splitting(parts: Any, axis: int) -> None:
    same_as_numpy("numpy.array_split", X, parts, axis)
    same_as_numpy("numpy.split", X, parts, axis)


@pytest.mark.parametrize("name", ["hsplit", "vsplit", "dsplit"])
def test_splitting_by_name(name: str) -> None:
    for parts in (1, [1, 2]):
        same_as_numpy(f"numpy.{name}", CUBE, parts)
    if name == "hsplit":
        same_as_numpy("numpy.hsplit", np.arange(4.0), 2)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("place", [0, 1, -1, 3])
def test_inserting_and_deleting(place: int, axis: Any) -> None:
    same_as_numpy("numpy.insert", X, place, 7.0, axis)
    same_as_numpy("numpy.delete", X, place, axis)
    same_as_numpy("numpy.append", X, X, axis)


@pytest.mark.parametrize("shape", [(2, 2), (5, 4), 3, (0,), 30], ids=str)
def test_resize_repeats(shape: Any) -> None:
    same_as_numpy("numpy.resize", X, shape)


@pytest.mark.parametrize("k", range(-5, 6))
@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (2, 0), (-1, 0)])
def test_turns(k: int, axes: Any) -> None:
    same_as_numpy("numpy.rot90", CUBE, k, axes)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("start", [0, 1, 3, -1])
def test_rolling_an_axis(axis: int, start: int) -> None:
    same_as_numpy("numpy.rollaxis", CUBE, axis, start)


@pytest.mark.parametrize(
    ("width", "axis"), [((2, 2), None), (3, 0), (1, 1), ((2,), (1,)), ((2, 2), (0, 0)), (9, 0)]
)
def test_windows(width: Any, axis: Any) -> None:
    same_as_numpy("numpy.lib.stride_tricks.sliding_window_view", X, width, axis)


@pytest.mark.parametrize("k", [-5, -1, 0, 2, 5])
def test_triangles_of_indices(k: int) -> None:
    for name in ("triu_indices", "tril_indices"):
        same_as_numpy(f"numpy.{name}", 3, k)
        same_as_numpy(f"numpy.{name}", 3, k, 5)
        same_as_numpy(f"numpy.{name}_from", X, k)
    for size in (3, (3, 5), (0, 2)):
        same_as_numpy("numpy.tri", *(size if isinstance(size, tuple) else (size,)), k=k)
    same_as_numpy("numpy.diagflat", np.array([[1.0, 2.0]]), k)


def test_places_of_elements() -> None:
    same_as_numpy("numpy.argwhere", X > 4)
    same_as_numpy("numpy.argwhere", np.array(3.0))
    same_as_numpy("numpy.indices", (2, 3))
    same_as_numpy("numpy.ravel_multi_index", (np.array([0, 3]), np.array([2, 1])), (4, 3))
    same_as_numpy("numpy.unravel_index", np.array([0, 7, 11]), (4, 3))


def test_conditions() -> None:
    mask = np.array([True, False, True, True])
    same_as_numpy("numpy.extract", X > 4, X)
    for axis in (0, None):
        same_as_numpy("numpy.compress", mask, X, axis)
    assert isinstance(same_as_numpy("numpy.compress", X > 1, X, 0), ValueError)
