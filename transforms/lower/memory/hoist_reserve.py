"""Hoist capacity reservations for a stack out of loops, on loop-level IR.

    for k in range(n):                          s = rt.reserve(s, used, n)
        s = rt.reserve(s, used, 1)          →   for k in range(n):
        s[used] = f(k)                              s[used] = f(k)
        used = used + 1                             used = used + 1

The loop must append in every iteration and must not exit early, so that exactly the reserved
capacity is used.
"""

from __future__ import annotations

from typing import TypeGuard

from ..analysis.cost_model import trip_count
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def hoist_reserve(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place."""
    out: list[L.Stmt] = []
    for stmt in body:
        for inner in L.blocks_of(stmt):
            hoist_reserve(inner)
        if isinstance(stmt, L.Loop):
            out += _hoist(stmt)
        out.append(stmt)
    body[:] = out


def _hoist(loop: L.Loop) -> list[L.Stmt]:
    """The hoisted reservations, which are removed from the loop."""
    reservations = [s for s in loop.body if _reserves_one(s)]
    if not reservations or loop.parallel or loop.exits_early:
        return []
    inside = list(L.walk(loop.body))
    if any(isinstance(s, (L.Break, L.Return)) for s in inside):
        return []
    count = trip_count(loop)
    set_inside = {name for s in inside for name in defs(s)} | {loop.var}
    if names_in([count]) & set_inside or any(isinstance(p, L.Load) for p in L.walk_expr(count)):
        return []
    before: list[L.Stmt] = []
    for stmt in reservations:
        (stack,), (_, used, _) = stmt.names, stmt.args
        grows = [s for s in inside if stack in defs(s)]
        if len(grows) == 1 and _increments_once(used, loop.body, inside):
            loop.body = [s for s in loop.body if s is not stmt]
            before.append(L.CallBuffers(stmt.names, stmt.function, (L.Subview(stack), used, count)))
    return before


def _reserves_one(stmt: L.Stmt) -> TypeGuard[L.CallBuffers]:
    """True for a reservation of capacity for one more element."""
    if not isinstance(stmt, L.CallBuffers) or stmt.function != "rt.reserve":
        return False
    return stmt.args[2] == L.ONE


def _increments_once(used: L.Expr | L.Subview, body: list[L.Stmt], inside: list[L.Stmt]) -> bool:
    """True if a counter is incremented by one in each iteration and changes nowhere else.

    `body` is the body of the loop; `inside` are all statements in it, nested blocks included.
    """
    if not isinstance(used, L.Name):
        return False
    changes = [s for s in inside if used.name in defs(s)]
    return changes == [L.Let(used.name, L.add(used, L.ONE))] and changes[0] in body
