"""Timing of calls: the best and the median of many batches, each long enough for the clock's
resolution."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MIN_BATCH_SECONDS = 1e-3
MIN_BATCHES = 5


@dataclass(frozen=True)
class Timing:
    """Seconds per call."""

    best: float
    median: float
    calls: int

    def __str__(self) -> str:
        return duration(self.best)


def measure(
    call: Callable[[], Any], seconds: float, before: Callable[[], None] | None = None
) -> Timing:
    """Time calls for about `seconds`, after one untimed warm-up call.  `before` runs before each
    timed call and is not timed itself; with it, a batch is one call."""
    call()
    if before is not None:
        before()
    batch, took = 1, _time(call, 1)
    while took < MIN_BATCH_SECONDS and batch < 10**7 and before is None:
        batch = max(2 * batch, int(batch * MIN_BATCH_SECONDS / max(took, 1e-9)))
        took = _time(call, batch)
    each = [took / batch]
    end = time.perf_counter() + seconds
    collecting = gc.isenabled()
    gc.disable()
    try:
        while time.perf_counter() < end or (len(each) < MIN_BATCHES and took < seconds):
            if before is not None:
                before()
            each.append(_time(call, batch) / batch)
    finally:
        if collecting:
            gc.enable()
    return Timing(min(each), statistics.median(each), batch * len(each))


def _time(call: Callable[[], Any], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return time.perf_counter() - start


def duration(seconds: float) -> str:
    """A time with three significant digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
