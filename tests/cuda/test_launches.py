"""What benchmark rows cost on the CUDA target may only improve.

`launches.json` has the statistics of each row; `python -m tests.cuda.launches --update` writes it.
`GOALS` are the launch sites that a row should have.
"""

from __future__ import annotations

import json

import pytest

from benchmarks.rows import all_rows
from tests.cuda.launches import TABLE, statistics
from tests.cuda.test_gate import is_worse

STORED = json.loads(TABLE.read_text())
GOALS = {
    "mlp32-sgd": 11, "mlp256-sgd": 11, "cnn-adam": 36, "jacobi-2d": 10, "heat-3d": 10,
    "transformer-1-adam": 49, "transformer-12-adam": 481,
}  # fmt: skip


@pytest.mark.parametrize("name", [row.name for row in all_rows()])
def test_rows(name: str) -> None:
    found = statistics(name)
    assert not is_worse(found, STORED[name]), (found, STORED[name])


@pytest.mark.parametrize("name", GOALS)
def test_goals(name: str) -> None:
    """At most 1.5 times the launches, no host loops of one-thread launches, no waiting."""
    stored = STORED[name]
    assert stored["launches"] <= 1.5 * GOALS[name]
    assert stored["glue_loops"] == stored["syncs"] == 0
