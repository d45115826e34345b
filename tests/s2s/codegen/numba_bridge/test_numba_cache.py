"""The cache of functions that Numba compiled: entries by content, and none that cannot be used."""

# ruff: noqa: E402

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")
from numba import njit, types
from numba.core.registry import cpu_target

from s2s.codegen.numba_bridge import numba_cache
from s2s.codegen.numba_bridge.numba_cache import EntryCache, cache_code, cached


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    return tmp_path


def entries(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("numba_"))


def plus(x):
    return x + 1.0


def test_code_is_loaded_instead_of_compiled(folder, monkeypatch) -> None:
    first = cached(njit)(plus)
    assert first(2.0) == 3.0 and len(entries(folder)) == 1
    monkeypatch.setattr(EntryCache, "save_overload", lambda *args: pytest.fail("compiled again"))
    second = cached(njit)(plus)
    assert second(2.0) == 3.0
    assert sum(second.stats.cache_hits.values()) == 1


def test_each_signature_has_an_entry(folder) -> None:
    function = cached(njit)(plus)
    function(2.0), function(2), function(np.ones(3))
    assert len(entries(folder)) == 3
    function(np.zeros(3))
    assert len(entries(folder)) == 3


def made(factor: float) -> Any:
    def scaled(x):
        return x * factor

    return scaled


def test_closures_of_other_values_have_other_entries(folder) -> None:
    """They are of one name and one bytecode."""
    assert [cached(njit)(made(f))(2.0) for f in (3.0, 5.0, 3.0)] == [6.0, 10.0, 6.0]
    assert len(entries(folder)) == 2


def test_damaged_entries_are_compiled_again(folder) -> None:
    cached(njit)(plus)(2.0)
    (name,) = entries(folder)
    content = (folder / name).read_bytes()
    for damage in (b"", content[:40], content[:-9] + b"123456789", b"x" * len(content)):
        (folder / name).write_bytes(damage)
        assert cached(njit)(plus)(2.0) == 3.0


def test_code_with_symbols_that_do_not_exist_is_not_loaded(folder, monkeypatch) -> None:
    """LLVM would end the process."""
    cached(njit)(plus)(2.0)
    kept = numba_cache.store.read_entry(folder / entries(folder)[0])
    monkeypatch.setattr(numba_cache.store, "read_entry", lambda path: (["no_such_symbol"], kept[1]))
    cache = EntryCache(plus)
    assert cache.load_overload((types.float64,), cpu_target.target_context) is None
    monkeypatch.setattr(numba_cache.store, "read_entry", lambda path: ([], b"not a pickle"))
    assert cache.load_overload((types.float64,), cpu_target.target_context) is None


def test_a_cache_that_is_off(folder) -> None:
    cache = EntryCache(plus)
    dispatcher = cache_code(njit(plus), plus)
    dispatcher._cache.disable()
    assert dispatcher(2.0) == 3.0 and entries(folder) == []
    assert cache.enabled and cache.cache_path == str(folder)
    cache.disable()
    assert cache.load_overload((types.float64,), cpu_target.target_context) is None
    cache.enable()
    cache.flush()
    assert cache.enabled


def test_plain_functions_stay_as_they_are() -> None:
    """As under NUMBA_DISABLE_JIT."""
    assert cache_code(plus, plus) is plus
