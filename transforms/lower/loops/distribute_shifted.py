"""Loop distribution of accumulations into neighbouring elements, on loop-level IR.

    for j in range(1, n):                   for j in range(1, n):
        t = f(x, j)                             t = f(x, j)
        g[j] += t                   →           t_rows[j - 1] = t
        g[j - 1] += t                       for j in range(1, n):
                                                g[j] += t_rows[j - 1]
                                            for j in range(1, n):
                                                g[j - 1] += t_rows[j - 1]

The adjoint of a stencil that is written as a loop adds to each element several times, in different
iterations: a loop-carried dependence.  None of the loops on the right has one, so each can be
vectorised.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import trip_count
from ..analysis.dependence import loop_reductions
from ..analysis.liveness import defs, live_after_loops, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L

# Loops with fewer iterations are not distributed.
MIN_TRIPS = 8


def distribute_shifted(
    body: list[L.Stmt], escaping: set[str], may_alias: MayAlias, new_name: Callable[[str], str]
) -> list[L.Stmt]:
    """Return `body` with loops distributed.

    `escaping` are the buffers whose contents the caller sees even if the call fails.
    """
    if not any(isinstance(s, L.Loop) and _shifted(s) for s in L.walk(body)):
        return body
    after = live_after_loops(body)
    may_alias = with_bindings(body, may_alias)

    def block(stmts: list[L.Stmt]) -> list[L.Stmt]:
        out: list[L.Stmt] = []
        for stmt in stmts:
            for inner in L.blocks_of(stmt):
                inner[:] = block(inner)
            stores = _shifted(stmt) if isinstance(stmt, L.Loop) else {}
            if stores:
                assert isinstance(stmt, L.Loop)
                common = loop_reductions(stmt, after[id(stmt)], may_alias, escaping)
                if common is not None and not common.private_buffers:
                    selected = [p for p in stores.values() if p.buffer in common.array_reductions]
                    out += _distributed(stmt, selected, stores, new_name) if selected else [stmt]
                    continue
            out.append(stmt)
        return out

    return block(body)


def _shifted(loop: L.Loop) -> dict[int, L.Store]:
    """Return the stores of a loop that add to an element to which other iterations add as well.

    The keys are the identities of the statements.  The stores returned have indices in terms of the
    loop's variable.
    """
    if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in loop.body) or loop.parallel:
        return {}
    if L.index_range(loop) is None:
        return {}
    if isinstance(count := trip_count(loop), L.Lit) and count.value < MIN_TRIPS:
        return {}
    names = [name for s in loop.body for name in defs(s)]
    integers: dict[str, L.Expr] = {}
    found: dict[int, L.Store] = {}
    for s in loop.body:
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and names.count(s.name) == 1:
            integers[s.name] = resolve(s.expr, integers)
        elif isinstance(s, L.Store) and s.add and s.expr.dtype in ("float32", "float64"):
            index = tuple(resolve(e, integers) for e in s.index)
            if _follows_variable(index, loop.var, {*names}):
                found[id(s)] = L.Store(s.buffer, index, s.expr, add=True)
    overlapping = {
        p.buffer
        for p in found.values()
        for q in found.values()
        if p.buffer == q.buffer and _may_overlap(p, q, loop.var)
    }
    return {key: p for key, p in found.items() if p.buffer in overlapping}


def _follows_variable(index: L.Index, var: str, bound: set[str]) -> bool:
    """True if an index depends on the loop's variable, as variable + constant, along its last axis
    only."""
    if not index:
        return False
    *rows, last = index
    if any(isinstance(p, L.Load) for e in index for p in L.walk_expr(e)):
        return False
    return L.constant_offset(last, var) is not None and not names_in(rows) & {var, *bound}


def _may_overlap(p: L.Store, q: L.Store, var: str) -> bool:
    """True if the two stores may add to the same element in two different iterations."""
    return p.index[:-1] == q.index[:-1] and L.constant_offset(
        p.index[-1], var
    ) != L.constant_offset(q.index[-1], var)


def _distributed(
    loop: L.Loop,
    selected: list[L.Store],
    stores: dict[int, L.Store],
    new_name: Callable[[str], str],
) -> list[L.Stmt]:
    """Return the distributed loops.  They run forwards, since the iterations are independent."""
    span = L.index_range(loop)
    assert span is not None
    least, end = span
    position = L.sub(L.Name(loop.var), least)
    rows: dict[L.Expr, str] = {}
    allocs: list[L.Stmt] = []
    first: list[L.Stmt] = []
    loops: list[L.Stmt] = []
    chosen = {id(p) for p in selected}
    for s in loop.body:
        store = stores.get(id(s))
        if store is None or id(store) not in chosen:
            first.append(s)
            rows = {e: kept for e, kept in rows.items() if not _may_change(e, s)}
            continue
        if store.expr not in rows:
            rows[store.expr] = new_name("t_rows")
            size = L.clamp_to_zero(trip_count(loop))
            allocs.append(L.Alloc(rows[store.expr], store.expr.dtype, (size,)))
            first.append(L.Store(rows[store.expr], (position,), store.expr))
        value = L.Load(rows[store.expr], (position,), store.expr.dtype)
        body: list[L.Stmt] = [L.Store(store.buffer, store.index, value, add=True)]
        loops.append(L.Loop(loop.var, least, end, L.ONE, body))
    return [*allocs, L.Loop(loop.var, least, end, L.ONE, first), *loops]


def _may_change(e: L.Expr, stmt: L.Stmt) -> bool:
    """True if a statement of the loop's body may change the value of an expression."""
    if isinstance(stmt, L.Store):
        return any(isinstance(p, L.Load) for p in L.walk_expr(e))
    return bool(names_in([e]) & {*defs(stmt)})
