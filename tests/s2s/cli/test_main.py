"""The command as a whole: help, versions, exit codes, Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import s2s
from s2s.cli import main
from s2s.errors import InternalCompilerError

ROOT = Path(__file__).resolve().parents[3]


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "s2s", "--version"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"s2s {s2s.__version__}\n"


def test_help_tells_the_exit_codes(run):
    told = run("--help")
    assert told.code == 0 and "exit codes:" in told.out and "130" in told.out


def test_no_command_and_an_unknown_one(run):
    assert run().code == 2
    assert run("shwo").code == 2


def test_the_script_and_the_package_are_installed():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["scripts"]["s2s"] == "s2s.cli:main" and callable(main)
    assert "s2s.cli" in project["tool"]["setuptools"]["packages"]


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (InternalCompilerError("oh"), 5)]
)
def test_exit_codes(run, model, monkeypatch, error, code):
    def fail(*_):
        raise error

    monkeypatch.setattr("s2s.cli.show.subject", fail)
    assert run("show", f"{model}:loss").code == code
