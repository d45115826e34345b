"""Lazy imports: nothing runs before the first use, and then once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from s2s.runtime.lazy_import import lazy_import

TEXT = """
import builtins
builtins.s2s_loaded = getattr(builtins, "s2s_loaded", 0) + 1
value = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"s2s_lazy_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("builtins.s2s_loaded", 0, raising=False)
    yield name
    sys.modules.pop(name, None)


def loaded() -> int:
    import builtins

    return builtins.s2s_loaded  # type: ignore[attr-defined]


def test_a_module_is_loaded_at_its_first_use(module) -> None:
    found = lazy_import(module)
    assert lazy_import(module) is found is sys.modules[module] and loaded() == 0
    assert found.value == 7 and loaded() == 1
    assert found.value == 7 and lazy_import(module) is found and loaded() == 1


def test_a_module_that_is_imported_is_returned(module) -> None:
    plain = __import__(module)
    assert lazy_import(module) is plain and loaded() == 1
    assert lazy_import("sys") is sys


def test_missing_modules_are_errors_at_once() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module") as raised:
        lazy_import("no_such_module")
    assert raised.value.name == "no_such_module" and "no_such_module" not in sys.modules
