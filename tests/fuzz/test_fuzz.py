"""A bounded, seeded part of the random programs; `python -m tests.fuzz` runs thousands."""

from __future__ import annotations

import pytest

from tests.fuzz.generate import generate
from tests.fuzz.run import run
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import arguments, load

PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int, request: pytest.FixtureRequest) -> None:
    count = (request.config.getoption("--fuzz-programs") or 120) // PARTS
    report = run(count, seed=1, first=part * count, most=3)
    assert not report.failures, report.text()


def test_programs_are_valid_and_reproducible(tmp_path: object) -> None:
    for number in range(60):
        source = generate(3, number).source
        assert source == generate(3, number).source
        f = load(source, tmp_path)  # type: ignore[arg-type]
        for n in range(4):
            float(f(*arguments(n)))


def test_shrinking_keeps_the_culprit() -> None:
    program = next(p for p in (generate(5, k) for k in range(100)) if "damp(" in p.source[300:])
    small = shrink(program, lambda source: source[300:].count("damp(") > 0)
    assert len(small.source) < len(program.source)
    assert "damp(" in small.source[300:]
