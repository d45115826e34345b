"""Drops checks that an earlier one has settled, on loop-level IR.

A sweep asks again what the forward part has asked; each check that stays parts loops that could
be one.
"""

from __future__ import annotations

from . import loop_ir as L


def drop_settled(body: list[L.Stmt]) -> list[L.Stmt]:
    return _block(body, set())


def _block(body: list[L.Stmt], settled: set[L.Expr]) -> list[L.Stmt]:
    """`settled` are conditions that do not hold here; those found in the block are added."""
    out: list[L.Stmt] = []
    for stmt in body:
        if isinstance(stmt, L.Branch):
            if _only_fails(stmt):
                if stmt.cond in settled:
                    continue
                settled.add(stmt.cond)
                settled.update(_alternatives(stmt.cond))
            else:
                stmt.then = _block(stmt.then, set(settled))
                stmt.orelse = _block(stmt.orelse, set(settled))
        elif isinstance(stmt, (L.Loop, L.Forever)):
            # What an iteration changes may be otherwise when the next begins.
            inside = set(settled)
            _forget(stmt, inside)
            stmt.body = _block(stmt.body, inside)
        _forget(stmt, settled)
        out.append(stmt)
    return out


def _only_fails(stmt: L.Branch) -> bool:
    return not stmt.orelse and bool(stmt.then) and isinstance(stmt.then[-1], L.Fail)


def _alternatives(cond: L.Expr) -> list[L.Expr]:
    """None of several holds if not one of them does."""
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [cond.left, cond.right, *_alternatives(cond.left), *_alternatives(cond.right)]
    return []


def _forget(stmt: L.Stmt, settled: set[L.Expr]) -> None:
    """What a statement may have changed is open again."""
    if isinstance(stmt, L.Remark) or not settled:
        return
    changed, memory = set[str](), False
    for s in L.walk([stmt]):
        if isinstance(s, (L.Let, L.Alloc, L.Alias, L.Bind)):
            changed.add(s.name)
        elif isinstance(s, L.Loop):
            changed.add(s.var)
        elif isinstance(s, (L.BindCall, L.Invoke)):
            changed.update(s.names)
        memory |= isinstance(s, (L.Put, L.Do, L.BindCall, L.Invoke))
    for cond in list(settled):
        for p in L.walk_expr(cond):
            name = p.name if isinstance(p, L.Name) else getattr(p, "buffer", None)
            if name in changed or (memory and isinstance(p, L.Load)):
                settled.discard(cond)
                break
