"""The exceptions of the compiler: each message has a source location, a cause and advice."""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from .nodes import Span
from .quote import printable_lines


class S2SError(Exception):
    """The base class of all errors of s2s.  Carries `file`, `line`, `column`, the `source_line`
    with a caret, and `advice`."""

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        source_line: str = "",
        advice: str = "",
    ) -> None:
        self.message = message
        self.span = span
        self.source_line = source_line
        self.advice = advice
        super().__init__(self._text())

    file = property(lambda self: self.span.file if self.span else None)
    line = property(lambda self: self.span.line if self.span else None)
    column = property(lambda self: self.span.col if self.span else None)

    def __reduce__(self) -> Any:
        # Pickles and copies set the attributes; `__init__` would compose the text once more.
        return copyreg.__newobj__, (type(self),), {**vars(self), "args": self.args}  # type: ignore[attr-defined]

    def _text(self) -> str:
        parts: list[str] = []
        if self.span:
            parts.append(f"{self.span.file}:{self.span.line}:{self.span.col + 1}: {self.message}")
        else:
            parts.append(self.message)
        if self.span and self.source_line:
            width = (
                max(1, self.span.end_col - self.span.col)
                if self.span.end_line == self.span.line
                else max(1, len(self.source_line.rstrip()) - self.span.col)
            )
            parts += [
                f"    {self.source_line.rstrip()}",
                "    " + " " * self.span.col + "^" * width,
            ]
        if self.advice:
            parts.append(f"help: {self.advice}")
        return printable_lines("\n".join(parts))


class UnsupportedError(S2SError, NotImplementedError):
    """The program is valid Python, but s2s cannot differentiate or compile it."""


class S2STypeError(S2SError, TypeError):
    """The program or its gradient is undefined for the types of the arguments."""


class S2SValueError(S2SError, ValueError):
    """The program or its gradient is undefined for the values of the arguments."""


class S2SLinAlgError(S2SValueError, np.linalg.LinAlgError):
    """The matrix arguments do not have a property that the program requires."""


class SourceError(S2SError, OSError):
    """The source of a function cannot be found."""
