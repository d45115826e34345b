"""Where parsed functions are kept between processes, if whoever runs the compiler keeps them.

The compiler itself does not touch the disk.  `s2s.cache.parsed_sources` installs a cache here.
"""

from __future__ import annotations

from typing import Any, Protocol


class ParseCache(Protocol):
    """Maps a text (of a whole file) and a key to what was parsed; values can be pickled."""

    def get(self, text: str, key: str) -> Any: ...
    def put(self, text: str, key: str, value: Any) -> None: ...


installed: ParseCache | None = None


def install(cache: ParseCache | None) -> None:
    global installed
    installed = cache


def get(text: str, key: str) -> Any:
    """The value kept for a text and a key, or None."""
    return None if installed is None else installed.get(text, key)


def put(text: str, key: str, value: Any) -> None:
    if installed is not None:
        installed.put(text, key, value)
