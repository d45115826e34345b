"""Which array or list a statement in memory form writes in place."""

from __future__ import annotations

from ..ir.nodes import Assign, Push, Stmt, Store, Var


def written_by(stmt: Stmt) -> str | None:
    """The array or list that a statement itself writes in place."""
    if isinstance(stmt, Store):
        return stmt.array.name
    if isinstance(stmt, Push):
        return stmt.stack.name
    if isinstance(stmt, Assign) and stmt.op.name == "pop" and isinstance(stmt.op.args[0], Var):
        return stmt.op.args[0].name
    return None
