"""`s2s show`: print the code that s2s generates for a function, at any level and after any pass."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from typing import Any

from ..inspect.side_by_side import Sides, sides
from . import device_code, machine_code, terminal
from .exit_codes import OK, CommandError
from .json_output import as_json
from .loaded_function import Subject, add_arguments, add_mode, add_target, subject

LEVELS = ("source", "lowered", "llvm", "asm", "ptx", "sass")
LANGUAGES = {
    "source": "python", "lowered": "python", "llvm": "llvm", "asm": "gas", "ptx": "text",
    "sass": "text",
}  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)
    add_mode(parser)
    add_target(parser)
    parser.add_argument(
        "--level", choices=LEVELS, default="source",
        help="readable source, lowered source, LLVM IR or assembly; PTX or SASS of the kernels for "
        "a GPU",
    )  # fmt: skip
    parser.add_argument(
        "--cc", metavar="X.Y", default="8.0",
        help="the compute capability of the GPU for --level ptx and sass (8.0)",
    )  # fmt: skip
    parser.add_argument(
        "--after", metavar="PASS", help="the program after this pass; `all` for each of them"
    )
    parser.add_argument(
        "--diff", action="store_true",
        help="a diff: by a pass with --after, otherwise from the function to its gradient",
    )  # fmt: skip
    parser.add_argument(
        "--view", choices=("auto", "sides", "one"), default="auto",
        help="side by side with your function, or the code alone",
    )  # fmt: skip
    terminal.add_options(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    about = subject(options)
    entry, params = about.entry()
    page = terminal.page(options)
    if options.after is not None:
        _show_passes(options, entry.compiled, page)
    elif options.level in ("ptx", "sass"):
        text = device_code.text(about.compiled, about.fresh(), options.level, options.cc)
        _show_text(options, about, text, LANGUAGES[options.level], page)
    elif options.level in ("llvm", "asm") and entry.compiled.cuda is not None:
        raise CommandError(
            f"--level {options.level} shows code for the CPU, and the target is a GPU",
            "use --level ptx or --level sass, or --target cpu",
        )
    elif options.level in ("llvm", "asm"):
        text = machine_code.text(entry, params, options.level)
        _show_text(options, about, text, LANGUAGES[options.level], page)
    elif options.level == "lowered":
        before = entry.compiled.source
        text = changes(before, entry.compiled.lowered, "source", "lowered")
        _show_text(options, about, text if options.diff else entry.compiled.lowered,
                   "diff" if options.diff else "python", page)  # fmt: skip
    else:
        _show_source(options, about, entry.compiled, page)
    return OK


# ---------------------------------------------------------------- passes


def passes(compiled: Any) -> list[tuple[str, str]]:
    """The program after each pass."""
    return list(compiled.passes())


def _show_passes(options: argparse.Namespace, compiled: Any, page: terminal.Page) -> None:
    found = passes(compiled)
    names = [name for name, _ in found]
    if options.after not in (*names, "all"):
        raise CommandError(
            f"--after {options.after}: there is no such pass here",
            f"choose from {', '.join(names)}, all",
        )
    wanted = list(_texts(found, options.diff))
    if options.after != "all":
        wanted = [wanted[names.index(options.after)]]
    if options.json:
        page.raw(as_json([{"pass": n, "text": t} for n, t in wanted]))
        return
    for name, text in wanted:
        if len(wanted) > 1:
            page.title(name)
        page.code(text, "diff" if options.diff else "python")


def _texts(found: list[tuple[str, str]], diff: bool) -> Iterator[tuple[str, str]]:
    before, last = "", ""
    for name, text in found:
        yield name, changes(before, text, last or "nothing", name) if diff else text
        before, last = text, name


def changes(before: str, after: str, old: str, new: str) -> str:
    """A unified diff."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), old, new, lineterm="", n=3
    )
    return "".join(f"{line}\n" for line in lines)


# ---------------------------------------------------------------- source


def _show_source(
    options: argparse.Namespace, about: Subject, compiled: Any, page: terminal.Page
) -> None:
    both = sides(about.written, compiled)
    if options.json:
        page.raw(as_json(as_data(about, both, compiled)))
    elif options.diff:
        before = "".join(f"{line}\n" for line in both.listings[0].lines) if both.listings else ""
        page.code(changes(before, compiled.source, about.name, compiled.name), "diff")
    elif options.view == "sides" or (options.view == "auto" and page.is_terminal):
        page.sides(both)
    else:
        page.code(compiled.source, "python")


def _show_text(
    options: argparse.Namespace, about: Subject, text: str, language: str, page: terminal.Page
) -> None:
    if options.json:
        page.raw(as_json({"function": about.name, options.level: text}))
    else:
        page.code(text, language)


def as_data(about: Subject, both: Sides, compiled: Any) -> dict[str, Any]:
    """The emitted lines with their origins, as data for scripts and editors."""
    return {
        "function": about.name,
        "wrt": list(about.wrt),
        "arguments": about.given(),
        "source": compiled.source,
        "lines": [
            {
                "number": line.number,
                "text": line.text,
                "sweep": line.sweep,
                "origins": [{"file": file, "line": number} for file, number in line.origins],
            }
            for line in both.emitted
        ],
    }
