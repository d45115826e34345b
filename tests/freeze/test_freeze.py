"""The freeze detects changes, and a sample of the texts matches the stored hashes."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from tests.freeze.__main__ import TEXTS, differences
from tests.freeze.programs import EXAMPLES, SHORT, programs
from tests.freeze.record import code_sections, digest, normalised, recording
from tests.scale import sample

ROOT = Path(__file__).resolve().parents[2]


def test_every_program_has_a_kept_text() -> None:
    assert set(json.loads(TEXTS.read_text())) == set(programs())


def test_every_example_is_made_short() -> None:
    assert set(SHORT) == {path.stem for path in EXAMPLES.glob("*.py")}


def test_texts_of_a_sample() -> None:
    """In a subprocess, because this process has compiled some of the programs already."""
    names = sample([n for n in programs() if n.startswith("corpus/")], 6)
    code = f"from tests.freeze.record import record; print(record({names!r}, False))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    kept = json.loads(TEXTS.read_text())
    assert ast.literal_eval(done.stdout) == {name: kept[name] for name in names}


def test_places_in_our_own_files_do_not_count() -> None:
    text = (
        'from s2s.a.b import f\n    # base.py:12 called > x.py:3 call ...\nraise E("no (x.py:3)")'
    )
    other = 'from s2s.c import f\n    # core.py:9 run\nraise E("no (y.py:7)")'
    assert normalised(text) == normalised(other)
    assert normalised("x = 1  # a remark") != normalised("x = 1  # another remark")


def test_object_code_differs_where_constants_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("S2S_BACKEND", "native")

    def twice(x):
        return np.sum(np.sin(x) * 2.0)

    def thrice(x):
        return np.sum(np.sin(x) * 3.0)

    def hashes(function: Any, cache: str) -> tuple[str, str]:
        monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / cache))
        with recording() as recorded:
            s2s.grad(function)(np.arange(3.0))
        assert recorded.texts and recorded.objects
        return recorded.text_hash(), recorded.object_hash()

    first, other = hashes(twice, "a"), hashes(thrice, "b")
    assert other[0] != first[0] and other[1] != first[1]


def test_other_object_code_is_refused() -> None:
    with pytest.raises(ValueError, match="ELF"):
        code_sections(b"MZ" + bytes(100))


def test_differences() -> None:
    assert differences({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == [
        "a: gone",
        "b: differs",
        "c: new",
    ]
    assert digest(b"a", b"b") != digest(b"ab")
