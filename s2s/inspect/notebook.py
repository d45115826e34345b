"""Rich display in IPython and Jupyter: highlighted code, and functions beside their code."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

from ..transforms.ir.quote import printable_lines
from .highlight import MARKS, code_html, themed
from .side_by_side import sides
from .side_by_side_html import standalone_html


def highlighted(text: str) -> str:
    """Code as HTML, with its styles."""
    name = _name(text)
    return f'<div id="{name}"><style>{themed(f"#{name}")}{MARKS}</style>{code_html(text)}</div>'


def coloured(text: str) -> str:
    """Code with terminal colours, if standard output is a terminal."""
    text = printable_lines(text)
    if not sys.stdout.isatty():
        return text
    try:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return text
    return highlight(text, PythonLexer(), TerminalFormatter()).rstrip("\n")


def sides_of(function: Any, compiled: Any) -> str:
    """The HTML of a plain function beside its emitted code."""
    return standalone_html(sides(function, compiled), _name(compiled.source))


def _name(text: str) -> str:
    """An element id that depends on the text only."""
    data = text.encode(errors="backslashreplace")
    return f"s2s-{hashlib.sha256(data).hexdigest()[:12]}"
