"""Context managers that set environment variables temporarily."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def setting(name: str, value: str | None) -> Iterator[None]:
    """Set an environment variable for the duration of the block; None leaves it as it is."""
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
    """Use an empty temporary cache directory, so that everything is compiled from scratch."""
    with tempfile.TemporaryDirectory(prefix="s2s-") as folder, setting("S2S_CACHE_DIR", folder):
        yield
