"""Additions to neighbouring elements get loops of their own, on loop-level IR.

    for j in range(1, n):                   for j in range(1, n):
        t = f(x, j)                             t = f(x, j)
        g[j] += t                   →           t_rows[j - 1] = t
        g[j - 1] += t                       for j in range(1, n):
                                                g[j] += t_rows[j - 1]
                                            for j in range(1, n):
                                                g[j - 1] += t_rows[j - 1]

The adjoint of a stencil that is written as a loop comes to each element several times, in different
rounds, so that rounds have to wait for each other.  In each of the loops on the right, several are
computed at once.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import trips
from ..analysis.dependence import loop_reductions
from ..analysis.liveness import after_loops, defs, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L

# A loop with fewer rounds stays.
FEW = 8


def distribute_shifted(
    body: list[L.Stmt], escaping: set[str], may_alias: MayAlias, new_name: Callable[[str], str]
) -> list[L.Stmt]:
    """`visible` are the buffers whose contents the caller sees even if the call fails."""
    if not any(isinstance(s, L.Loop) and _shifted(s) for s in L.walk(body)):
        return body
    after = after_loops(body)
    may_alias = with_bindings(body, may_alias)

    def block(stmts: list[L.Stmt]) -> list[L.Stmt]:
        out: list[L.Stmt] = []
        for stmt in stmts:
            for inner in L.blocks_of(stmt):
                inner[:] = block(inner)
            puts = _shifted(stmt) if isinstance(stmt, L.Loop) else {}
            if puts:
                assert isinstance(stmt, L.Loop)
                common = loop_reductions(stmt, after[id(stmt)], may_alias, escaping)
                if common is not None and not common.scratch:
                    wanted = [p for p in puts.values() if p.buffer in common.sums]
                    out += _parted(stmt, wanted, puts, new_name) if wanted else [stmt]
                    continue
            out.append(stmt)
        return out

    return block(body)


def _shifted(loop: L.Loop) -> dict[int, L.Store]:
    """By the identity of the statements of a round: those that add to an element which other
    rounds add to as well, with indices in terms of the loop's variable."""
    if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in loop.body) or loop.parallel:
        return {}
    if L.span(loop) is None:
        return {}
    if isinstance(count := trips(loop), L.Lit) and count.value < FEW:
        return {}
    names = [name for s in loop.body for name in defs(s)]
    integers: dict[str, L.Expr] = {}
    found: dict[int, L.Store] = {}
    for s in loop.body:
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and names.count(s.name) == 1:
            integers[s.name] = resolve(s.expr, integers)
        elif isinstance(s, L.Store) and s.add and s.expr.dtype in ("float32", "float64"):
            index = tuple(resolve(e, integers) for e in s.index)
            if _moves(index, loop.var, {*names}):
                found[id(s)] = L.Store(s.buffer, index, s.expr, add=True)
    several = {
        p.buffer
        for p in found.values()
        for q in found.values()
        if p.buffer == q.buffer and _meet(p, q, loop.var)
    }
    return {key: p for key, p in found.items() if p.buffer in several}


def _moves(index: L.Index, var: str, bound: set[str]) -> bool:
    """Whether an index goes with the loop's variable along its last axis, and only there."""
    if not index:
        return False
    *rows, last = index
    if any(isinstance(p, L.Load) for e in index for p in L.walk_expr(e)):
        return False
    return L.offset(last, var) is not None and not names_in(rows) & {var, *bound}


def _meet(p: L.Store, q: L.Store, var: str) -> bool:
    """Whether two rounds add to one element, one here and one there."""
    return p.index[:-1] == q.index[:-1] and L.offset(p.index[-1], var) != L.offset(q.index[-1], var)


def _parted(
    loop: L.Loop, wanted: list[L.Store], puts: dict[int, L.Store], new_name: Callable[[str], str]
) -> list[L.Stmt]:
    """Loops that run forwards: rounds may come in any order."""
    span = L.span(loop)
    assert span is not None
    least, end = span
    place = L.sub(L.Name(loop.var), least)
    rows: dict[L.Expr, str] = {}
    allocs: list[L.Stmt] = []
    first: list[L.Stmt] = []
    loops: list[L.Stmt] = []
    chosen = {id(p) for p in wanted}
    for s in loop.body:
        put = puts.get(id(s))
        if put is None or id(put) not in chosen:
            first.append(s)
            rows = {e: kept for e, kept in rows.items() if not _may_change(e, s)}
            continue
        if put.expr not in rows:
            rows[put.expr] = new_name("t_rows")
            size = L.at_least_none(trips(loop))
            allocs.append(L.Alloc(rows[put.expr], put.expr.dtype, (size,)))
            first.append(L.Store(rows[put.expr], (place,), put.expr))
        value = L.Load(rows[put.expr], (place,), put.expr.dtype)
        body: list[L.Stmt] = [L.Store(put.buffer, put.index, value, add=True)]
        loops.append(L.Loop(loop.var, least, end, L.ONE, body))
    return [*allocs, L.Loop(loop.var, least, end, L.ONE, first), *loops]


def _may_change(e: L.Expr, stmt: L.Stmt) -> bool:
    """Whether an expression may have another value after a statement of a round."""
    if isinstance(stmt, L.Store):
        return any(isinstance(p, L.Load) for p in L.walk_expr(e))
    return bool(names_in([e]) & {*defs(stmt)})
