"""The facts that `f.explain()` reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..transforms.diagnostics.activity_report import ActiveVariable, Place
from ..transforms.diagnostics.tape_report import Loop, Recomputed, Saved


@dataclass(frozen=True)
class Inactive:
    """An argument, or a part of one, that has no derivative.  `gradient` is what the caller
    gets for it: "0", "None", or "" if none was asked for; `place` is where a tape was asked."""

    name: str
    reason: str
    gradient: str = ""
    place: Place | None = None


@dataclass(frozen=True)
class Recompilation:
    """How often the function was translated for new arguments, and why the last time.
    `again` says why the arguments given would be compiled, "" if they would not."""

    count: int
    reason: str
    again: str = ""


@dataclass(frozen=True)
class OnThreads:
    """A loop of the lowered code that is long enough for threads, or may be, by the line it belongs
    to; `why_not` says why it runs in order all the same, "" if it need not."""

    line: str
    why_not: str = ""


@dataclass
class ReportData:
    """The facts of a report, without its text."""

    title: str
    file: str
    line: int
    derivative: bool
    wrt: tuple[str, ...] = ()
    arguments: list[str] = field(default_factory=list)  # those with a derivative
    active: list[ActiveVariable] = field(default_factory=list)
    inactive: list[Inactive] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)
    kept: list[Saved] = field(default_factory=list)
    recomputed: list[Recomputed] = field(default_factory=list)
    threads: list[OnThreads] = field(default_factory=list)
    no_threads: str = ""  # why there are none, whatever the loops are
    recompiled: Recompilation = field(default_factory=lambda: Recompilation(0, ""))

    @property
    def saved_bytes(self) -> int | None:
        """All that is saved, in bytes, for the sizes at hand; None if only running tells."""
        totals = [s.total.number if s.total is not None else None for s in self.saved]
        return None if None in totals else sum(t for t in totals if t is not None)

    def loops(self) -> dict[tuple[Loop, ...], list[Saved]]:
        """What is saved, by the loops it is saved in."""
        found: dict[tuple[Loop, ...], list[Saved]] = {}
        for s in self.saved:
            found.setdefault(s.loops, []).append(s)
        return found
