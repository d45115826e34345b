"""`s2s cache`: listing and clearing entries."""

from __future__ import annotations

import json

import numpy as np
import pytest

import s2s


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    s2s.grad(lambda x: x * x * 0.123)(2.0)
    (tmp_path / "mine.txt").write_text("not from s2s")
    return tmp_path


def test_info_and_clear(run, folder):
    data = json.loads(run("cache", "info", "--json").out)
    assert data["folder"] == str(folder)
    assert data["kinds"]["machine code"]["files"] >= 1
    assert str(folder) in run("cache", "info").out
    cleared = run("cache", "clear")
    assert cleared.code == 0 and cleared.out.startswith("removed ")
    left = {p.name for p in folder.rglob("*") if p.is_file()}
    assert left == {".s2s-cache", "mine.txt"}
    assert np.isclose(s2s.grad(lambda x: x * x * 0.1234)(1.0), 0.2468)


def test_a_folder_that_cannot_be_used(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "file"))
    assert run("cache", "info").code == 4
