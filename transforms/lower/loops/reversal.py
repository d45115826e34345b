"""Innermost loops that run backwards and might as well run forwards do, on loop-level IR.

    for j in range(n - 1, -1, -1):          for j in range(n):
        x_bar[j] += s * y[j]            →       x_bar[j] += s * y[j]

The sweep mirrors every loop of the program.  Elements that several rounds take at once lie in
memory the other way round then, and have to be turned, each time.
"""

from __future__ import annotations

from ..analysis.alias import MayAlias
from ..analysis.dependence import reversible_loops
from ..loop_ir import nodes as L


def reverse_loops(body: list[L.Stmt], may_alias: MayAlias, escaping: set[str]) -> None:
    """Rewrites `body` in place.  `visible` are the buffers that the caller sees even if the call
    fails."""
    for loop in reversible_loops(body, may_alias, escaping):
        span = L.span(loop)
        if span is not None and not any(isinstance(s, L.Loop) for s in L.walk(loop.body)):
            (loop.start, loop.stop), loop.step = span, L.ONE
