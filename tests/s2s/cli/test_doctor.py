"""`s2s doctor`: facts, and problems where there are some."""

from __future__ import annotations

import json

import s2s


def test_facts(run):
    told = run("doctor", "--json")
    data = json.loads(told.out)
    assert told.code == 0 and data["trouble"] == []
    assert data["versions"]["s2s"] == s2s.__version__
    assert data["BLAS"]["of SciPy"] and data["machine"]["processor"] and data["cache"]["folder"]
    assert "no trouble found" in run("doctor").out


def test_trouble(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "file"))
    told = run("doctor")
    assert told.code == 1 and "cannot be used" in told.out
