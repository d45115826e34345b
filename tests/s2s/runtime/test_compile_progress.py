"""Progress is shown after a delay, on terminals or on request, and is erased at the end."""

from __future__ import annotations

import time

import pytest

from s2s.runtime import compile_progress


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(compile_progress, "DELAY", 0.02)
    monkeypatch.setattr(compile_progress, "PERIOD", 0.02)


def work(seconds: float) -> None:
    with compile_progress.Progress("loss") as p:
        p.stage("compiling")
        time.sleep(seconds)


def test_a_long_compilation_is_shown_and_erased(monkeypatch, capsys):
    monkeypatch.setenv("S2S_PROGRESS", "1")
    work(0.2)
    text = capsys.readouterr().err
    assert "s2s: loss: compiling" in text and text.endswith("\r\x1b[K") and "\n" not in text


def test_a_short_one_is_not(monkeypatch, capsys):
    monkeypatch.setenv("S2S_PROGRESS", "1")
    monkeypatch.setattr(compile_progress, "DELAY", 5.0)
    work(0.0)
    assert capsys.readouterr().err == ""


def test_nothing_without_a_terminal(monkeypatch, capsys):
    monkeypatch.delenv("S2S_PROGRESS", raising=False)
    work(0.1)
    assert capsys.readouterr().err == ""


def test_interruption_passes_through(monkeypatch, capsys):
    monkeypatch.setenv("S2S_PROGRESS", "1")
    with pytest.raises(KeyboardInterrupt), compile_progress.Progress("loss"):
        time.sleep(0.1)
        raise KeyboardInterrupt
    assert capsys.readouterr().err.endswith("\r\x1b[K")
