"""The exceptions that users see.

The compiler's errors are re-exported.  This module adds the run-time errors, and the translation of
an error raised by a compiled kernel to the one that NumPy or Python would raise.
"""

from __future__ import annotations

import builtins
import linecache
import re
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .public_names import listing
from .transforms.ir.errors import (
    S2SError,
    S2SLinAlgError,
    S2STypeError,
    S2SValueError,
    SourceError,
    UnsupportedError,
)
from .transforms.ir.quote import file_name

if TYPE_CHECKING:
    from .transforms.pipeline import Compiled

__all__ = [
    "BuildError",
    "CacheError",
    "DeviceError",
    "InternalCompilerError",
    "NonFiniteError",
    "RecompilationWarning",
    "S2SError",
    "S2SLinAlgError",
    "S2STypeError",
    "S2SValueError",
    "SourceError",
    "UnsupportedError",
    "VersionError",
    "WrongGradient",
]
__dir__ = listing(__name__)


class InternalCompilerError(S2SError, RuntimeError):
    """An internal failure of s2s, not an error of the program."""


class CacheError(S2SError, OSError):
    """The cache directory cannot be used."""


class BuildError(S2SError, RuntimeError):
    """A library that is compiled ahead of time could not be linked."""


class DeviceError(S2SError, RuntimeError):
    """A GPU, or its driver, is missing or has failed."""


class NonFiniteError(S2SError, FloatingPointError):
    """A NaN or inf, with the source location where it first appeared.  `details` are further lines
    of the message."""

    def __init__(self, message: str, details: list[str], **where: Any) -> None:
        self.details = details
        super().__init__(message, **where)

    def _text(self) -> str:
        head, mark, advice = super()._text().partition("\nhelp: ")
        lines = [head, *(f"  {line}" for line in self.details)]
        if mark:
            lines += textwrap.wrap(f"help: {advice}", 88, subsequent_indent="  ")
        return "\n".join(lines)


class VersionError(S2SError, RuntimeError):
    """CPython, llvmlite or Numba has a version that s2s does not compile with."""


class WrongGradient(S2SError, AssertionError):
    """`check_grads` found a gradient that differs from finite differences.  `report` has the
    entries."""

    def __init__(self, report: Any) -> None:
        self.report = report
        super().__init__(str(report))


class RecompilationWarning(UserWarning):
    """A function is recompiled repeatedly because something it depends on keeps changing."""


for _name in __all__:
    globals()[_name].__module__ = "s2s"  # tracebacks and pickles use the public names


# Sentinel returned by a call stub or kernel whose checks fail; the caller then tries another
# variant.
MISS: Any = type("Miss", (), {"__repr__": lambda self: "MISS"})()


class SizeGuardFailed(Exception):
    """Raised by a kernel before any other effect: a guard on sizes does not hold."""


class ArgumentMismatch(TypeError):
    """Raised by a kernel before any other effect: an argument has another class or layout than the
    kernel was compiled for."""


class Overlap(Exception):
    """Raised by a kernel before any other effect: arrays that it writes into may overlap."""


def internal(doing: str, error: BaseException, where: str = "") -> InternalCompilerError:
    """The error to raise (`from error`) when s2s or Numba fails on generated code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    summary = ": ".join([type(error).__name__, *lines[:2]])
    return InternalCompilerError(
        f"s2s failed while {doing}: {summary}",
        advice="this is a bug in s2s, not in your program; please report it with the "
        f"function, the types of its arguments and the full traceback{where}",
    )


def _find_location(message: str, files: Iterable[str]) -> re.Match[str] | None:
    """The source location at the end of "index out of bounds for axis 0 (model.py:12: x[i + 1])".
    The file names `files` are matched literally, since they may contain any characters."""
    for file in (*map(re.escape, files), r"[^\n():]+"):
        found = re.search(rf" \((?P<file>{file}):(?P<line>\d+)(?P<text>: [^\n]*)?\)$", message)
        if found:
            return found
    return None


def translate(error: Exception, compiled: Compiled) -> Exception:
    """The user's error for an error that a kernel raised: of the proper type, with `file` and
    `line`.  The message of a `raise` in the user's code is unchanged."""
    if type(error).__name__ == "Failure":
        site, *values = error.args
        name, parts = compiled.failures[int(site)]
        error = exception(name)(format_message(parts, values))
    match = _find_location(str(error), compiled.files)
    if match and not isinstance(error, S2SError):
        if match["text"] is None:
            message = str(error)[: match.start()]
            error = type(error)(message) if message else type(error)()
        file = compiled.files.get(match["file"], match["file"])
        _annotate(error, file, int(match["line"]))
    return error


def add_source_line(error: Exception, file: str, compiled: Compiled) -> None:
    """Add the user's source line to an error raised by the NumPy-level source in `file`.  It is
    also appended to the message, except for a `raise` in the user's code."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    place = compiled.places.get(found) if found else None
    if found is None or place is None or getattr(error, "line", None) is not None:
        return
    raised = compiled.source.splitlines()[found - 1].lstrip().startswith("raise ")
    if not raised and len(error.args) == 1 and isinstance(error.args[0], str):
        text = linecache.getline(place.file, place.line).strip()
        error.args = (f"{error.args[0]} ({file_name(place.file)}:{place.line}: {text})",)
    _annotate(error, place.file, place.line)


def format_message(parts: tuple[Any, ...], values: list[Any]) -> str:
    """A message from its parts: a string is literal text, None stands for the next run-time value,
    and a tuple for the next one with that format."""
    remaining = iter(values)
    return "".join(
        part if isinstance(part, str) else format(next(remaining), part[0] if part else "")
        for part in parts
    )


def exception(name: str) -> type[Exception]:
    """The exception class of a name; RuntimeError if there is none."""
    if name == "LinAlgError":
        import numpy as np

        return np.linalg.LinAlgError
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError


def _annotate(error: Exception, file: str, line: int) -> None:
    try:
        error.file, error.line = file, line  # type: ignore[attr-defined]
        error.source_line = linecache.getline(file, line).rstrip("\n")  # type: ignore[attr-defined]
    except AttributeError:  # a type with slots: the message contains the location anyway
        pass
