"""Test entry points of kernels, which take all arguments and return all results."""

from __future__ import annotations

import ast

from s2s.codegen.numba_bridge.numba_entry import Entry
from s2s.codegen.syntax_helpers import named


def plain_entry(text: str, name: str) -> Entry:
    function = named(ast.parse(text), name)
    returned = next(n.value for n in ast.walk(function) if isinstance(n, ast.Return))
    results = len(returned.elts) if isinstance(returned, ast.Tuple) else 0
    return Entry(len(function.args.args), results, {}, {}, None, (), (), ())
