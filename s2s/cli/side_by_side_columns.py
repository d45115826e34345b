"""Two-column layout of a function and its gradient: each emitted line is beside the user's line
that it originates from.

The forward sweep follows the order of the function.  The adjoint sweep traverses it in reverse, so
the user's lines are repeated there, dimmed.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..inspect.side_by_side import Emitted, Place, Sides
from ..transforms.ir.quote import printable_lines


@dataclass(frozen=True)
class Cell:
    """A numbered line.  `mark` is the number of the user's line that it originates from, which
    determines its colour; `place` is the file and line of that."""

    number: int
    text: str
    mark: int | None = None
    place: Place | None = None
    faint: bool = False
    refers: bool = False  # True if the gutter shows the mark


Row = tuple[Cell | None, ...]


def single(both: Sides) -> list[Row]:
    """Rows of one column: the emitted code, each line with the number of the user's line."""
    return [(_emitted(both, line),) for line in both.emitted]


def paired(both: Sides) -> list[Row]:
    """Rows of two columns: the user's function and the emitted code."""
    return _Pairing(both).rows


class _Pairing:
    """Builds the rows of the two-column layout."""

    def __init__(self, both: Sides) -> None:
        self.both, self.listing = both, both.listings[0]
        self.end = self.listing.first + len(self.listing.lines)
        self.following = self.listing.first  # the next line of the user's function to show
        self.shown: int | None = None  # the user's line in the left column of the last row
        self.rows: list[Row] = []
        head: int | None = _head(self.listing.lines) + self.listing.first
        entry = max((e.number for e in both.emitted if e.text.startswith("def ")), default=0)
        for line in both.emitted:
            own = both.own(line)
            if line.number == entry and head is not None:
                own, head = head, None
            self.add(line, own)
        self.user_lines(self.end)

    def add(self, line: Emitted, own: int | None) -> None:
        """Add a line of emitted code.  The user's line is on its left if it differs from the one
        before."""
        right = _emitted(self.both, line)
        if own is None:
            self.rows.append((None, right))
        elif line.sweep == 0 and own >= self.following:
            self.user_lines(own)
            self.rows.append((self.user(own), right))
            self.following = own + 1
        elif own != self.shown:
            if line.sweep:
                self.user_lines(self.next_forward(line))
            self.rows.append((self.user(own, faint=True), right))
        else:
            self.rows.append((None, right))
        self.shown = own

    def user_lines(self, end: int) -> None:
        """Add the user's lines before `end` that are not shown yet, with an empty right column."""
        self.rows += [(self.user(n), None) for n in range(self.following, end)]
        self.following = max(self.following, end)

    def user(self, number: int, faint: bool = False) -> Cell:
        text = self.listing.lines[number - self.listing.first]
        return Cell(number, text, number, (self.listing.file, number), faint)

    def next_forward(self, line: Emitted) -> int:
        """The user's line at which the forward program continues after an adjoint sweep, or the
        end."""
        later = (self.both.own(e) for e in self.both.emitted[line.number :] if not e.sweep)
        return min((n for n in later if n is not None and n >= self.following), default=self.end)


def _head(lines: tuple[str, ...]) -> int:
    """The index of the `def` line, after the decorators."""
    return next((i for i, t in enumerate(lines) if t.lstrip().startswith("def ")), 0)


def _emitted(both: Sides, line: Emitted) -> Cell:
    own = both.own(line)
    place = None if own is None else (both.listings[0].file, own)
    return Cell(line.number, line.text, own, place, refers=True)


def gutter(cell: Cell) -> str:
    """The number of a line, and that of the user's line that it originates from."""
    if not cell.refers:
        return f"{cell.number:4} "
    mark = "" if cell.mark is None else f"L{cell.mark}"
    return f"{cell.number:4} {mark:>5} "


def fitted(text: str, width: int, cut: bool) -> str:
    """The printable text, truncated to the width if `cut`."""
    text = printable_lines(text)
    return text if len(text) <= width or not cut else text[: max(0, width - 1)] + "…"


def plain(row: Row, width: int) -> str:
    """A row as plain text."""
    texts = []
    for cell in row:
        text = "" if cell is None else gutter(cell)
        text += "" if cell is None else fitted(cell.text, width - len(text), len(row) > 1)
        texts.append(text)
    return " │ ".join([*(t.ljust(width) for t in texts[:-1]), texts[-1]])
