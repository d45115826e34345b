"""A function beside its emitted code, with the correspondence of lines.

Every line of emitted code has a source location (`Compiled.places`).  One side shows the user's
function and the helpers that were inlined into it, the other the emitted code; each line is mapped
to its counterparts on the other side.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import SourceError
from ..transforms.frontend.source import Source, function_at, read
from ..transforms.ir.quote import file_name

Place = tuple[str, int]  # a file and a line


@dataclass(frozen=True)
class Listing:
    """Consecutive lines of a user's file; `first` is the number of the first one."""

    title: str
    file: str
    first: int
    lines: tuple[str, ...]

    def __contains__(self, place: object) -> bool:
        return (
            isinstance(place, tuple)
            and place[0] == self.file
            and self.first <= place[1] < self.first + len(self.lines)
        )


@dataclass(frozen=True)
class Emitted:
    """A line of emitted code.  `origins` are its source locations in the user's code: the line
    itself, then the call stack that led there, innermost first; empty for a line without a
    counterpart.  `sweep` is the adjoint sweep it belongs to, or 0."""

    number: int
    text: str
    origins: tuple[Place, ...] = ()
    sweep: int = 0


@dataclass
class Sides:
    """The user's lines, the emitted lines, and the map from the former to the latter."""

    listings: list[Listing]
    emitted: list[Emitted]
    counterparts: dict[Place, list[int]] = field(default_factory=dict)

    def own(self, line: Emitted) -> int | None:
        """The line number in the user's function that an emitted line originates from, or None."""
        first = self.listings[0] if self.listings else ()
        return next((p[1] for p in line.origins if p in first), None)


def sides(function: Any, compiled: Any) -> Sides:
    """Pair a plain function with the NumPy-level code emitted for it."""
    emitted = []
    for number, text in enumerate(compiled.source.splitlines(), 1):
        location = compiled.places.get(number)
        if location is None:
            emitted.append(Emitted(number, text))
        else:
            origins = ((location.file, location.line), *reversed(location.calls))
            emitted.append(Emitted(number, text, tuple(dict.fromkeys(origins)), location.sweep))
    found = Sides(_listings(function, emitted), emitted)
    for line in emitted:
        for place in line.origins:
            found.counterparts.setdefault(place, []).append(line.number)
    return found


def _listings(function: Any, emitted: Iterable[Emitted]) -> list[Listing]:
    """The source of the function, then that of the helpers inlined into it."""
    try:
        source = read(function)
    except SourceError:
        return []
    found = [_listing(source)]
    for line in emitted:
        for place in line.origins:
            if not any(place in listing for listing in found):
                found += _helper(*place)
    return found


def _listing(source: Source) -> Listing:
    title = f"{file_name(source.file)}:{source.node.line}"
    lines = tuple(source.line(n) for n in range(source.first, source.last + 1))
    return Listing(title, source.file, source.first, lines)


def _helper(file: str, line: int) -> list[Listing]:
    """The innermost function that contains a line."""
    try:
        source = function_at(file, linecache.getlines(file), line)
    except SourceError:
        return []
    if source is None:
        return []
    first, last = source.node.line, source.last
    title = f"{file_name(file)}:{first} {source.node.name.strip('<>')}"
    return [Listing(title, file, first, tuple(source.line(n) for n in range(first, last + 1)))]
