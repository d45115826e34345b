"""Drops checks that an earlier one has settled, on loop-level IR.

A sweep asks again what the forward part has asked; each check that stays parts loops that could
be one.
"""

from __future__ import annotations

from . import loop_ir as L
from .live import binds, names_in

# Conditions that do not hold, with the variables in them and whether they read memory.
Settled = dict[L.Expr, tuple[set[str], bool]]


def drop_settled(body: list[L.Stmt]) -> list[L.Stmt]:
    return _block(body, {})


def _block(body: list[L.Stmt], settled: Settled) -> list[L.Stmt]:
    """`settled` is what is known here; what is found in the block is added."""
    out: list[L.Stmt] = []
    for stmt in body:
        if isinstance(stmt, L.Branch):
            if _only_fails(stmt):
                if stmt.cond in settled:
                    continue
                for cond in (stmt.cond, *_alternatives(stmt.cond)):
                    loads = any(isinstance(p, L.Load) for p in L.walk_expr(cond))
                    settled[cond] = names_in([cond]), loads
            else:
                stmt.then = _block(stmt.then, dict(settled))
                stmt.orelse = _block(stmt.orelse, dict(settled))
        elif isinstance(stmt, (L.Loop, L.Forever)):
            # What an iteration changes may be otherwise when the next begins.
            inside = dict(settled)
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


def _forget(stmt: L.Stmt, settled: Settled) -> None:
    """What a statement may have changed is open again."""
    if isinstance(stmt, L.Remark) or not settled:
        return
    changed, memory = set[str](), False
    for s in L.walk([stmt]):
        changed.update(binds(s))
        memory |= isinstance(s, (L.Put, L.Do, L.BindCall, L.Invoke))
    for cond, (names, loads) in list(settled.items()):
        if (memory and loads) or not names.isdisjoint(changed):
            del settled[cond]
