"""Execution of generated source as a module."""

from __future__ import annotations

import ast
import linecache
import types
from typing import Any

from ..errors import internal


def run_text(
    text: str, filename: str, space: dict[str, Any], tree: ast.Module | None = None
) -> dict[str, Any]:
    """Execute generated source as a module; debuggers and tracebacks can show its lines.  `tree` is
    what runs, if it is not the text itself."""
    number = 1
    name = filename
    lines = text.splitlines(True)
    while linecache.getlines(name) not in ([], lines):
        number += 1
        name = f"{filename[:-1]} ({number})>"
    linecache.cache[name] = (len(text), None, lines, name)
    module = types.ModuleType(name)
    vars(module).update(space)
    try:
        exec(compile(text if tree is None else tree, name, "exec"), vars(module))
    except SyntaxError as error:
        raise internal("reading its own generated code", error) from error
    return vars(module)
