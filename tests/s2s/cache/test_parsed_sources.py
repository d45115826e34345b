"""Parsed functions on disk: used after a restart, never for other text, never an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from s2s.cache import parsed_sources, store
from s2s.cache.parsed_sources import ParsedSources
from s2s.transforms.frontend.source import parsed
from s2s.transforms.syntax.printer import show_block


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(home: Path) -> list[Path]:
    return sorted(home.glob("parsed_*"))


def test_an_entry_for_each_text(home: Path) -> None:
    first = ParsedSources()
    first.put("text", "a", parsed("x = 1"))
    first.put("text", "b", 2)
    first.put("other", "a", 3)
    assert entries(home) == []
    first.flush()
    assert len(entries(home)) == 2
    again = ParsedSources()
    assert show_block(again.get("text", "a")) == "x = 1\n" and again.get("text", "b") == 2
    assert again.get("other", "a") == 3
    assert again.get("other", "b") is None and again.get("Text", "a") is None


def test_what_two_processes_put_is_kept(home: Path) -> None:
    one, other = ParsedSources(), ParsedSources()
    one.put("text", "a", 1)
    other.put("text", "b", 2)
    one.flush()
    other.flush()
    assert [ParsedSources().get("text", k) for k in "ab"] == [1, 2]


def test_nothing_is_written_twice(home: Path) -> None:
    cache = ParsedSources()
    cache.put("text", "a", 1)
    cache.flush()
    entries(home)[0].unlink()
    cache.flush()
    assert entries(home) == []


def test_another_python_or_parser_reads_nothing(home: Path, monkeypatch) -> None:
    cache = ParsedSources()
    cache.put("text", "a", 1)
    cache.flush()
    with monkeypatch.context() as patch:
        patch.setattr(parsed_sources.platform, "python_version", lambda: "3.99.0")
        assert ParsedSources().get("text", "a") is None
    monkeypatch.setattr(parsed_sources, "_parser_key", lambda: "another parser")
    assert ParsedSources().get("text", "a") is None


@pytest.mark.parametrize("content", [b"", b"nothing", None, b"\x80\x04N."])
def test_a_damaged_entry_is_ignored_and_replaced(home: Path, content: bytes | None) -> None:
    cache = ParsedSources()
    cache.put("text", "a", 1)
    cache.flush()
    (path,) = entries(home)
    path.write_bytes(path.read_bytes()[:-3] if content is None else content)
    again = ParsedSources()
    assert again.get("text", "a") is None
    again.put("text", "a", 2)
    again.flush()
    assert ParsedSources().get("text", "a") == 2


def test_an_entry_of_another_kind_is_ignored(home: Path) -> None:
    cache = ParsedSources()
    cache.put("text", "a", 1)
    cache.flush()
    store.write_entry(entries(home)[0], ["no", "dict"])
    again = ParsedSources()
    assert again.get("text", "a") is None
    again.put("text", "b", 2)
    again.flush()
    assert ParsedSources().get("text", "b") == 2


def test_a_value_that_cannot_be_kept(home: Path) -> None:
    cache = ParsedSources()
    cache.put("text", "a", lambda: 0)
    cache.flush()
    assert entries(home) == [] and cache.get("text", "a") is not None


def test_no_directory_is_no_error(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "file"))
    cache = ParsedSources()
    assert cache.get("text", "a") is None
    cache.put("text", "a", 1)
    cache.flush()


PROGRAM = """
import sys
import numpy as np
import s2s
def f(x):
    return x * 3.0
print(s2s.grad(f, backend="loops")(VALUE), "libcst" in sys.modules)
"""


def run(folder: Path, program: str) -> str:
    (folder / "program.py").write_text(program)
    space = {**os.environ, "S2S_CACHE_DIR": str(folder / "cache")}
    space["PYTHONPATH"] = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=space, capture_output=True, text=True
    )
    assert not done.stderr, done.stderr
    return done.stdout.strip()


def test_a_second_process_does_not_import_libcst(tmp_path: Path) -> None:
    program = PROGRAM.replace("VALUE", "2.0")
    assert run(tmp_path, program) == "3.0 True"
    assert run(tmp_path, program) == "3.0 False"
    # Any change of the file parses it again.
    assert run(tmp_path, program.replace("x * 3.0", "x * 4.0")) == "4.0 True"


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o500)
    try:
        assert run(tmp_path, PROGRAM.replace("VALUE", "2.0")) == "3.0 True"
    finally:
        (tmp_path / "cache").chmod(0o700)


def test_reading_and_writing_without_rights(home: Path, monkeypatch: Any) -> None:
    """As in a directory mounted read-only, whoever runs the test."""
    cache = ParsedSources()
    cache.put("text", "a", 1)
    cache.flush()
    (before,) = entries(home)
    content = before.read_bytes()
    monkeypatch.setattr(store.os, "access", lambda path, mode: False)
    again = ParsedSources()
    assert again.get("text", "a") == 1
    again.put("text", "b", 2)
    again.flush()
    assert before.read_bytes() == content and again.get("text", "b") == 2
