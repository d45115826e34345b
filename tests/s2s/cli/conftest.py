"""Fixtures: files to run the command on, and the command itself, run in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from s2s.cli import main
from tests.s2s.cli.files import MODEL


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Callable[..., Outcome]]:
    """Run the command; modules that it imports are removed afterwards."""
    modules, path = set(sys.modules), list(sys.path)

    def command(*words: str) -> Outcome:
        try:
            code = main(words)
        except SystemExit as error:  # argparse
            code = int(error.code or 0)
        return Outcome(code, *capfd.readouterr())

    yield command
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes a file and returns its name."""

    def write(text: str, name: str = "program.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def model(write: Callable[..., str]) -> str:
    return write(MODEL, "model.py")
