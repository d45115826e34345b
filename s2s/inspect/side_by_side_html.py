"""A function beside its gradient, as HTML: a line under the mouse pointer is highlighted together
with its counterparts on the other side.  Pure CSS, no script."""

from __future__ import annotations

from ..transforms.ir.quote import html_text
from .highlight import MARKS, marked, themed
from .side_by_side import Emitted, Listing, Place, Sides

STYLE = """
.s2s-sides { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 12px;
  align-items: start;
  font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--text); }
.s2s-side { background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
  overflow-x: auto; padding: 6px 0; }
.s2s-side h4 { margin: 8px 12px 4px; font: 600 12px system-ui, sans-serif; color: var(--faint); }
.s2s-side h4:first-child { margin-top: 2px; }
.s2s-line { display: flex; min-width: max-content; white-space: pre; padding-right: 12px; }
.s2s-line > b { flex: none; width: 3.6em; padding-right: 1em; text-align: right;
  font-weight: normal; color: var(--faint); user-select: none; }
.s2s-line > u { flex: none; width: 3.4em; padding-right: 1em; text-align: right;
  text-decoration: none; color: var(--accent); user-select: none; }
@media (max-width: 900px) { .s2s-sides { grid-template-columns: minmax(0, 1fr); } }
"""


def sides_html(both: Sides, name: str) -> str:
    """The two sides; `name` is the id of the element, which must be unique on its page."""
    number = _numbers(both)
    left = "".join(_listing(listing, number) for listing in both.listings)
    right = "".join(_emitted(both, line, number) for line in both.emitted)
    return (
        f'<div class="s2s-sides" id="{html_text(name)}"><style>{_hover(name, number)}</style>'
        f'<div class="s2s-side s2s-left">{left}</div>'
        f'<div class="s2s-side s2s-right"><h4>emitted</h4>{right}</div></div>'
    )


def standalone_html(both: Sides, name: str) -> str:
    """Like `sides_html`, with all styles, for a page that does not define them."""
    return f"<style>{themed(f'#{name}')}{MARKS}{STYLE}</style>{sides_html(both, name)}"


def _numbers(both: Sides) -> dict[Place, int]:
    """An index for each of the user's lines that has counterparts."""
    places = [
        (listing.file, listing.first + k)
        for listing in both.listings
        for k in range(len(listing.lines))
    ]
    return {place: i for i, place in enumerate(p for p in places if p in both.counterparts)}


def _listing(listing: Listing, number: dict[Place, int]) -> str:
    rows = []
    for k, text in enumerate(listing.lines):
        place = (listing.file, listing.first + k)
        name = f" p{number[place]}" if place in number else ""
        rows.append(
            f'<div class="s2s-line{name}"><b>{place[1]}</b><span>{marked(text)}</span></div>'
        )
    return f"<h4>{html_text(listing.title)}</h4>{''.join(rows)}"


def _emitted(both: Sides, line: Emitted, number: dict[Place, int]) -> str:
    """One emitted line.  Class `p7`: the line originates from the user's line with index 7; `c7`:
    it originates from code that line 7 calls."""
    known = [number[p] for p in line.origins if p in number]
    names = "".join(f" {'c' if k else 'p'}{n}" for k, n in enumerate(known))
    own = both.own(line)
    label = "" if own is None else f"L{own}"
    where = " ← ".join(f"{file}:{n}" for file, n in line.origins)
    title = f' title="{html_text(where)}"' if len(line.origins) > 1 else ""
    return (
        f'<div class="s2s-line{names}"{title}><b>{line.number}</b><u>{label}</u>'
        f"<span>{marked(line.text)}</span></div>"
    )


def _hover(name: str, number: dict[Place, int]) -> str:
    """CSS rules that highlight the counterparts of the line under the pointer."""
    own, rules = f"#{name}", []
    for n in number.values():
        lit = (
            f"{own}:has(.s2s-left .p{n}:hover) :is(.p{n}, .c{n})",
            f"{own}:has(.s2s-right .p{n}:hover) .p{n}",
            f"{own}:has(.s2s-right .c{n}:hover) .s2s-left .p{n}",
        )
        rules.append(f"{', '.join(lit)} {{ background: var(--lit); }}")
    return "\n".join(rules)
