"""Code of tapes cached on disk: blocks and queries are distinguished."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s


def test_blocks_and_questions_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions with the same names in the same file, on the same values."""
    monkeypatch.setenv("S2S_BACKEND", "numba")
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    x: Any = np.array([1.0, 1.0])
    with s2s.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(tape.gradient(y, x), [2.0, 2.0])
    np.testing.assert_allclose(tape.jacobian(y, x), np.diag([2.0, 2.0]))
    with s2s.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
    np.testing.assert_allclose(tape.gradient(y, x), [3.0, 3.0])
