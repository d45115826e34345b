"""A function and its gradient in two columns: each line of the gradient beside the line of the
user's that it belongs to.

The forward sweep runs along the function; in the adjoint sweep, which runs backwards through it,
the lines of the function are shown again, faintly.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..sides import Emitted, Place, Sides


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
    listing = both.listings[0]
    rows: list[Row] = []
    following = listing.first  # the next line of the function that has not been shown
    shown: int | None = None  # the line that stands on the left already

    def user(number: int, faint: bool) -> Cell:
        text = listing.lines[number - listing.first]
        return Cell(number, text, number, (listing.file, number), faint)

    started = False
    for line in both.emitted:
        own = both.own(line)
        if not started and line.text.startswith("def ") and own is None:
            started = True  # the function's head stands beside the emitted one's
            head = _head(listing.lines) + listing.first
            rows += [(user(n, False), None) for n in range(following, head)]
            rows.append((user(head, False), _emitted(both, line)))
            following, shown = head + 1, head
            continue
        if own is None or not started:
            rows.append((None, _emitted(both, line)))
            shown = None if own is None else shown
            continue
        if line.sweep == 0 and own >= following:
            rows += [(user(n, False), None) for n in range(following, own)]
            rows.append((user(own, False), _emitted(both, line)))
            following, shown = own + 1, own
        elif own != shown:
            rows.append((user(own, True), _emitted(both, line)))
            shown = own
        else:
            rows.append((None, _emitted(both, line)))
        if line.sweep and following <= listing.first + len(listing.lines) - 1:
            end = listing.first + len(listing.lines)
            rest: list[Row] = [(user(n, False), None) for n in range(following, end)]
            rows[-1:-1] = rest
            following = end
    end = listing.first + len(listing.lines)
    rows += [(user(n, False), None) for n in range(following, end)]
    return rows


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
    return text if len(text) <= width or not cut else text[: max(0, width - 1)] + "…"


def plain(row: Row, width: int) -> str:
    """A row as text."""
    texts = []
    for cell in row:
        text = "" if cell is None else gutter(cell)
        text += "" if cell is None else fitted(cell.text, width - len(text), len(row) > 1)
        texts.append(text)
    return " │ ".join([*(t.ljust(width) for t in texts[:-1]), texts[-1]])
