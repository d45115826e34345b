"""Environment variables for the duration of a block."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from s2s.cli.environment import cold_cache, setting

NAME = "S2S_TEST_SETTING"


@pytest.mark.parametrize("before", [None, "old"])
@pytest.mark.parametrize("value", [None, "new", ""])
def test_setting(before: str | None, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if before is not None:
        monkeypatch.setenv(NAME, before)
    with setting(NAME, value):
        assert os.environ.get(NAME) == (before if value is None else value)
        os.environ[NAME] = "changed inside"
    assert os.environ.get(NAME) == before
    with pytest.raises(RuntimeError), setting(NAME, value):
        raise RuntimeError
    assert os.environ.get(NAME) == before


def test_cold_cache() -> None:
    before = os.environ["S2S_CACHE_DIR"]
    with cold_cache():
        folder = Path(os.environ["S2S_CACHE_DIR"])
        assert folder.is_dir() and list(folder.iterdir()) == [] and str(folder) != before
        (folder / "file").write_text("x")
    assert not folder.exists() and os.environ["S2S_CACHE_DIR"] == before
