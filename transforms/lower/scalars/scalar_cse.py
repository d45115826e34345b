"""Common subexpression elimination and dead code elimination of scalars, on loop-level IR.

    a = 1.0 - b ** t                a = 1.0 - b ** t
    v = x.shape[0]          →       …
    c = 1.0 - b ** t
    … c                             … a

An optimizer computes the same few scalars for each weight, because its source is written so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import is_fixed
from ..loop_ir import nodes as L


def scalar_cse(body: list[L.Stmt], params: Iterable[str], kept: Iterable[L.Expr]) -> None:
    """Rewrite `body` in place.  The names that occur in `kept` keep their definitions."""
    times = Counter(name for s in L.walk(body) for name in defs(s))
    times.update(params)
    live_out = names_in(kept)
    first: dict[L.Expr, str] = {}
    replacement: dict[str, str] = {}

    def replaced(e: L.Expr) -> L.Expr | None:
        if isinstance(e, L.Name) and e.name in replacement:
            return L.Name(replacement[e.name], e.dtype)
        return None

    out: list[L.Stmt] = []
    for stmt in body:
        if replacement:
            L.map_stmts([stmt], replaced)
        if isinstance(stmt, L.Let) and times[stmt.name] == 1 and is_fixed(stmt.expr, times):
            earlier = first.setdefault(stmt.expr, stmt.name)
            if earlier != stmt.name and stmt.name not in live_out:
                replacement[stmt.name] = earlier
                continue
        out.append(stmt)
    body[:] = _without_dead_integers(out, times, live_out)


def _without_dead_integers(
    body: list[L.Stmt], times: Counter[str], live_out: set[str]
) -> list[L.Stmt]:
    """Return `body` without dead integers: those that are never read."""
    reads = Counter(name for s in L.walk(body) for e in L.exprs_of(s) for name in _names(e))
    out: list[L.Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, L.Let) and not reads[stmt.name] and stmt.name not in live_out:
            if stmt.expr.dtype == "int64" and times[stmt.name] == 1:
                if is_fixed(stmt.expr, times):
                    reads.subtract(_names(stmt.expr))
                    continue
        out.append(stmt)
    return out[::-1]


def _names(e: L.Expr | L.Subview) -> list[str]:
    parts = e.index if isinstance(e, L.Subview) else (e,)
    return [p.name for part in parts for p in L.walk_expr(part) if isinstance(p, L.Name)]
