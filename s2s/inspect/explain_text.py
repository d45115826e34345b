"""The report of `f.explain()` as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..transforms.ir.quote import file_name, printable

if TYPE_CHECKING:
    from ..transforms.diagnostics.activity_report import ActiveVariable, SourceLocation
    from ..transforms.diagnostics.tape_report import Loop, Saved, Size
    from .explain_data import OnDevice, ReportData

WIDTH = 88


def text(report: ReportData) -> str:
    """The report as text, at most `WIDTH` columns wide."""
    place = f"{file_name(report.file)}:{report.line}"
    title = printable(report.title)
    one = f"{title}  --  {place}"
    lines = [one] if len(one) <= WIDTH else [*_wrapped(title), f"  {place}"]
    if report.derivative:
        lines += _active(report) + _inactive(report) + _saved(report) + _kept(report)
        lines += _recomputed(report)
    else:
        lines += ["", "No derivative is taken: nothing is active, saved or recomputed."]
    return "\n".join([*lines, *_threads(report), *_device(report), *_recompiled(report)])


def _wrapped(line: str, indent: int = 0) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(line, WIDTH, initial_indent=pad, subsequent_indent=pad + "  ")


def _table(rows: Iterable[tuple[str, str]], indent: int = 2) -> list[str]:
    """Two columns as lines; the second column is wrapped."""
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


def _active(report: ReportData) -> list[str]:
    rows = [(", ".join(report.arguments), "argument" + "s" * (len(report.arguments) > 1))]
    rows = rows if report.arguments else []
    rows += [
        (v.name, _where(v, report.file)) for v in report.active if v.name not in report.arguments
    ]
    if not rows:
        return ["", "Active: nothing"]
    wrt = ", ".join(report.wrt)
    what = f"what depends on {wrt} and reaches the result" if wrt else "lines with derivatives"
    return ["", *_wrapped(f"Active: {what}"), *_table(rows)]


def _where(v: ActiveVariable, file: str) -> str:
    lines = ", ".join(dict.fromkeys(_line(p, file) for p in v.places))
    return f"{lines} in {v.inside.partition(' ')[2]}" if v.inside else lines


def _line(place: SourceLocation, file: str) -> str:
    own = place.file == file
    return f"L{place.line}" if own else f"{file_name(place.file)}:{place.line}"


def _inactive(report: ReportData) -> list[str]:
    if not report.inactive:
        return []
    rows: dict[tuple[str, str], list[str]] = {}
    for x in report.inactive:
        where = "" if x.place is None else f" in {_line(x.place, report.file)}"
        head = f"gradient {x.gradient}{where}: " if x.gradient else ""
        rows.setdefault((head, x.reason), []).append(x.name)
    table = [
        (", ".join(names), head + _with_plural_verb(why, len(names)))
        for (head, why), names in rows.items()
    ]
    return ["", "Without a derivative", *_table(table)]


def _with_plural_verb(why: str, count: int) -> str:
    """The reason, with its verb in the plural if `count` > 1."""
    for one, several in (("is ", "are "), ("does ", "do "), ("reaches ", "reach ")):
        if count > 1 and why.startswith(one):
            return several + why.removeprefix(one)
    return why


# ---------------------------------------------------------------- memory


def _saved(report: ReportData) -> list[str]:
    if not report.saved:
        return ["", "Saved for the adjoint sweep: nothing"]
    total = report.saved_bytes
    whole = "" if total is None else f": {amount(total)}"
    lines = ["", f"Saved for the adjoint sweep{whole}"]
    for loops, saved in report.loops().items():
        lines += _wrapped(_nest(loops, report.file), 2)
        lines += _by_size(saved, report.file, 4)
        if loops:
            lines += _wrapped(_sum(saved), 6)
    return lines


def _kept(report: ReportData) -> list[str]:
    if not report.kept:
        return []
    totals = [s.total.number if s.total is not None else None for s in report.kept]
    whole = "" if None in totals else f": {amount(sum(n for n in totals if n is not None))}"
    head = f"Kept in memory until then, without a copy{whole}"
    return ["", head, *_by_size(report.kept, report.file, 2)]


def _by_size(saved: list[Saved], file: str, indent: int) -> list[str]:
    """One row per value, grouped by size."""
    by_size: dict[str, list[tuple[str, str]]] = {}
    for s in saved:
        by_size.setdefault(_bytes(s.per_iteration), []).append(_row(s, file))
    lines = []
    for size, rows in by_size.items():
        lines += _table(rows, indent)
        lines += _wrapped(size + " each" * (len(rows) > 1), indent + 2)
    return lines


def _nest(loops: tuple[Loop, ...], file: str) -> str:
    if not loops:
        return "once"
    texts = [
        "a loop" if p is None else f"{_line(p, file)} `{p.text.rstrip(':')}`"
        for p in (loop.place for loop in reversed(loops))
    ]
    return "in each iteration of " + ", inside ".join(texts)


def _row(s: Saved, file: str) -> tuple[str, str]:
    readable = any(c.isalpha() for c in s.expression)
    name = textwrap.shorten(s.expression, 64, placeholder=" …") if readable else s.name
    where = "copy" if s.kind == "copy" else "" if s.place is None else _line(s.place, file)
    return where, f"{name}, in snapshots" if s.kind == "snapshots" else name


def _bytes(size: Size | None) -> str:
    if size is None:
        return "a list"
    if size.number is None:
        return f"{size.formula} bytes"
    if size.formula == str(size.number):
        return amount(size.number)
    return f"{size.formula} bytes = {amount(size.number)}"


def _sum(saved: list[Saved]) -> str:
    """The total that the iterations of a loop save."""
    each = [s.per_iteration.number if s.per_iteration is not None else None for s in saved]
    totals = [s.total.number if s.total is not None else None for s in saved]
    line = ""
    if None not in each and len(saved) > 1:
        line = f"together {amount(sum(n for n in each if n is not None))} per iteration, "
    times = saved[0].iterations
    if times is None:
        return line + "as often as the loop runs"
    line += _iterations(times, saved[0].loops)
    if None not in totals:
        line += f": {amount(sum(n for n in totals if n is not None))}"
    return line


def _iterations(times: Size, loops: tuple[Loop, ...]) -> str:
    word = "iteration" if times.number == 1 else "iterations"
    if times.number is None or times.formula == str(times.number):
        return f"{times.formula} {word}"
    if any(loop.trips is not None and loop.trips.number is None for loop in loops):
        return f"{times.number} {word} ({times.formula})"  # the count depends on an outer loop
    return f"{times.formula} = {times.number} {word}"


def amount(number: int) -> str:
    """A number of bytes with a decimal unit."""
    if number < 1000:
        return f"{number} B"
    value = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.95 or unit == "TB":
            break
    return f"{value:.1f} {unit}"


def _recomputed(report: ReportData) -> list[str]:
    if not report.recomputed:
        return []
    rows: dict[str, list[str]] = {}
    for r in report.recomputed:
        where = _line(r.place, report.file) if r.place is not None else "calls"
        text = textwrap.shorten(r.expression or r.name, 60, placeholder=" …")
        rows.setdefault(where, []).append(text + _WHY[r.why])
    table = _table((where, ", ".join(texts)) for where, texts in rows.items())
    return ["", "Computed again in the adjoint sweep", *table]


_WHY = {"cheap": "", "checkpoint": " (s2s.checkpoint)", "call": " (recursive: it keeps nothing)"}


# ---------------------------------------------------------------- threads


def _threads(report: ReportData) -> list[str]:
    """The loops that are long enough for threads; nothing if there are none."""
    if not report.threads:
        return []
    why = f" if there were any ({report.no_threads})" if report.no_threads else ""
    lines, rows = ["", f"On threads{why}"], []
    for row in report.threads:
        place, _, text = row.line.partition(": ")
        rows.append((place, f"{text}  --  in order: {row.why_not}" if row.why_not else text))
    return [*lines, *_table(rows)]


# ---------------------------------------------------------------- a device

_LOOP_KINDS = {"grid": "a grid", "thread": "one thread", "host": "a loop of the host"}


def _device(report: ReportData) -> list[str]:
    """The loops and launches of a call on a device."""
    if report.device is None:
        return []
    where, counted, rows = device_facts(report.device)
    lines = [folded for line in counted for folded in _wrapped(line, 2)]
    return ["", where, *lines, *_table(rows)]


def device_facts(found: OnDevice) -> tuple[str, list[str], list[tuple[str, str]]]:
    """A title, what a call does, and the lines of loops with what becomes of them."""
    places = [
        (found.launches, "launch"), (found.grids, "grid"), (found.one_thread, "one-thread kernel"),
        (found.products, "matrix product"), (found.host_loops, "loop of the host"),
        (found.atomics, "atomic addition"),
    ]  # fmt: skip
    counted = ", ".join(_counted(n, what) for n, what in places if n) or "nothing is launched"
    waits = _counted(found.synchronisations, "synchronisation") if found.synchronisations else ""
    copied = f"arguments of {amount(found.copied_bytes)}, and the results back"
    lines = [
        f"{counted}; {waits or 'no synchronisation'} before the end",
        f"copied in each call: {copied if found.copied_bytes else 'nothing'}",
    ]
    rows = []
    for loop in dict.fromkeys(found.loops):
        place, _, text = loop.line.partition(": ")
        why = f": {loop.why}" if loop.why else ""
        rows.append((place, f"{text}  --  {_LOOP_KINDS[loop.kind]}{why}"))
    return f"On the device ({found.target})", lines, rows


def _counted(number: int, what: str) -> str:
    plural = {"launch": "launches", "loop of the host": "loops of the host"}
    return f"{number} {what if number == 1 else plural.get(what, what + 's')}"


# ---------------------------------------------------------------- compilation


def _recompiled(report: ReportData) -> list[str]:
    r = report.recompiled
    if r.count == 0:
        return ["", "Not compiled yet"]
    times = {1: "once", 2: "twice"}.get(r.count, f"{r.count} times")
    lines = ["", f"Compiled {times}"]
    if r.reason:
        lines[-1] += ", the last time because " + r.reason
    lines = ["", *_wrapped(lines[-1])]
    if r.again:
        lines += _wrapped(f"The arguments given would be compiled anew: {r.again}")
    return lines
