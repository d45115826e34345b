"""Memory profile of a run of the readable program, line by line.

The readable code runs under CPython, where NumPy reports its allocations to `tracemalloc`.  Only
allocations of the run itself are counted, not the arguments.  Compiled code fuses most of the
temporary arrays that appear here.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

MAX_SAMPLES = 4096  # maximum number of samples; a longer run has several lines per sample
TIME_LIMIT_SECONDS = 10.0  # time limit of a run in seconds


@dataclass
class MemoryTrace:
    """Allocated bytes per sample: `after` a line has run, and `most`, the peak while it ran.
    `complete` is False if the run was stopped at the time limit."""

    lines: list[int]
    after: list[int]
    most: list[int]
    steps: int
    complete: bool = True

    @property
    def peak(self) -> int:
        return max(self.most, default=0)


class _TimeLimitReached(Exception):
    """Stops a run that exceeds the time limit."""


class _Recorder:
    """A trace function that records memory at each executed line.  It allocates nothing itself."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.table = np.zeros((3, MAX_SAMPLES), np.int64)  # line, after, most
        self.used, self.stride, self.steps = 0, 1, 0
        self.line = 0
        self.base = 0
        self.end = time.monotonic() + TIME_LIMIT_SECONDS

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != self.filename:
            return None
        if event == "call" and self.line:
            return self  # a function that the program defines
        if event == "line" or event == "return":
            self.note()
            self.line = frame.f_lineno
        elif event == "call":
            self.base = tracemalloc.get_traced_memory()[0]
        return self

    def note(self) -> None:
        """Record the memory of the line that has just run."""
        after, most = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        if not self.line:
            return
        at = self.steps // self.stride
        if at == MAX_SAMPLES:
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
            raise _TimeLimitReached

    def halve(self) -> None:
        """Merge pairs of samples, which doubles the number of lines per sample."""
        table, half = self.table, MAX_SAMPLES // 2
        table[2, :half] = np.maximum(table[2, ::2], table[2, 1::2])
        table[:2, :half] = table[:2, 1::2]
        self.used, self.stride = half, 2 * self.stride


def trace(entry: Any, params: tuple[Any, ...]) -> MemoryTrace:
    """Run the readable code of an entry once and return its memory profile.  The run may mutate
    the parameters."""
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
    except _TimeLimitReached:
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
    """The file name under which the readable code was compiled."""
    return kernel.space["__name__"]
