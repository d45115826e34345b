"""Axes in a form that can be compared and kept."""

from __future__ import annotations

import pickle

import pytest

from s2s.transforms.frontend.axis_spec import MODES, AxesByName, frozen_axes


@pytest.mark.parametrize(
    "axes, frozen",
    [
        (0, 0),
        (None, None),
        ([0, None], (0, None)),
        ((0, [1, (2, [None])]), (0, (1, (2, (None,))))),
        ({"w": [0, 1], "b": None}, AxesByName((("w", (0, 1)), ("b", None)))),
        ([{"w": {"k": 0}}], (AxesByName((("w", AxesByName((("k", 0),))),)),)),
        ((), ()),
        ({}, AxesByName(())),
    ],
)
def test_frozen(axes, frozen) -> None:
    found = frozen_axes(axes)
    assert found == frozen and hash(found) == hash(frozen)
    assert pickle.loads(pickle.dumps(found)) == found
    assert frozen_axes(found) == found


def test_axes_by_name() -> None:
    axes = frozen_axes({"w": 0, "b": [1]})
    assert axes.by_name == {"w": 0, "b": (1,)} and [*axes.by_name] == ["w", "b"]
    assert axes != frozen_axes({"w": 0, "b": 1}) and axes != (("w", 0), ("b", (1,)))
    assert MODES == ("forward", "reverse")
