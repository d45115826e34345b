"""The argmin of a running minimum is saved, and other values are recomputed where they are
needed."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from tests.switches import switched_off
from tests.transforms.lower.memory.test_layout import again


def cost(centres, points):
    total = 0.0
    for row in range(len(points)):
        nearest = np.inf
        for c in range(len(centres)):
            nearest = min(nearest, np.sum((points[row] - centres[c]) ** 2))
        total += nearest * nearest
    return total


def farthest(centres, points):
    total = 0.0
    for row in range(len(points)):
        far = 1.5
        for c in range(1, len(centres)):
            apart = points[row] @ centres[c]
            far = np.maximum(apart, far)
        total += 2.0 * far
    return total


def gradients(program, *args, backend="loops", off=()):
    with switched_off(*off), np.errstate(all="ignore"):
        f = s2s.value_and_grad(again(program), wrt=(0, 1), backend=backend)
        value, (first, second) = f(*args)
    return [value, first, second], f.lowered


def test_only_the_last_choice_is_kept():
    rng = np.random.default_rng(0)
    args = rng.normal(size=(3, 2)), rng.normal(size=(5, 2))
    for program in (cost, farthest):
        found, lowered = gradients(program, *args)
        right, other = gradients(program, *args, off=["save_argminmax"])
        assert "chosen[" in lowered and "chosen[" not in other
        for a, b in zip(found, right):
            np.testing.assert_array_equal(a, b)
        assert ", np.float64)" not in lowered[: lowered.index("for row")]  # no saved array


ODD = [0.0, -0.0, 1e200, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("program", [cost, farthest])
@pytest.mark.parametrize("sizes", [(0, 3), (1, 3), (2, 0), (2, 1), (5, 7)])
def test_ties_and_odd_numbers(program, dtype, sizes):
    rng = np.random.default_rng(1)
    # Few distinct values, so that there are many ties.
    centres = rng.integers(-1, 2, (sizes[0], 2)).astype(dtype)
    points = rng.integers(-1, 2, (sizes[1], 2)).astype(dtype)
    now = s2s.value_and_grad(again(program), wrt=(0, 1), backend="loops")
    with switched_off("skip_zero_updates"):
        was = s2s.value_and_grad(again(program), wrt=(0, 1), backend="loops")
        was(centres, points)
    with np.errstate(all="ignore"):
        for array in (centres, points):
            for odd in [None, *ODD]:
                kept = array.copy()
                if odd is not None:
                    array[-1:, :1] = odd
                (value, slopes), (right, wanted) = now(centres, points), was(centres, points)
                for a, b in zip((value, *slopes), (right, *wanted)):
                    np.testing.assert_array_equal(a, b)
                array[...] = kept


def test_machine_code_and_threads():
    rng = np.random.default_rng(2)
    args = rng.integers(-3, 4, (7, 3)) * 1.0, rng.integers(-3, 4, (400, 3)) * 1.0
    right, _ = gradients(cost, *args, off=["skip_zero_updates"])
    f = s2s.value_and_grad(again(cost), wrt=(0, 1))
    g = s2s.value_and_grad(again(cost), wrt=(0, 1), parallel=True)
    for found in (f(*args), g(*args)):
        for a, b in zip((found[0], *found[1]), right):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def kept_elsewhere(centres, points):
    total = 0.0
    for row in range(len(points)):
        nearest = np.inf
        for c in range(len(centres)):
            apart = np.sum((points[row] - centres[c]) ** 2)
            total += apart * apart
            nearest = min(nearest, apart)
        total += nearest
    return total


def goes_on(centres, points):
    total, nearest = 0.0, np.inf
    for row in range(len(points)):
        for c in range(len(centres)):
            nearest = min(nearest, np.sum((points[row] - centres[c]) ** 2))
        total += nearest
    return total


def writes(centres, points):
    total = 0.0
    for row in range(len(points)):
        nearest = np.inf
        for c in range(len(centres)):
            nearest = min(nearest, np.sum((points[row] - centres[c]) ** 2))
        points[row, 0] = nearest
        total += nearest
    return total


def moves(centres, points):
    total, centres = 0.0, centres * 1.0
    for row in range(len(points)):
        nearest = np.inf
        for c in range(len(centres)):
            nearest = min(nearest, np.sum((points[row] - centres[c]) ** 2))
        centres[0] += nearest * points[row]
        total += nearest
    return total


@pytest.mark.parametrize("program", [kept_elsewhere, goes_on, writes, moves])
def test_left_alone(program):
    rng = np.random.default_rng(3)
    args = rng.integers(-1, 2, (4, 2)) * 1.0, rng.integers(-1, 2, (5, 2)) * 1.0
    found, lowered = gradients(program, *map(np.copy, args))
    right, _ = gradients(program, *map(np.copy, args), off=["skip_zero_updates"])
    assert "chosen[" not in lowered
    for a, b in zip(found, right):
        np.testing.assert_allclose(a, b, rtol=1e-14)
