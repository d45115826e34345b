"""Makes room before a loop for all that it appends to a stack, on loop-level IR.

    for k in range(n):                          s = rt.reserve(s, used, n)
        s = rt.reserve(s, used, 1)          →   for k in range(n):
        s[used] = f(k)                              s[used] = f(k)
        used = used + 1                             used = used + 1

Only a loop that appends in each of its rounds, and makes them all: room is taken for what is used.
"""

from __future__ import annotations

from typing import TypeGuard

from ..analysis.cost_model import trips
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def hoist_reserve(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    out: list[L.Stmt] = []
    for stmt in body:
        for inner in L.blocks_of(stmt):
            hoist_reserve(inner)
        if isinstance(stmt, L.Loop):
            out += _taken_out(stmt)
        out.append(stmt)
    body[:] = out


def _taken_out(loop: L.Loop) -> list[L.Stmt]:
    """What makes the room, taken out of the loop."""
    asked = [s for s in loop.body if _is_for_one(s)]
    if not asked or loop.parallel or loop.exits_early:
        return []
    inside = list(L.walk(loop.body))
    if any(isinstance(s, (L.Break, L.Return)) for s in inside):
        return []
    rounds = trips(loop)
    set_inside = {name for s in inside for name in defs(s)} | {loop.var}
    if names_in([rounds]) & set_inside or any(isinstance(p, L.Load) for p in L.walk_expr(rounds)):
        return []
    before: list[L.Stmt] = []
    for stmt in asked:
        (stack,), (_, used, _) = stmt.names, stmt.args
        grows = [s for s in inside if stack in defs(s)]
        if len(grows) == 1 and _counts_once(used, loop.body, inside):
            loop.body = [s for s in loop.body if s is not stmt]
            before.append(L.CallBuffers(stmt.names, stmt.function, (L.Part(stack), used, rounds)))
    return before


def _is_for_one(stmt: L.Stmt) -> TypeGuard[L.CallBuffers]:
    """Whether a statement makes room for one more element."""
    if not isinstance(stmt, L.CallBuffers) or stmt.function != "rt.reserve":
        return False
    return stmt.args[2] == L.ONE


def _counts_once(used: L.Expr | L.Part, rounds: list[L.Stmt], inside: list[L.Stmt]) -> bool:
    """Whether a number grows by one in each round, and changes nowhere else."""
    if not isinstance(used, L.Name):
        return False
    changes = [s for s in inside if used.name in defs(s)]
    return changes == [L.Let(used.name, L.add(used, L.ONE))] and changes[0] in rounds
