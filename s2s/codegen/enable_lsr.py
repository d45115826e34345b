"""Whether machine code gains by LLVM's search for how to count up addresses in loops.

That search is more than half of the time that machine code takes.  Addresses are written so that
what an outer loop counts is added there (`array_values.py`): loops of which several rounds are
computed at once have nothing left to gain.  Loops that branch take one round at a time, and are
few.
"""

from __future__ import annotations

import ast

from .syntax_helpers import walk


def pays(function: ast.FunctionDef) -> bool:
    """Whether an innermost loop branches."""
    return any(isinstance(n, ast.For) and _branches(n) for n in walk(function))


def _branches(loop: ast.For) -> bool:
    inside = [n for s in loop.body for n in walk(s)]
    innermost = not any(isinstance(n, (ast.For, ast.While)) for n in inside)
    return innermost and any(isinstance(n, ast.If) for n in inside)
