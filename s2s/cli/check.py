"""`s2s check`: compare a gradient with finite differences of the plain function."""

from __future__ import annotations

import argparse
from typing import Any

from ..api import functions
from ..call.backend_choice import BACKENDS
from ..testing import Report, check_grads
from ..transforms.ir.quote import printable_lines
from .check_tape import check_tape
from .exit_codes import CHECK_FAILED, OK, USER_ERROR, CommandError
from .json_output import as_json
from .loaded_function import Subject, add_arguments, subject


def add(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)
    parser.add_argument(
        "--order", type=int, choices=(1, 2), default=1, help="2 checks second derivatives, too"
    )
    parser.add_argument("--rtol", type=float, help="tolerance (1e-6; 1e-3 in single precision)")
    parser.add_argument("--eps", type=float, help="step of the differences (1e-3)")
    parser.add_argument(
        "--samples", type=int, default=100, help="entries checked of each argument (100)"
    )
    parser.add_argument("--backend", choices=BACKENDS, help="the back end that runs the gradient")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    about = subject(options, "all")
    report = checked(about, options)
    print(as_json(as_data(about, report)) if options.json else printable_lines(str(report)))
    return OK if report.ok else CHECK_FAILED


def checked(about: Subject, options: argparse.Namespace) -> Report:
    """The report of the check, also if the gradient is wrong."""
    value = about.target.value
    function = (
        value if options.wrt is None and isinstance(value, functions.Function) else about.compiled
    )
    try:
        if functions._has_tape(value):
            return check_tape(about, options.rtol, options.backend)
        return check_grads(
            function, *about.args, order=options.order, eps=options.eps, rtol=options.rtol,
            samples=options.samples, backend=options.backend, **about.kwargs,
        )  # fmt: skip
    except AssertionError as error:
        report = getattr(error, "report", None)
        if report is None:  # the value itself is wrong
            raise CommandError(str(error), code=CHECK_FAILED) from None
        return report
    except Exception as error:
        if hasattr(error, "advice"):  # an s2s error, which has a source location already
            raise
        raise CommandError(
            f"{about.name}: {type(error).__name__}: {error}", code=USER_ERROR
        ) from error


def as_data(about: Subject, report: Report) -> dict[str, Any]:
    def entry(e: Any) -> dict[str, Any]:
        return {"where": e.where, "s2s": e.reverse, "differences": e.numeric, "error": e.error}

    return {
        "function": about.name,
        "wrt": list(about.wrt),
        "arguments": about.given(),
        "ok": report.ok,
        "checked": report.checked,
        "judge": report.judge,
        "sampled": report.sampled,
        "skipped": report.skipped,
        "worst": None if report.worst is None else entry(report.worst),
        "wrong": [entry(e) for e in report.wrong],
        "modes": [entry(e) for e in report.crossed],
    }
