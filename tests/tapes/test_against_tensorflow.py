"""Tapes agree with TensorFlow's: equal gradients, and None for the same sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s

from .scenarios import SCENARIOS, outcome

ORACLE = json.loads((Path(__file__).parent / "oracle.json").read_text())


def compare(got: Any, want: Any, where: str) -> None:
    if isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            compare(got[key], want[key], f"{where}[{key!r}]")
    elif isinstance(want, list) and not all(isinstance(v, float) for v in want):
        assert isinstance(got, list) and len(got) == len(want), where
        for i, (a, b) in enumerate(zip(got, want)):
            compare(a, b, f"{where}[{i}]")
    elif want is None:
        assert got is None, where
    else:
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=where)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")
    f = SCENARIOS[name]
    compare(outcome(s2s.function(f) if compiled else f), ORACLE[name], name)
