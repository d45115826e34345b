"""A function and its gradient in two columns: each line of the gradient beside the line of the
user's that it belongs to.

The forward sweep runs along the function; in the adjoint sweep, which runs backwards through it,
the lines of the function are shown again, faintly.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..inspect.side_by_side import Emitted, Place, Sides
from ..transforms.ir.quote import printable_lines


@dataclass(frozen=True)
class Cell:
    """A numbered line.  `mark` is the user's line that it belongs to, by which it is coloured,
    and `place` where that is."""

    number: int
    text: str
    mark: int | None = None
    place: Place | None = None
    faint: bool = False
    refers: bool = False  # whether the mark is shown


Row = tuple[Cell | None, ...]


def single(both: Sides) -> list[Row]:
    """The emitted code, each line with the number of the user's line."""
    return [(_emitted(both, line),) for line in both.emitted]


def paired(both: Sides) -> list[Row]:
    """The user's function beside the emitted code."""
    return _Pairing(both).rows


class _Pairing:
    def __init__(self, both: Sides) -> None:
        self.both, self.listing = both, both.listings[0]
        self.end = self.listing.first + len(self.listing.lines)
        self.following = self.listing.first  # the next line of the user's that is to be shown
        self.shown: int | None = None  # the one that stands on the left already
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
        """A line of emitted code, and on its left the user's if that is another than before."""
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
        """The user's lines up to one, beside nothing."""
        self.rows += [(self.user(n), None) for n in range(self.following, end)]
        self.following = max(self.following, end)

    def user(self, number: int, faint: bool = False) -> Cell:
        text = self.listing.lines[number - self.listing.first]
        return Cell(number, text, number, (self.listing.file, number), faint)

    def next_forward(self, line: Emitted) -> int:
        """The user's line that is next after a sweep, after which a program may go on."""
        later = (self.both.own(e) for e in self.both.emitted[line.number :] if not e.sweep)
        return min((n for n in later if n is not None and n >= self.following), default=self.end)


def _head(lines: tuple[str, ...]) -> int:
    """The position of the `def` line, below the decorators."""
    return next((i for i, t in enumerate(lines) if t.lstrip().startswith("def ")), 0)


def _emitted(both: Sides, line: Emitted) -> Cell:
    own = both.own(line)
    place = None if own is None else (both.listings[0].file, own)
    return Cell(line.number, line.text, own, place, refers=True)


def gutter(cell: Cell) -> str:
    """The number of a line, and of the user's line that it belongs to."""
    if not cell.refers:
        return f"{cell.number:4} "
    mark = "" if cell.mark is None else f"L{cell.mark}"
    return f"{cell.number:4} {mark:>5} "


def fitted(text: str, width: int, cut: bool) -> str:
    text = printable_lines(text)
    return text if len(text) <= width or not cut else text[: max(0, width - 1)] + "…"


def plain(row: Row, width: int) -> str:
    """A row as text."""
    texts = []
    for cell in row:
        text = "" if cell is None else gutter(cell)
        text += "" if cell is None else fitted(cell.text, width - len(text), len(row) > 1)
        texts.append(text)
    return " │ ".join([*(t.ljust(width) for t in texts[:-1]), texts[-1]])
