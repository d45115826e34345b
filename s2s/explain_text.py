"""The report of `f.explain()` as text."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .explain import Report
    from .transforms.explain import ActiveVariable, Place
    from .transforms.explain_memory import Loop, Recomputed, Saved, Size

WIDTH = 88


def text(report: Report) -> str:
    place = f"{os.path.basename(report.file)}:{report.line}"
    one = f"{report.title}  --  {place}"
    lines = [one] if len(one) <= WIDTH else [report.title, place]
    if report.derivative:
        lines += _active(report) + _inactive(report) + _saved(report) + _recomputed(report)
    else:
        lines += ["", "No derivative is taken: nothing is active, saved or recomputed."]
    return "\n".join([*lines, *_recompiled(report)])


def _table(rows: Iterable[tuple[str, str]], indent: int = 2) -> list[str]:
    """Two columns; the second is wrapped."""
    rows = list(rows)
    width = min(max((len(name) for name, _ in rows), default=0), 28)
    lines = []
    for name, what in rows:
        head = " " * indent + name.ljust(width)
        folded = textwrap.wrap(what, WIDTH - indent - width - 2) or [""]
        lines.append(f"{head}  {folded[0]}".rstrip())
        lines += [" " * (indent + width + 2) + more for more in folded[1:]]
    return lines


# ---------------------------------------------------------------- activity


def _active(report: Report) -> list[str]:
    rows = [(", ".join(report.arguments), "argument" + "s" * (len(report.arguments) > 1))]
    rows = rows if report.arguments else []
    rows += [(v.name, _where(v)) for v in report.active if v.name not in report.arguments]
    if not rows:
        return ["", "Active: nothing"]
    wrt = ", ".join(report.wrt)
    what = f"what depends on {wrt} and reaches the result" if wrt else "lines with derivatives"
    return ["", *textwrap.wrap(f"Active: {what}", WIDTH, subsequent_indent="  "), *_table(rows)]


def _where(v: ActiveVariable) -> str:
    if v.inside:
        return f"in {v.inside}"
    return ", ".join(dict.fromkeys(f"L{p.line}" for p in v.places))


def _inactive(report: Report) -> list[str]:
    if not report.inactive:
        return []
    told = {"0": "gradient 0: ", "None": "gradient None: ", "": ""}
    rows = [(x.name, told[x.gradient] + x.reason) for x in report.inactive]
    return ["", "Without a derivative", *_table(rows)]


# ---------------------------------------------------------------- memory


def _saved(report: Report) -> list[str]:
    if not report.saved:
        return ["", "Saved for the adjoint sweep: nothing"]
    total = report.saved_bytes
    whole = "" if total is None else f": {amount(total)}"
    lines = ["", f"Saved for the adjoint sweep{whole}"]
    for loops, saved in report.loops().items():
        lines.append(f"  {_nest(loops)}")
        lines += _table(((_named(s), _bytes(s.per_iteration)) for s in saved), 4)
        lines += [f"    {line}" for line in _sum(loops, saved)]
    return lines


def _nest(loops: tuple[Loop, ...]) -> str:
    if not loops:
        return "once"
    return "in each iteration of " + ", ".join(_place(loop.place) for loop in reversed(loops))


def _place(place: Place | None) -> str:
    return "a loop" if place is None else f"L{place.line} `{place.text.rstrip(':')}`"


def _named(s: Saved) -> str:
    name = s.expression if s.expression and len(s.expression) <= 24 else s.name
    return f"{name} (L{s.place.line})" if s.place is not None else name


def _bytes(size: Size | None) -> str:
    if size is None:
        return "a list"
    if size.number is None:
        return f"{size.formula} bytes"
    if size.formula == str(size.number):
        return amount(size.number)
    return f"{size.formula} bytes = {amount(size.number)}"


def _sum(loops: tuple[Loop, ...], saved: list[Saved]) -> list[str]:
    """What a loop's iterations save together."""
    if not loops:
        return []
    each = [s.per_iteration.number if s.per_iteration is not None else None for s in saved]
    totals = [s.total.number if s.total is not None else None for s in saved]
    times = saved[0].iterations
    if times is None:
        tail = "as often as the loop runs"
    else:
        known = times.number is not None and times.formula != str(times.number)
        tail = times.formula + (f" = {times.number}" if known else "") + " times"
    head = ""
    if None not in each and len(saved) > 1:
        head = f"{amount(sum(n for n in each if n is not None))} together, "
    if None not in totals:
        tail += f": {amount(sum(n for n in totals if n is not None))}"
    return [f"{head}{tail}"]


def amount(number: int) -> str:
    """A number of bytes, as people say it."""
    if number < 1000:
        return f"{number} B"
    value = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.95 or unit == "TB":
            break
    return f"{value:.1f} {unit}"


def _recomputed(report: Report) -> list[str]:
    if not report.recomputed:
        return []
    rows = [(_again(r), _why(r)) for r in report.recomputed]
    return ["", "Computed again in the adjoint sweep", *_table(rows)]


def _again(r: Recomputed) -> str:
    return r.expression or r.name


def _why(r: Recomputed) -> str:
    where = f"L{r.place.line}" if r.place is not None else ""
    if r.why == "cheap":
        return where
    why = {"checkpoint": "s2s.checkpoint", "call": "called recursively: nothing of it is kept"}
    return ", ".join(filter(None, (where, why[r.why])))


# ---------------------------------------------------------------- compilation


def _recompiled(report: Report) -> list[str]:
    r = report.recompiled
    if r.count == 0:
        return ["", "Not compiled yet"]
    times = {1: "once", 2: "twice"}.get(r.count, f"{r.count} times")
    lines = ["", f"Compiled {times}"]
    if r.reason:
        lines[-1] += ", the last time because " + r.reason
    lines = ["", *textwrap.wrap(lines[-1], WIDTH, subsequent_indent="  ")]
    if r.again:
        again = f"The arguments given would be compiled anew: {r.again}"
        lines += textwrap.wrap(again, WIDTH, subsequent_indent="  ")
    return lines
