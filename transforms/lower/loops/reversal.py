"""Loop reversal: innermost loops with independent iterations run forwards, on loop-level IR.

    for j in range(n - 1, -1, -1):          for j in range(n):
        x_bar[j] += s * y[j]            →       x_bar[j] += s * y[j]

The reverse sweep reverses every loop of the program.  In a vectorised loop that runs backwards, the
elements of a vector lie in memory in reverse order, so that each load and store needs a shuffle.
"""

from __future__ import annotations

from ..analysis.alias import MayAlias
from ..analysis.dependence import reversible_loops
from ..loop_ir import nodes as L


def reverse_loops(body: list[L.Stmt], may_alias: MayAlias, escaping: set[str]) -> None:
    """Rewrite `body` in place.

    `escaping` are the buffers whose contents the caller sees even if the call fails.
    """
    for loop in reversible_loops(body, may_alias, escaping):
        span = L.index_range(loop)
        if span is not None and not any(isinstance(s, L.Loop) for s in L.walk(loop.body)):
            (loop.start, loop.stop), loop.step = span, L.ONE
