"""`s2s report`: write an HTML page with all diagnostics of a function and its gradient."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path
from typing import Any

from ..call.backend_choice import BACKENDS
from ..inspect.side_by_side import sides
from ..runtime import output_file
from . import bench, memory_trace
from .exit_codes import OK, USAGE, USER_ERROR, CommandError
from .json_output import as_json
from .loaded_function import Subject, add_arguments, add_mode, add_target, subject
from .report_data import ReportData
from .workspace import workspace


def add(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)
    add_mode(parser)
    add_target(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="the page (report.html)"
    )
    parser.add_argument(
        "--no-run", action="store_true", help="do not run anything: no times, no memory"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, metavar="S", help="time for each measurement (0.5)"
    )
    parser.add_argument("--backend", choices=BACKENDS, help="the back end that runs the gradient")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from .report_page import page

    about = subject(options)
    path = Path(options.output).expanduser()
    if not path.absolute().parent.is_dir():
        raise CommandError(f"{path.parent}: there is no such folder", code=USAGE)
    told = collect(about, options)
    try:
        output_file.write(path, page(told).encode())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", code=USAGE) from error
    if options.json:
        print(as_json(as_data(told, path)))
    else:
        print(path)
    if options.open:
        webbrowser.open(path.absolute().as_uri())
    return OK


def collect(about: Subject, options: argparse.Namespace) -> ReportData:
    """Collect the data of the page; with --no-run, without times and memory."""
    compiled = about.compiled
    explained = compiled.explain(*about.args, **about.kwargs)
    entry, params = about.entry()
    told = ReportData(
        about, entry.compiled, sides(about.written, entry.compiled), explained,
        list(entry.compiled.passes()),
    )  # fmt: skip
    told.workspace = workspace(entry, params)
    if not options.no_run:
        try:
            told.memory = memory_trace.trace(entry, params)
        except Exception as error:
            text = f"{about.name}: {type(error).__name__}: {error}"
            raise CommandError(text, "--no-run makes a page without running", USER_ERROR) from error
        told.times = bench.timed(about, options.seconds, options.backend)
    return told


def as_data(told: ReportData, path: Path) -> dict[str, Any]:
    explained, memory = told.explained, told.memory
    return {
        "page": str(path),
        "function": told.about.name,
        "wrt": list(told.about.wrt),
        "arguments": told.about.given(),
        "active": [v.name for v in explained.active],
        "inactive": {x.name: x.reason for x in explained.inactive},
        "saved_bytes": explained.saved_bytes,
        "saved": [
            {"name": s.name, "kind": s.kind, "bytes": s.total.number if s.total else None}
            for s in (*explained.saved, *explained.kept)
        ],
        "peak_bytes": None if memory is None else memory.peak,
        "workspace_bytes": told.workspace,
        "times": None if told.times is None else bench.as_data(told.about, told.times),
    }
