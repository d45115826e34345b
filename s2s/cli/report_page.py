"""The page of `s2s report`: self-contained HTML without external resources."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import inspect
import platform
from collections.abc import Iterable, Sequence

from .._version import __version__
from ..inspect.explain_text import amount, device_facts
from ..inspect.highlight import MARKS, code_html, themed
from ..inspect.side_by_side_html import STYLE, sides_html
from ..transforms.diagnostics.activity_report import SourceLocation
from ..transforms.diagnostics.tape_report import Loop, Saved, Size
from ..transforms.ir.quote import file_name, html_text
from .memory_trace import TIME_LIMIT_SECONDS
from .report_data import ReportData
from .show import changes
from .svg import memory_plot
from .timing import duration


def page(told: ReportData) -> str:
    """The HTML of the page, with a content security policy that admits only its own script."""
    style, script = _asset("report.css"), _asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    sections = [
        ("Function and gradient", sides_html(told.both, "sides")),
        ("Memory over the step", _memory(told)),
        ("Saved for the adjoint sweep", _saved(told)),
        ("Activity", _activity(told)),
        ("On the device", _device(told)),
        ("Compiling", _compiling(told)),
        ("Every pass", _passes(told)),
    ]
    body = "".join(f"<section><h2>{t}</h2>{html}</section>" for t, html in sections if html)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html_text(told.about.name)} · s2s</title>
<style>{themed(":root")}{MARKS}{STYLE}{style}</style></head>
<body><main>{_header(told)}{_figures(told)}{body}{_footer()}</main>
<script>{script}</script></body></html>
"""


def _asset(name: str) -> str:
    return importlib.resources.files("s2s.cli").joinpath(name).read_text(encoding="utf-8")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table.  The cells are HTML, not plain text."""
    titles = "".join(f"<th>{t}</th>" for t in head)
    lines = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{titles}</tr>{lines}</table></div>'


def _code(text: str) -> str:
    return f"<code>{html_text(text)}</code>"


# ---------------------------------------------------------------- header and key figures


def _header(told: ReportData) -> str:
    about = told.about
    given = inspect.signature(about.compiled).parameters
    name = f"{about.written.__qualname__}({', '.join(given)})"
    file = f"{file_name(about.target.file)}:{about.written.__code__.co_firstlineno}"
    wrt = f"with respect to {_code(', '.join(about.wrt))}" if about.wrt else ""
    args = " ".join(f"<span>{_code(f'{k}: {v}')}</span>" for k, v in about.given().items())
    kind = html_text(about.compiled._s2s_mode)
    return (
        f"<header><h1>{_code(name)}</h1><p>{kind} {wrt} · {_code(file)}</p>"
        f'<p class="given">{args}</p></header>'
    )


def _figures(told: ReportData) -> str:
    """The key figures: times, saved bytes, peak memory and workspace."""
    figures: list[tuple[str, str, str]] = []
    times, memory = told.times, told.memory
    if times is not None:
        if times.python is not None:
            figures.append(("plain Python", str(times.python), "the function as written"))
        if times.primal is not None:
            figures.append(("function", str(times.primal), f"compiled, {times.backend}"))
        what = f"{times.ratio:.2f} × the function" if times.ratio else f"{times.backend}"
        name = "gradient" if times.primal is not None else told.about.compiled._s2s_mode
        figures.append((name, str(times.gradient), what))
        whole = sum(times.compiling.values())
        figures.append(("compiling", duration(whole), "once, from an empty cache"))
    saved = told.explained.saved_bytes
    text = "?" if saved is None else amount(saved)
    figures.append(("saved", text, "for the adjoint sweep"))
    if memory is not None:
        figures.append(("peak", amount(memory.peak), "of the readable program"))
    if told.workspace is not None:
        figures.append(("workspace", amount(told.workspace), "of the compiled code"))
    tiles = "".join(
        f'<div class="figure"><h3>{html_text(name)}</h3><b>{html_text(value)}</b>'
        f"<small>{html_text(note)}</small></div>"
        for name, value, note in figures
    )
    return f'<div class="figures">{tiles}</div>'


def _footer() -> str:
    versions = f"s2s {__version__}, Python {platform.python_version()}, {platform.machine()}"
    return f"<footer>{html_text(versions)}</footer>"


# ---------------------------------------------------------------- memory


def _memory(told: ReportData) -> str:
    memory = told.memory
    if memory is None:
        return ""
    by_number = {e.number: e for e in told.both.emitted}
    backwards = [bool(e and e.sweep) for e in map(by_number.get, memory.lines)]
    plot = memory_plot(memory.after, memory.most, memory.lines, backwards, memory.steps)
    note = "What the readable program allocates, line by line, arguments apart: the area is what is"
    note += " held after a line, the stroke the most while it ran."
    note += " Compiled code fuses most temporaries"
    if told.workspace is not None:
        note += f": its arrays take {amount(told.workspace)} at most, arguments and results apart"
    note += "."
    if not memory.complete:
        note += f" The run was ended after {TIME_LIMIT_SECONDS:.0f} seconds."
    return f'<div class="wide">{plot}</div><p class="note">{note}</p>'


def _saved(told: ReportData) -> str:
    explained = told.explained
    rows = [_saved_row(s) for s in (*explained.saved, *explained.kept)]
    parts = ["<p>Nothing.</p>" if not explained.saved else ""]
    if rows:
        head = ("value", "line", "how", "each", "times", "in all")
        parts.append(_table(head, rows))
    if explained.recomputed:
        again = [
            (_line(r.place), _code(r.expression or r.name), _WHY[r.why])
            for r in explained.recomputed
        ]
        parts.append(f"<h3>Computed again instead</h3>{_table(('line', 'value', 'why'), again)}")
    return "".join(parts)


_WHY = {"cheap": "cheap", "checkpoint": "s2s.checkpoint", "call": "recursive: it keeps nothing"}
_HOW = {
    "array": "stored in each iteration", "stack": "pushed on a stack", "copy": "copied",
    "snapshots": "in snapshots", "kept": "kept in memory, no copy",
}  # fmt: skip


def _saved_row(s: Saved) -> Sequence[str]:
    readable = any(c.isalpha() for c in s.expression)
    name = s.expression if readable else s.name
    loops = "".join(f"<br>in {_loop(loop)}" for loop in reversed(s.loops))
    times = "" if s.iterations is None else _size(s.iterations, str)
    return (
        _code(name), _line(s.place), f"{_HOW[s.kind]}{loops}",
        _size(s.per_iteration, amount), times, _size(s.total, amount),
    )  # fmt: skip


def _loop(loop: Loop) -> str:
    if loop.place is None:
        return "a loop"
    return f"{_line(loop.place)} {_code(loop.place.text.rstrip(':'))}"


def _line(place: SourceLocation | None) -> str:
    return "" if place is None else f'<span class="place">L{place.line}</span>'


def _size(size: Size | None, say) -> str:  # type: ignore[no-untyped-def]
    if size is None:
        return "?"
    if size.number is None:
        return _code(size.formula)
    formula = "" if size.formula == str(size.number) else f"<br>{_code(size.formula)}"
    return f"{html_text(say(size.number))}{formula}"


# ---------------------------------------------------------------- activity


def _activity(told: ReportData) -> str:
    explained = told.explained
    rows = [(_code(name), "argument", "") for name in explained.arguments]
    for v in explained.active:
        if v.name not in explained.arguments:
            lines = " ".join(dict.fromkeys(_line(p) for p in v.places))
            rows.append((_code(v.name), "active", f"{lines} {html_text(v.inside)}"))
    for x in explained.inactive:
        head = f"gradient {html_text(x.gradient)}: " if x.gradient else ""
        rows.append((_code(x.name), "no derivative", head + html_text(x.reason)))
    return _table(("variable", "", "where, or why"), rows) if rows else ""


# ---------------------------------------------------------------- a device


def _device(told: ReportData) -> str:
    """The loops and launches of a call, for a target other than the CPU."""
    found = told.explained.device
    if found is None:
        return ""
    where, counted, rows = device_facts(found)
    notes = "".join(f"<p>{html_text(line)}</p>" for line in (where, *counted))
    cells = [(html_text(place), html_text(text)) for place, text in rows]
    return notes + (_table(("line", "loop"), cells) if cells else "")


# ---------------------------------------------------------------- compiling


def _compiling(told: ReportData) -> str:
    seconds = dict(told.compiled.seconds) if told.times is None else told.times.compiling
    if not seconds:
        return ""
    longest, whole = max(seconds.values()), sum(seconds.values())
    rows = "".join(
        f'<div class="bar"><span>{html_text(name)}</span>'
        f'<div><div style="width:{100 * s / longest:.1f}%"></div></div>'
        f"<b>{duration(s)}</b><small>{100 * s / whole:.0f} %</small></div>"
        for name, s in seconds.items()
    )
    return f'<div class="bars">{rows}</div>'


def _passes(told: ReportData) -> str:
    parts, before, last = [], "", ""
    for name, text in told.passes:
        parts.append(f"<details><summary>{html_text(name)}</summary>{code_html(text)}</details>")
        if last and last != "write":  # a diff from readable to lowered source is useless
            changed = changes(before, text, last, name)
            parts.append(
                f'<details class="diff"><summary>{html_text(last)} → {html_text(name)}</summary>'
                f"{_diff(changed)}</details>"
            )
        before, last = text, name
    return "".join(parts)


def _diff(text: str) -> str:
    kinds = {"+": "added", "-": "removed", "@": "where"}
    lines = "\n".join(
        f'<span class="{kinds[t[0]]}">{html_text(t)}</span>' if t[:1] in kinds else html_text(t)
        for t in text.splitlines()
    )
    return f'<pre class="s2s-code">{lines}</pre>'
