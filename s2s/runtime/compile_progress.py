"""One line on stderr while a compilation takes longer than a second.

The line is shown on a terminal, or always with `S2S_PROGRESS=1` (never with 0), and is
erased when the work is done.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType

DELAY = 1.0  # seconds before the line is shown
PERIOD = 0.2  # seconds between updates


class Progress:
    """Context manager that shows the line: `with Progress("loss") as p: p.stage("compiling"); …`"""

    def __init__(self, name: str) -> None:
        self.name = name
        self.doing = ""
        self.shown = False
        self.done = threading.Event()
        self.thread: threading.Thread | None = None

    def stage(self, doing: str) -> None:
        self.doing = doing

    def __enter__(self) -> Progress:
        if wanted():
            self.start = time.monotonic()
            self.thread = threading.Thread(target=self._run, name="s2s progress", daemon=True)
            self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.thread is not None:
            self.done.set()
            self.thread.join()
            if self.shown:
                _put("\r\x1b[K")

    def _run(self) -> None:
        wait = DELAY
        while not self.done.wait(wait):
            elapsed = time.monotonic() - self.start
            _put(f"\r\x1b[Ks2s: {self.name}: {self.doing} ({elapsed:.0f} s)")
            self.shown = True
            wait = PERIOD


def wanted() -> bool:
    """True if the line is to be shown: by `S2S_PROGRESS`, or on a terminal."""
    setting = os.environ.get("S2S_PROGRESS")
    if setting:
        return setting != "0"
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False


def _put(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # a failure to show progress is ignored
        pass
