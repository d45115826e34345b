"""Settings of the environment, for a while."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def setting(name: str, value: str | None) -> Iterator[None]:
    """An environment variable; None leaves it as it is."""
    before = os.environ.get(name)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        if before is not None:
            os.environ[name] = before
        else:
            os.environ.pop(name, None)


@contextlib.contextmanager
def cold_cache() -> Iterator[None]:
    """A cache of one's own: what is compiled in it is compiled from scratch."""
    with tempfile.TemporaryDirectory(prefix="s2s-") as folder, setting("S2S_CACHE_DIR", folder):
        yield
