"""Completion: the candidates, and the scripts of the shells."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from s2s.cli.completion import SCRIPTS, candidates
from s2s.cli.main import COMMANDS, parser


def after(*words: str) -> list[str]:
    return candidates(parser(), words)


@pytest.fixture
def here(model, monkeypatch):
    monkeypatch.chdir(Path(model).parent)
    (Path(model).parent / "more").mkdir()
    return Path(model).parent


def test_commands_and_options(here):
    assert after("") == list(COMMANDS)
    assert after("c") == ["check", "cache", "completion"]
    assert "--version" in after("--")
    assert after("show", "model.py:loss", "--le") == ["--level"]
    assert "--json" not in after("show", "model.py:loss", "--json", "--")
    assert after("nonsense", "") == []


def test_files_and_functions(here):
    assert after("show", "") == ["model.py:", "more/"]
    assert after("check", "model.py:l") == ["model.py:loss"]
    assert after("check", "model.py:Spring.") == ["model.py:Spring.energy", "model.py:Spring.force"]
    assert after("check", f"{here}/mo") == [f"{here}/model.py:", f"{here}/more/"]
    assert after("show", "model.py:loss", "") == []


def test_values_of_options(here):
    loss = ("show", "model.py:loss")
    assert after(*loss, "--level", "l") == ["lowered", "llvm"]
    assert after(*loss, "--after", "s") == ["specialise", "simplify", "save", "storage"]
    assert after(*loss, "--wrt", "") == ["W", "b", "x", "y"]
    assert after(*loss, "--wrt", "W,") == ["W,b", "W,x", "W,y"]
    assert after(*loss, "--example", "make_") == ["make_args", "make_named"]
    assert after("show", "model.py:Spring.energy", "--wrt", "") == ["x"]
    assert after("report", "model.py:loss", "-o", "m") == ["model.py", "more/"]
    assert after(*loss, "--args", "") == []
    assert after("cache", "") == ["info", "clear"]
    assert after("cache", "info", "") == []


def test_bash_takes_a_colon_for_the_end_of_a_word(here, run):
    assert run("_complete", "bash", "s2s show model.py:lo").out == "loss\n"
    assert run("_complete", "bash", "s2s show ").out == "model.py:\nmore/\n"
    assert run("_complete", "zsh", "show", "model.py:lo").out == "model.py:loss\n"
    assert run("_complete", "bash", 's2s show model.py:loss --args "float64[3').out == "\n"


# ---------------------------------------------------------------- in the shells themselves

ASK = {
    "bash": """
        source ./script; compopt() { :; }
        COMP_LINE="s2s check model.py:lo"; COMP_POINT=${#COMP_LINE}; _s2s; echo "${COMPREPLY[@]}"
    """,
    "zsh": """
        compdef() { :; }; compadd() { echo "${(P)${@[-1]}}"; }
        source ./script; words=(s2s check model.py:lo); CURRENT=3; _s2s
    """,
    "fish": """
        source ./script; complete -C "s2s check model.py:lo"
    """,
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_shells(here, run, shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (here / "script").write_text(run("completion", shell).out)
    command = tmp_path / "s2s"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m s2s "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    space = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [shell, "-c", ASK[shell]], capture_output=True, text=True, env=space, cwd=here, timeout=60
    )
    wanted = "loss" if shell == "bash" else "model.py:loss"
    assert done.stdout.split() == [wanted], done.stderr
