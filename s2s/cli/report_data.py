"""The data that the page of `s2s report` shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..inspect.explain import Report
from ..inspect.side_by_side import Sides
from . import bench, memory_trace
from .loaded_function import Subject


@dataclass
class ReportData:
    """The data of one report.  `times` and `memory` are None if nothing was run."""

    about: Subject
    compiled: Any
    both: Sides
    explained: Report
    passes: list[tuple[str, str]]
    times: bench.Times | None = None
    memory: memory_trace.MemoryTrace | None = None
    workspace: int | None = None  # bytes of the compiled kernel's arrays, if known without a run
