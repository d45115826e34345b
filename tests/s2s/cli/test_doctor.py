"""`s2s doctor`: facts, and problems where there are some."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import s2s
from s2s.cli import doctor
from s2s.runtime import versions

PACKAGE = Path(s2s.__file__).parent


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


def test_what_compiles_and_how_calls_run(run):
    data = json.loads(run("doctor", "--json").out)
    assert data["back ends"]["chosen"] == "numba, by default"
    assert set(data["back ends"]) == {"chosen", "numba", "njit", "native", "loops", "python"}
    assert data["supported versions"] == versions.SUPPORTED
    assert data["calls"]["numba"] == (
        "fast: a generated Python function, then the Numba dispatcher"
    )
    assert data["calls"]["native"] == "fast: bytecode of s2s, then the C entry point"


def test_native_is_off(run, monkeypatch):
    from s2s.runtime import object_layout

    monkeypatch.setattr(object_layout, "layout_problem", lambda: "this Python runs without the GIL")
    data = json.loads(run("doctor", "--json").out)
    assert data["back ends"]["native"].startswith("off: this Python runs without the GIL;")
    assert set(data["calls"]) == {"numba"} and data["trouble"] == []


def test_bytecode_is_off(run, monkeypatch):
    from s2s.backends.native import call_bytecode, call_vm

    for module in (call_bytecode, call_vm):
        monkeypatch.setattr(module, "is_vm_layout_known", lambda: False)
    told = run("doctor")
    assert "fast: a generated Python function (no bytecode: this interpreter lays out" in told.out


@pytest.mark.parametrize("allowed", [False, True])
def test_versions_that_are_not_supported(run, monkeypatch, allowed):
    import numba

    monkeypatch.setattr(numba, "__version__", "0.61.0")
    monkeypatch.setenv("S2S_UNTESTED_VERSIONS", "1" if allowed else "0")
    told = run("doctor", "--json")
    data = json.loads(told.out)
    if allowed:  # as asked for, but said
        assert told.code == 0 and data["calls"]
        said = data["supported versions"]["numba"]
        assert said == ">=0.66,<0.69 (numba 0.61.0 is not supported, but tried)"
    else:
        assert told.code == 1 and "calls" not in data
        (trouble,) = data["trouble"]
        assert trouble.startswith("numba 0.61.0 is not supported: compiled code needs numba >=0.66")
        assert "S2S_UNTESTED_VERSIONS=1" in trouble


def test_a_back_end_that_does_not_exist(run, monkeypatch):
    monkeypatch.setenv("S2S_BACKEND", "gpu")
    told = run("doctor")
    assert told.code == 1 and "S2S_BACKEND=gpu: there is no such backend" in told.out


def test_every_setting_is_reported():
    text = "".join(p.read_text("utf-8") for p in PACKAGE.rglob("*.py"))
    assert set(re.findall(r"[\"']((?:S2S|NUMBA)_[A-Z_]+[A-Z])[\"']", text)) <= {*doctor.SETTINGS}


def test_the_command_starts_without_numba_and_llvm():
    """They are imported after their versions have been checked."""
    program = "import sys, s2s.cli; print({'numba', 'llvmlite'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
