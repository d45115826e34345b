"""Memory over a run of the readable program, line by line.

The readable code is run under CPython, and NumPy tells `tracemalloc` what it allocates.  What is
counted is what the run itself allocates, arguments apart.  Compiled code fuses most of what is a
temporary array here.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

POINTS = 4096  # a longer run is told in larger steps
PATIENCE = 10.0  # seconds


@dataclass
class MemoryTrace:
    """What was allocated, in bytes, step by step: after a line had run, and at most while it ran.
    `complete` is False if the run was ended because it took too long."""

    lines: list[int]
    after: list[int]
    most: list[int]
    steps: int
    complete: bool = True

    @property
    def peak(self) -> int:
        return max(self.most, default=0)


class _Enough(Exception):
    """Ends a run that takes too long."""


class _Recorder:
    """Is told each line that runs.  It allocates nothing itself."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.table = np.zeros((3, POINTS), np.int64)  # line, after, most
        self.used, self.stride, self.steps = 0, 1, 0
        self.line = 0
        self.base = 0
        self.end = time.monotonic() + PATIENCE

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != self.filename:
            return None
        if event == "call" and self.line:
            return self  # a function of the program's own
        if event == "line" or event == "return":
            self.note()
            self.line = frame.f_lineno
        elif event == "call":
            self.base = tracemalloc.get_traced_memory()[0]
        return self

    def note(self) -> None:
        """The line before has run."""
        after, most = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        if not self.line:
            return
        at = self.steps // self.stride
        if at == POINTS:
            self.halve()
            at = self.steps // self.stride
        self.steps += 1
        if at >= self.used:
            self.used = at + 1
            self.table[2, at] = 0
        self.table[0, at] = self.line
        self.table[1, at] = after - self.base
        self.table[2, at] = max(self.table[2, at], most - self.base)
        if self.steps % 1024 == 0 and time.monotonic() > self.end:
            raise _Enough

    def halve(self) -> None:
        """Two steps become one."""
        table, half = self.table, POINTS // 2
        table[2, :half] = np.maximum(table[2, ::2], table[2, 1::2])
        table[:2, :half] = table[:2, 1::2]
        self.used, self.stride = half, 2 * self.stride


def trace(entry: Any, params: tuple[Any, ...]) -> MemoryTrace:
    """Runs an entry's readable code once, on parameters that it may write into."""
    kernel = entry.kernel("python", params)
    buffers = [None] * len(entry.buffers)
    recorder = _Recorder(_filename(kernel))
    before = sys.gettrace()
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start(1)
    complete = True
    try:
        sys.settrace(recorder)
        kernel(params, entry.seed, buffers)
    except _Enough:
        complete = False
    finally:
        sys.settrace(before)
        if started:
            tracemalloc.stop()
    n = recorder.used
    columns = [recorder.table[k, :n].tolist() for k in range(3)]
    floor = [max(0, v) for v in columns[1]]
    most = [max(a, b) for a, b in zip(columns[2], floor)]
    return MemoryTrace(columns[0], floor, most, recorder.steps, complete)


def _filename(kernel: Any) -> str:
    """The name under which the readable code was compiled."""
    cells = dict(zip(kernel.__code__.co_freevars, kernel.__closure__ or ()))
    return cells["space"].cell_contents["__name__"]
