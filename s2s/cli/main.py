"""Parse the command line, run a command, and map errors to messages and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .._version import __version__
from ..errors import InternalCompilerError, S2SError
from ..transforms.ir.quote import printable_lines
from . import aot, bench, cache, check, completion, doctor, exit_codes, report, show

COMMANDS = {
    "show": (show, "print the gradient of a function beside it, or the program after any pass"),
    "report": (report, "write a page about a function and its gradient"),
    "check": (check, "compare a gradient with finite differences of the function"),
    "aot": (aot, "compile functions ahead of time into a library for C"),
    "bench": (bench, "time a function, its gradient, and their compilation"),
    "cache": (cache, "show or clear the cache of compiled code"),
    "doctor": (doctor, "report the environment of s2s and problems in it"),
    "completion": (completion, "print the completion script of a shell"),
}


def parser() -> argparse.ArgumentParser:
    codes = "\n".join(f"  {code:<4} {text}" for code, text in exit_codes.MEANING.items())
    made = argparse.ArgumentParser(
        prog="s2s",
        description="Prints, checks and times the gradients of functions in files.",
        epilog=f"exit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"s2s {__version__}")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, what) in COMMANDS.items():
        module.add(commands.add_parser(name, help=what, description=f"{what.capitalize()}."))
    return made


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["_complete"]:
        return completion.reply(parser(), words[1:])
    options = parser().parse_args(words)
    try:
        code = options.run(options)
        sys.stdout.flush()  # inside the try block, so that a closed pipe is handled below
        return code
    except exit_codes.CommandError as error:
        return _fail(str(error), error.code)
    except InternalCompilerError as error:
        return _fail(str(error), exit_codes.INTERNAL)
    except S2SError as error:
        return _fail(str(error), exit_codes.UNSUPPORTED)
    except KeyboardInterrupt:
        return _fail("interrupted", exit_codes.INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe, as in `s2s show … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.OK


def _fail(text: str, code: int) -> int:
    sys.stdout.flush()
    print(f"s2s: {printable_lines(text)}", file=sys.stderr)
    return code
