"""Whether a model is being trained: layers know it from those around them, if they are not told."""

from __future__ import annotations

import threading
from typing import Any


class Mode(threading.local):
    """What the layer that is at work was told; each thread has its own."""

    training: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)

    # To the compiler this is as good as object's own.
    __setattr__._s2s_plain = True  # type: ignore[attr-defined]


MODE = Mode()
