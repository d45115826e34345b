"""Eliminate bounds checks and negative-index normalisation that value ranges prove redundant.

The pass works on loop-level IR.

    for c in range(1, n):                       for c in range(1, n):
        if c & 1 << j != 0:                         if c & 1 << j != 0:
            t = c ^ 1 << j                              t = c ^ 1 << j
            at = t + n if t < 0 else t      →           at = t
            if at < 0 or at >= n:                       s = s + x[at]
                raise IndexError(…)
            s = s + x[at]

It handles the indices that symbolic sizes and constants do not prove to be in bounds, but the
ranges of the surrounding loops and the conditions of the surrounding branches do
(`lower/analysis/value_range.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.value_range import ValueRanges
from ..loop_ir import nodes as L


def eliminate_in_range_checks(body: list[L.Stmt], params: Iterable[str]) -> None:
    """Rewrite `body` in place."""
    if not any(map(_is_candidate, L.walk(body))):
        return
    known = ValueRanges(body, params)
    never_fail: set[int] = set()

    def simplified(e: L.Expr) -> L.Expr | None:
        if not isinstance(e, L.Select) or e.dtype != "int64":
            return None
        cond = _without_false_disjuncts(e.cond, known)
        if cond == e.cond:
            return None
        return L.select(cond, *(L.map_expr(arm, simplified) for arm in (e.x, e.y)))

    for stmt in known.walk(body):
        L.map_stmt(stmt, simplified)
        if L.is_check(stmt) and known.is_false(stmt.cond):
            never_fail.add(id(stmt))
    if never_fail:
        _drop(body, never_fail)


def _without_false_disjuncts(cond: L.Expr, known: ValueRanges) -> L.Expr:
    """Return `cond` without the disjuncts that are never true."""
    if known.is_false(cond):
        return L.lit(False, "bool")
    if isinstance(cond, L.Bin) and cond.op == "or":
        return L.logical_or(
            _without_false_disjuncts(cond.left, known), _without_false_disjuncts(cond.right, known)
        )
    return cond


def _is_candidate(stmt: L.Stmt) -> bool:
    """True if a statement may normalise a negative index or raise an error."""
    if isinstance(stmt, L.Fail):
        return True
    return any(isinstance(part, L.Select) for part in L.subexprs_read(stmt))


def _drop(body: list[L.Stmt], never_fail: set[int]) -> None:
    body[:] = [s for s in body if id(s) not in never_fail]
    for stmt in body:
        for block in L.blocks_of(stmt):
            _drop(block, never_fail)
