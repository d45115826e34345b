"""Parsed functions, kept on disk, so that a second process does not parse them again.

There is one entry per text of a file.  It maps functions of the file to core syntax.  Above all it
spares the import of libcst where only functions are compiled that were read before: the layers of
this package in a new model, a function for other types of arguments, the block of a tape.
"""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path
from typing import Any

from ..transforms import frontend, syntax
from ..transforms.frontend import parse_cache
from . import store
from .source_key import source_key


@functools.cache
def _parser_key() -> str:
    return source_key(*(os.path.dirname(str(p.__file__)) for p in (frontend, syntax)))


class ParsedSources:
    """Implements `parse_cache.ParseCache`.  `flush` writes what was put since."""

    def __init__(self) -> None:
        self.files: dict[Path, dict[str, Any]] = {}
        self.unwritten: set[Path] = set()

    def _entry(self, text: str) -> tuple[Path, dict[str, Any]]:
        key = store.digest(text, platform.python_version(), _parser_key())
        path = store.directory() / f"parsed_{key}"
        if path not in self.files:
            found = store.read_entry(path)
            self.files[path] = found if isinstance(found, dict) else {}
        return path, self.files[path]

    def get(self, text: str, key: str) -> Any:
        try:
            return self._entry(text)[1].get(key)
        except Exception:  # a failure of the cache must not be an error of the program
            return None

    def put(self, text: str, key: str, value: Any) -> None:
        try:
            path, entry = self._entry(text)
        except Exception:
            return
        entry[key] = value
        self.unwritten.add(path)

    def flush(self) -> None:
        while self.unwritten:
            path = self.unwritten.pop()
            try:
                kept = store.read_entry(path)  # perhaps with functions of another process
                kept = kept if isinstance(kept, dict) else {}
                store.write_entry(path, {**kept, **self.files[path]})
            except Exception:
                continue


_parsed = ParsedSources()


def install() -> None:
    """Let the compiler use the cache of this process."""
    parse_cache.install(_parsed)


def flush() -> None:
    _parsed.flush()
