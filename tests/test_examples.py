"""Every example runs, as a user would run it, only shorter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(name: str, *options: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / name), *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_digits_mlp(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    picture = tmp_path / "digits.png"
    text = run("digits_mlp.py", "--epochs", "5", "--out", str(picture))
    accuracy = re.search(r"never seen in training: ([\d.]+)%", text)
    assert accuracy is not None and float(accuracy[1]) > 90
    assert "def loss_vjp(" in text
    assert picture.stat().st_size > 10_000


def test_none_is_forgotten() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f'run("{path.name}"' in here, f"{path.name} is not tested"
