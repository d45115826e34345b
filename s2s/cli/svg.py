"""SVG plots for the self-contained report page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..inspect.explain_text import amount
from ..transforms.ir.quote import html_text

WIDTH, HEIGHT = 960, 260
LEFT, RIGHT, TOP, BOTTOM = 74, 14, 16, 36


def memory_plot(
    after: Sequence[int],
    most: Sequence[int],
    lines: Sequence[int],
    backwards: Sequence[bool],
    steps: int,
) -> str:
    """A plot of memory over the samples of a run; `backwards` marks those of an adjoint sweep."""
    if not after:
        return ""
    top = max(max(most), 1)
    ticks = _ticks(top)
    high = max(1.12 * top, ticks[-1])  # with a margin for the label of the peak
    inner = WIDTH - LEFT - RIGHT

    def x(i: float) -> float:
        return LEFT + inner * i / max(len(after), 1)

    def y(v: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / high)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="plot" '
        f'aria-label="memory over the step, at most {html_text(amount(top))}">'
    ]
    for value in ticks:
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
            f'class="grid"/><text x="{LEFT - 8}" y="{y(value) + 4:.1f}" class="end">'
            f"{html_text(amount(value))}</text>"
        )
    sweeps = _runs(backwards)
    for k, (start, end) in enumerate(sweeps):
        parts.append(
            f'<rect x="{x(start):.1f}" y="{TOP}" width="{x(end) - x(start):.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}" class="sweep"/>'
        )
        if k == 0:
            parts.append(f'<text x="{x(start) + 6:.1f}" y="{HEIGHT - 12}">adjoint sweep</text>')
    parts.append(f'<path d="{_stairs(after, x, y, closed=True)}" class="area"/>')
    parts.append(f'<path d="{_stairs(most, x, y, closed=False)}" class="most"/>')
    at = max(range(len(most)), key=most.__getitem__)
    parts.append(f'<circle cx="{x(at + 0.5):.1f}" cy="{y(most[at]):.1f}" r="3.5" class="peak"/>')
    anchor = "end" if x(at) > WIDTH * 0.7 else "start"
    parts.append(
        f'<text x="{x(at + 0.5):.1f}" y="{y(most[at]) - 9:.1f}" class="strong {anchor}">'
        f"{html_text(amount(top))}, line {lines[at]}</text>"
    )
    parts.append(
        f'<text x="{LEFT}" y="{HEIGHT - 12}">first line</text>'
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 12}" class="end">'
        f"{steps} line{'s' * (steps != 1)} run</text></svg>"
    )
    return "".join(parts)


def _stairs(values: Sequence[int], x, y, closed: bool) -> str:  # type: ignore[no-untyped-def]
    """The path of a step plot."""
    out, last = [], None
    for i, v in enumerate(values):
        if v != last:
            out.append(f"{'L' if out else 'M'}{x(i):.1f} {y(v if last is None else last):.1f}")
            out.append(f"L{x(i):.1f} {y(v):.1f}")
            last = v
    out.append(f"L{x(len(values)):.1f} {y(values[-1]):.1f}")
    if closed:
        out.append(f"L{x(len(values)):.1f} {y(0):.1f}L{x(0):.1f} {y(0):.1f}Z")
    return "".join(out)


def _runs(marked: Sequence[bool]) -> list[tuple[int, int]]:
    """The half-open index ranges of consecutive marked samples."""
    found: list[tuple[int, int]] = []
    for i, mark in enumerate(marked):
        if mark and found and found[-1][1] == i:
            found[-1] = (found[-1][0], i + 1)
        elif mark:
            found.append((i, i + 1))
    return found


def _ticks(top: int) -> list[int]:
    """About four tick values in round steps, from 0 to at least the top."""
    rough = top / 4
    size = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    step = next(s * size for s in (1, 2, 2.5, 5, 10) if s * size >= rough)
    return [int(step * k) for k in range(math.ceil(top / step) + 1)]
