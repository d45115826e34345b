"""Numbers that are computed a second time, or for nobody, on loop-level IR.

    a = 1.0 - b ** t                a = 1.0 - b ** t
    v = x.shape[0]          →       …
    c = 1.0 - b ** t
    … c                             … a

An optimizer computes the same few numbers for each weight, as its text says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import _is_fixed
from ..loop_ir import nodes as L

# Calls that take longer than a look at what they gave.
_AGAIN = ("rt.natural_power",)


def scalar_cse(body: list[L.Stmt], params: Iterable[str], kept: Iterable[L.Expr]) -> None:
    """Rewrites `body` in place.  The names in `kept` stay."""
    times = Counter(name for s in L.walk(body) for name in defs(s))
    times.update(params)
    stay = names_in(kept)
    first: dict[L.Expr, str] = {}
    other: dict[str, str] = {}

    def named(e: L.Expr) -> L.Expr | None:
        if isinstance(e, L.Name) and e.name in other:
            return L.Name(other[e.name], e.dtype)
        return None

    out: list[L.Stmt] = []
    for stmt in body:
        if other:
            L.map_stmts([stmt], named)
        if (
            isinstance(stmt, L.Let)
            and times[stmt.name] == 1
            and _is_fixed(stmt.expr, times, _AGAIN)
        ):
            known = first.setdefault(stmt.expr, stmt.name)
            if known != stmt.name and stmt.name not in stay:
                other[stmt.name] = known
                continue
        out.append(stmt)
    body[:] = _read(out, times, stay)


def _read(body: list[L.Stmt], times: Counter[str], stay: set[str]) -> list[L.Stmt]:
    """Without integers that nobody reads."""
    reads = Counter(name for s in L.walk(body) for e in L.exprs_of(s) for name in _names(e))
    out: list[L.Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, L.Let) and not reads[stmt.name] and stmt.name not in stay:
            if stmt.expr.dtype == "int64" and times[stmt.name] == 1:
                if _is_fixed(stmt.expr, times):
                    reads.subtract(_names(stmt.expr))
                    continue
        out.append(stmt)
    return out[::-1]


def _names(e: L.Expr | L.Part) -> list[str]:
    parts = e.index if isinstance(e, L.Part) else (e,)
    return [p.name for part in parts for p in L.walk_expr(part) if isinstance(p, L.Name)]
