"""Indices that cannot lie outside are not checked, nor counted from the end, on loop-level IR.

    for c in range(1, n):                       for c in range(1, n):
        if c & 1 << j != 0:                         if c & 1 << j != 0:
            t = c ^ 1 << j                              t = c ^ 1 << j
            at = t + n if t < 0 else t      →           at = t
            if at < 0 or at >= n:                       s = s + x[at]
                raise IndexError(…)
            s = s + x[at]

That is so where symbols for sizes and numbers do not tell, but loops and branches around do
(`lower/analysis/value_range.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.value_range import Known
from ..loop_ir import nodes as L


def eliminate_in_range_checks(body: list[L.Stmt], params: Iterable[str]) -> None:
    """Rewrites `body` in place."""
    if not any(map(_has_question, L.walk(body))):
        return
    known = Known(body, params)
    idle: set[int] = set()

    def plain(e: L.Expr) -> L.Expr | None:
        if not isinstance(e, L.Select) or e.dtype != "int64":
            return None
        cond = _possible(e.cond, known)
        if cond == e.cond:
            return None
        return L.select(cond, *(L.map_expr(way, plain) for way in (e.x, e.y)))

    for stmt in known.walk(body):
        L.map_stmt(stmt, plain)
        if L.is_check(stmt) and known.never(stmt.cond):
            idle.add(id(stmt))
    if idle:
        _drop(body, idle)


def _possible(cond: L.Expr, known: Known) -> L.Expr:
    """Without the cases that are never so."""
    if known.never(cond):
        return L.lit(False, "bool")
    if isinstance(cond, L.Bin) and cond.op == "or":
        return L.either(_possible(cond.left, known), _possible(cond.right, known))
    return cond


def _has_question(stmt: L.Stmt) -> bool:
    """Whether it may count from the end, or raise an error."""
    if isinstance(stmt, L.Fail):
        return True
    return any(isinstance(part, L.Select) for part in L.parts_read(stmt))


def _drop(body: list[L.Stmt], idle: set[int]) -> None:
    body[:] = [s for s in body if id(s) not in idle]
    for stmt in body:
        for block in L.blocks_of(stmt):
            _drop(block, idle)
