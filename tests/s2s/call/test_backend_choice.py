"""The back end of a call: the program's choice, then `S2S_BACKEND`, then the default."""

from __future__ import annotations

import os

import pytest

from s2s.call.backend_choice import BACKENDS, COMPILED, DEFAULT, choose_backend
from s2s.errors import S2SValueError


def test_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S2S_BACKEND", raising=False)
    assert choose_backend(None) == DEFAULT == "numba"
    monkeypatch.setenv("S2S_BACKEND", "")
    assert choose_backend(None) == DEFAULT


@pytest.mark.parametrize("name", BACKENDS)
def test_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("S2S_BACKEND", name)
    assert choose_backend(None) == name


def test_the_program_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")
    assert choose_backend("python") == "python"
    monkeypatch.setenv("S2S_BACKEND", "none at all")
    assert choose_backend("python") == "python"


def test_changes_of_the_environment_are_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")
    assert choose_backend(None) == "loops"
    os.environ["S2S_BACKEND"] = "python"
    assert choose_backend(None) == "python"


def test_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "cuda")
    with pytest.raises(S2SValueError, match="S2S_BACKEND=cuda: there is no such backend") as info:
        choose_backend(None)
    assert "numba" in info.value.advice
    assert set(COMPILED) < set(BACKENDS)
