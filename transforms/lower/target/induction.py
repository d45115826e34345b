"""Substitution of induction variables by closed forms, on loop-level IR.

    for i in range(n):                      for i in range(n):
        s[used] = f(x[i])           →           s[used + i] = f(x[i])
        used = used + 1                     used = used + max(n, 0)

Then the iterations of a loop that appends to a list are independent, and the length of the list is
known on the host.
"""

from __future__ import annotations

from ..analysis.cost_model import trip_count
from ..analysis.liveness import defs, names_in, uses
from ..loop_ir import nodes as L


def substitute_inductions(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place, inner loops first."""
    out: list[L.Stmt] = []
    for stmt in body:
        for block in L.blocks_of(stmt):
            substitute_inductions(block)
        out.append(stmt)
        if isinstance(stmt, L.Loop):
            out += _substitute(stmt)
    body[:] = out


def _substitute(loop: L.Loop) -> list[L.Stmt]:
    """Replace the induction variables of a loop; return the statements that follow it."""
    after: list[L.Stmt] = []
    inside = list(L.walk(loop.body))
    if L.has_break(loop.body) or any(isinstance(s, L.Return) for s in inside):
        return after
    assigned = [n for s in inside for n in defs(s)]
    if loop.var in assigned or not (L.is_lit(loop.step, 1) or L.is_lit(loop.step, -1)):
        return after
    if names_in([loop.start, loop.stop]) & set(assigned):
        return after
    for position, stmt in reversed(list(enumerate(loop.body))):
        step = _increment(stmt)
        if step is None or not isinstance(stmt, L.Let) or assigned.count(stmt.name) != 1:
            continue
        if names_in([step]) & {*assigned, loop.var} or _reads_memory(step):
            continue
        _replace(loop, position, stmt.name, step)
        total = L.mul(L.clamp_to_zero(trip_count(loop)), step)
        after.append(L.Let(stmt.name, L.add(L.Name(stmt.name), total)))
    return after


def _increment(stmt: L.Stmt) -> L.Expr | None:
    """c, if a statement is `v = v + c` with an int64 v, otherwise None."""
    if not isinstance(stmt, L.Let) or stmt.expr.dtype != "int64":
        return None
    e, v = stmt.expr, L.Name(stmt.name)
    if not isinstance(e, L.Bin) or e.op not in ("+", "-"):
        return None
    if e.op == "+" and e.right == v and stmt.name not in names_in([e.left]):
        return e.left
    if e.left != v or stmt.name in names_in([e.right]):
        return None
    return e.right if e.op == "+" else L.mul(e.right, L.lit(-1))


def _reads_memory(e: L.Expr) -> bool:
    return any(isinstance(p, (L.Load, L.Field, L.Apply)) for p in L.walk_expr(e))


def _replace(loop: L.Loop, position: int, name: str, step: L.Expr) -> None:
    """Replace an induction variable by its closed form, and drop its increment at `position`."""
    passed = L.sub(L.Name(loop.var), loop.start)
    if L.is_lit(loop.step, -1):
        passed = L.sub(loop.start, L.Name(loop.var))
    before = L.add(L.Name(name), L.mul(passed, step))
    for stmts, value in (
        (loop.body[:position], before),
        (loop.body[position + 1 :], L.add(before, step)),
    ):
        if any(name in uses(s) for s in L.walk(stmts)):
            L.map_stmts(stmts, lambda e, v=value: v if e == L.Name(name) else None)
    del loop.body[position]
