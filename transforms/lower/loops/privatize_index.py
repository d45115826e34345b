"""The variable of a loop is its own, on loop-level IR.

    for i in range(n):              for i_1 in range(n):
        s = s + x[i]        →           i = i_1
    … i                                 s = s + x[i_1]
                                    … i

In Python it holds the last number after the loop.  Where that is read, it is a number that rounds
set, as others are: passes may then run a loop in another way, or elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.liveness import after_loops, counters_read, defs
from ..loop_ir import nodes as L


def privatize_index(body: list[L.Stmt], new_name: Callable[[str], str]) -> None:
    """Rewrites `body` in place."""
    loops = [s for s in L.walk(body) if isinstance(s, L.Loop)]
    if not counters_read(body, {loop.var for loop in loops}):
        return
    after = after_loops(body)
    for loop in loops:
        if loop.var not in after[id(loop)]:
            continue
        old, own = L.Name(loop.var), L.Name(new_name(loop.var))
        if not any(loop.var in defs(s) for s in L.walk(loop.body)):
            L.map_stmts(loop.body, lambda e, old=old, own=own: own if e == old else None)
        loop.body.insert(0, L.Let(loop.var, own))
        loop.var = own.name
