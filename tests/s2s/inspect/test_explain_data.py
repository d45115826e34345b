"""The data of a report: totals, and the grouping by loops."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from s2s.inspect.explain_data import Inactive, OnThreads, Recompilation, ReportData
from s2s.transforms.diagnostics.tape_report import Loop, Saved, Size


def saved(name: str, total: Size | None, loops: Any = ()) -> Saved:
    return Saved(
        name=name, expression=name, place=None, kind="array", per_iteration=None, total=total,
        iterations=None, loops=loops,
    )  # fmt: skip


def report(*rows: Saved) -> ReportData:
    return ReportData("f(x)", "model.py", 1, True, saved=list(rows))


def test_total() -> None:
    assert report().saved_bytes == 0
    assert report(saved("a", Size("8", 8)), saved("b", Size("n", 16))).saved_bytes == 24
    assert report(saved("a", Size("8", 8)), saved("b", Size("n", None))).saved_bytes is None
    assert report(saved("a", Size("8", 8)), saved("b", None)).saved_bytes is None


def test_groups_keep_the_order() -> None:
    outer, inner = Loop(None, Size("n", 3)), Loop(None, Size("m", 4))
    rows = [
        saved("a", None, (inner, outer)), saved("b", None), saved("c", None, (inner, outer)),
        saved("d", None, (outer,)),
    ]  # fmt: skip
    groups = report(*rows).loops()
    assert [[s.name for s in group] for group in groups.values()] == [["a", "c"], ["b"], ["d"]]
    assert list(groups) == [(inner, outer), (), (outer,)]


def test_reports_share_nothing() -> None:
    one, other = report(), report()
    one.inactive.append(Inactive("x", "is an integer"))
    assert other.inactive == [] and other.recompiled == Recompilation(0, "")


def test_rows_are_immutable() -> None:
    for row in (Inactive("x", "why"), Recompilation(1, ""), OnThreads("L1")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            row.again = "x"  # type: ignore[union-attr]
