"""`S2S_CALLS`: its values, and that it is part of the key of specialisations."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.call.calls_choice import choose_calls
from s2s.errors import S2SValueError


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S2S_CALLS", raising=False)
    assert choose_calls() == "inline"
    monkeypatch.setenv("S2S_CALLS", "keep+inline")
    assert choose_calls() == "keep+inline"
    monkeypatch.setenv("S2S_CALLS", "sometimes")
    with pytest.raises(S2SValueError, match="S2S_CALLS=sometimes: there is no such mode"):
        choose_calls()


def helper(x):
    y = np.sin(x)
    return y * x


def total(x):
    return np.sum(helper(x) + helper(x[::2])[0])


def test_one_function_in_several_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.3, 0.5, -0.2])
    sources = {}
    for mode in ("inline", "keep", "inline"):
        monkeypatch.setenv("S2S_CALLS", mode)
        f = s2s.grad(total, backend="loops")
        want = np.cos(x) * x + np.sin(x)
        want[0] *= 4.0
        np.testing.assert_allclose(f(x), want)
        sources.setdefault(mode, []).append(f.source)
    assert "helper_rev(" in sources["keep"][0] and "helper_rev(" not in sources["inline"][0]
    assert sources["inline"][0] == sources["inline"][1]
