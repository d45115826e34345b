"""The simulator catches mutants of kernels: a missing barrier, a missing atomic addition, wrong
indices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_mutants_are_caught() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cuda.mutants"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )  # fmt: skip
    assert not done.returncode, done.stderr
    found = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert found["rows, none"] == found["scatter, none"] == "not caught"
    # The barriers of the trees; those around them replace each other.
    for number in (1, 2, 6, 7):
        assert "Race" in found[f"rows, without barrier {number} of 8"]
    assert "load and store of one element" in found["scatter, without atomic"]
    assert "of 6 elements" in found["scatter, one cell too many"]
    assert found["scatter, each block does all"] != "not caught"
