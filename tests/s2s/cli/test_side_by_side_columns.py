"""Two columns: no line of either side is missing, for any program."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.cli.side_by_side_columns import fitted, paired, plain, single
from s2s.inspect.side_by_side import Sides, sides
from tests.corpus import load
from tests.judge import transform

CASES = load()
NAMES = (
    "write_through_transpose", "swapped_buffers", "recursive_helper", "for_else_broken",
    "newton_square_root", "nested_dataclass", "block_updates",
)  # fmt: skip


@pytest.fixture(params=NAMES)
def both(request) -> Sides:
    case = CASES[request.param]
    args, kwargs = case.arguments(case.trips[-1], np.float64)
    return sides(case.function, transform(case, "python")._entry_for(args, kwargs).compiled)


def test_each_line_stands_once(both):
    rows = paired(both)
    listing = both.listings[0]
    left = [row[0].number for row in rows if row[0] is not None and not row[0].faint]
    assert left == list(range(listing.first, listing.first + len(listing.lines)))
    assert [row[1].number for row in rows if row[1] is not None] == [e.number for e in both.emitted]
    assert len(single(both)) == len(both.emitted)


def test_counterparts_stand_beside_each_other(both):
    beside = None
    for left, right in paired(both):
        beside = left.number if left is not None else beside
        if right is not None and right.mark is not None:
            assert right.mark == beside


def test_every_line_of_a_sweep_belongs_to_a_line(both):
    """All lines but the return of the gradient and those between functions."""
    start = max(i for i, e in enumerate(both.emitted) if "# ---- adjoint sweep" in e.text)
    end = max(i for i, e in enumerate(both.emitted) if e.text.startswith("    return"))
    assert all(e.origins for e in both.emitted[start + 1 : end])


def test_width(both):
    assert all(len(plain(row, 40)) <= 83 for row in paired(both))
    assert fitted("abcdef", 4, True) == "abc…" and fitted("abcdef", 4, False) == "abcdef"
