"""Privatise loop variables that are read after their loop, on loop-level IR.

    for i in range(n):              for i_1 in range(n):
        s = s + x[i]        →           i = i_1
    … i                                 s = s + x[i_1]
                                    … i

In Python a loop variable keeps its last value after the loop.  Where that value is read, the
variable becomes a scalar that each iteration assigns.  The loop counts with a variable of its own,
so that passes may reorder, split or move the loop.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.liveness import defs, induction_vars_read_outside, live_after_loops
from ..loop_ir import nodes as L


def privatize_index(body: list[L.Stmt], new_name: Callable[[str], str]) -> None:
    """Rewrite `body` in place."""
    loops = [s for s in L.walk(body) if isinstance(s, L.Loop)]
    if not induction_vars_read_outside(body, {loop.var for loop in loops}):
        return
    after = live_after_loops(body)
    for loop in loops:
        if loop.var not in after[id(loop)]:
            continue
        old, own = L.Name(loop.var), L.Name(new_name(loop.var))
        if not any(loop.var in defs(s) for s in L.walk(loop.body)):
            L.map_stmts(loop.body, lambda e, old=old, own=own: own if e == old else None)
        loop.body.insert(0, L.Let(loop.var, own))
        loop.var = own.name
