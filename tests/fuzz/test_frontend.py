"""Random and mutated Python programs: the outcome is right or they are refused.  Runs a sample by
default."""

from __future__ import annotations

import pytest

from tests.fuzz import frontend, grammar
from tests.scale import count

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_python_of_all_kinds(part: int) -> None:
    programs = count(160, 10_000) // PARTS
    report = frontend.run(programs, seed=3, first=part * programs, most=3)
    assert not report.failures, report.text()


def test_programs_are_reproducible() -> None:
    assert all(grammar.generate(1, n) == grammar.generate(1, n) for n in range(20))


def test_a_wrong_value_and_a_missing_error_are_found() -> None:
    wrong = frontend.Outcome(value=(1.0, [2.0]))
    assert frontend.compare(wrong, frontend.Outcome(value=(1.0, [2.5])))[0] == "failed"
    assert frontend.compare(wrong, frontend.Outcome(value=(1.0, (2.0,))))[0] == "failed"
    raises = frontend.Outcome(error=ValueError("no"))
    assert frontend.compare(raises, wrong)[0] == "failed"
    assert frontend.compare(raises, frontend.Outcome(error=ValueError("no")))[0] == "error"
