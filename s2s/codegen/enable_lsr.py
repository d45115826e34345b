"""Decide whether LLVM's loop strength reduction (LSR) is run.

LSR takes more than half of the code generation time.  Addresses are emitted as one GEP per index,
so the part that depends on an outer loop is loop-invariant in the inner one (`array_values.py`):
vectorised loops gain nothing from LSR.  Loops with branches are not vectorised and gain from it;
there are few of them.
"""

from __future__ import annotations

import ast

from .syntax_helpers import walk


def pays(function: ast.FunctionDef) -> bool:
    """True if an innermost loop contains a branch."""
    return any(isinstance(n, ast.For) and _is_branching_innermost_loop(n) for n in walk(function))


def _is_branching_innermost_loop(loop: ast.For) -> bool:
    inside = [n for s in loop.body for n in walk(s)]
    innermost = not any(isinstance(n, (ast.For, ast.While)) for n in inside)
    return innermost and any(isinstance(n, ast.If) for n in inside)
