"""The `training` flag of the innermost layer call.  A layer without an explicit `training` argument
inherits it."""

from __future__ import annotations

import threading
from typing import Any


class Mode(threading.local):
    """The flag of the layer that is being called; thread-local."""

    training: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)

    # The compiler treats this method as `object.__setattr__`.
    __setattr__._s2s_plain = True  # type: ignore[attr-defined]


MODE = Mode()
