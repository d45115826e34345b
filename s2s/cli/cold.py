"""A cache of one's own, for a while: what is compiled in it is compiled from scratch."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def cold_cache() -> Iterator[None]:
    before = os.environ.get("S2S_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="s2s-") as folder:
        os.environ["S2S_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["S2S_CACHE_DIR"]
            else:
                os.environ["S2S_CACHE_DIR"] = before
