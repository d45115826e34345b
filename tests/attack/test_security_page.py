"""The tests that SECURITY.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tests_that_are_named_exist() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\S+?\.py)?::(\w+)`", page)
    assert len(named) > 12
    last = ""
    for path, name in named:
        last = path or last
        text = (ROOT / last).read_text(encoding="utf-8")
        assert f"def {name}(" in text, f"{last}::{name}"
    for path in re.findall(r"tests/\w+/\w+\.py", page):
        assert (ROOT / path).exists(), path
