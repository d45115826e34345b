"""The corpus on Numba's simulator: every program is equal to Python and finite differences, or
refused; and what it costs may only improve.

`statistics.json` has, for each program, why it is refused or the statistics of its text in double
precision.  `python -m tests.cuda.gate --update` writes it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import scale
from tests.corpus import load

ROOT = Path(__file__).resolve().parents[2]
STATISTICS = Path(__file__).with_name("statistics.json")
# The programs of the corpus are divided into so many parts.
PARTS = 48
VARIANTS = [("float64", 4), ("float32", 2), ("float64", 2), ("float32", 4)]
# Programs with a loop of the host that launches kernels of one thread only.
MOST_GLUE_PROGRAMS = 6


def gate(*options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cuda.gate", *options],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def is_worse(found: Any, stored: Any) -> bool:
    """True if an accepted program is refused now, or if one of its numbers is larger."""
    if isinstance(stored, str):
        return False
    if isinstance(found, str):
        return True
    slow = ("launches", "threads", "glue_loops", "syncs", "atomics")
    return any(found[name] > stored[name] for name in slow)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("dtype", "block"), VARIANTS)
def test_corpus(dtype: str, block: int, part: int) -> None:
    stored = json.loads(STATISTICS.read_text())
    options = ("--dtype", dtype, "--block", str(block), "--part", f"{part}/{PARTS}")
    for name, found in gate(*options).items():
        assert not found["outcome"].startswith("different"), f"{name} is {found['outcome']}"
        now = found["stats"] or found["outcome"]
        if dtype == "float64":
            assert not is_worse(now, stored[name]), (name, now, stored[name])
        assert not scale.ALL or isinstance(now, str) == isinstance(stored[name], str), name


def test_statistics_are_of_the_corpus() -> None:
    stored = json.loads(STATISTICS.read_text())
    assert sorted(stored) == sorted(load())
    accepted = [s for s in stored.values() if not isinstance(s, str)]
    assert len(accepted) >= 0.88 * len(stored)
    assert sum(s["glue_loops"] > 0 for s in accepted) <= MOST_GLUE_PROGRAMS


def test_what_is_worse() -> None:
    stats = dict.fromkeys(("launches", "threads", "glue_loops", "syncs", "atomics"), 2)
    assert not is_worse(stats, stats) and not is_worse({**stats, "syncs": 1}, stats)
    assert is_worse({**stats, "syncs": 3}, stats) and is_worse("refused: it", stats)
    assert not is_worse(stats, "refused: it")
