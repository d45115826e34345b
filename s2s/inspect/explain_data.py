"""The data of `f.explain()`."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..transforms.diagnostics.activity_report import ActiveVariable, SourceLocation
from ..transforms.diagnostics.tape_report import Loop, Recomputed, Saved


@dataclass(frozen=True)
class Inactive:
    """An argument, or a part of one, that has no derivative.  `gradient` is what the caller gets
    for it: "0", "None", or "" if none was requested; `place` is the query of a tape, if any."""

    name: str
    reason: str
    gradient: str = ""
    place: SourceLocation | None = None


@dataclass(frozen=True)
class Recompilation:
    """How often the function was compiled for new arguments, and the reason for the last time.
    `again` is the reason why the given arguments would be recompiled, "" if they would not."""

    count: int
    reason: str
    again: str = ""


@dataclass(frozen=True)
class OnThreads:
    """A loop of the lowered code that is, or may be, long enough for threads, by its source line;
    `why_not` is the reason why it still runs serially, "" if it is parallelised."""

    line: str
    why_not: str = ""


@dataclass(frozen=True)
class DeviceLoop:
    """A loop on a device: `kind` is "grid", "thread" (of one thread) or "host"; `why` tells why it
    is not a grid."""

    line: str
    kind: str
    why: str = ""


@dataclass(frozen=True)
class OnDevice:
    """What a call does on a device.  Numbers are those of the places in the host function.
    `copied_bytes` are those of arguments that each call copies to the device."""

    target: str
    loops: list[DeviceLoop]
    launches: int = 0
    grids: int = 0
    one_thread: int = 0
    products: int = 0
    host_loops: int = 0
    synchronisations: int = 0
    atomics: int = 0
    copied_bytes: int = 0


@dataclass
class ReportData:
    """The data of a report, without its text."""

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
    no_threads: str = ""  # why threads are not used at all
    device: OnDevice | None = None  # for a target other than the CPU
    recompiled: Recompilation = field(default_factory=lambda: Recompilation(0, ""))

    @property
    def saved_bytes(self) -> int | None:
        """The total that is saved, in bytes, for the current sizes; None if it is known only at run
        time."""
        totals = [s.total.number if s.total is not None else None for s in self.saved]
        return None if None in totals else sum(t for t in totals if t is not None)

    def loops(self) -> dict[tuple[Loop, ...], list[Saved]]:
        """The saved values, grouped by their enclosing loops."""
        found: dict[tuple[Loop, ...], list[Saved]] = {}
        for s in self.saved:
            found.setdefault(s.loops, []).append(s)
        return found
