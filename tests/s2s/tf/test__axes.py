"""Axis arguments: lists become tuples, everything else stays as it is."""

from __future__ import annotations

from s2s.tf._axes import axes


def test_axes() -> None:
    assert axes([0, 1]) == (0, 1) and type(axes([0, 1])) is tuple
    assert axes([]) == ()
    assert axes((0, -1)) == (0, -1) and axes(2) == 2 and axes(None) is None
