"""Loop reversal of loops that store to an array backwards, on loop-level IR.

The adjoint of a reversed slice adds from the last element to the first:

    for i in range(n):                  for i in range(n):
        X[-i + last] += T[i]       →        X[i] += T[-i + last]

Each iteration stores to an element of its own, so the order of iterations does not matter.  On the
right the loop can be fused with other loops over X.
"""

from __future__ import annotations

from collections import Counter

from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def reverse_scatter_loops(body: list[L.Stmt], may_alias: MayAlias) -> None:
    """Rewrite `body` in place."""
    stmts = list(L.walk(body))
    times = Counter(name for s in stmts for name in defs(s))
    # Definitions that hold wherever their scalars are in scope: no name is assigned twice.
    definitions = {
        s.name: s.expr
        for s in stmts
        if isinstance(s, L.Let) and all(times[n] <= 1 for n in (s.name, *names_in([s.expr])))
    }
    inside: set[int] = set()
    for stmt in stmts:
        nest = None if id(stmt) in inside else L.perfect_nest(stmt)
        if nest is not None:
            loops, store = nest
            inside.update(map(id, loops))
            for loop in loops:
                last = _written_backwards(store, loop, definitions, may_alias)
                if last is not None:
                    _reverse(store, loop.var, last)


def _written_backwards(
    store: L.Store, loop: L.Loop, definitions: dict[str, L.Expr], may_alias: MayAlias
) -> L.Expr | None:
    """Return the last index `last`, if a nest stores at `last - i` for i from 0 to `last`.

    Return None if it does not, or if it loads from the same memory.
    """
    varying = [e for e in store.index if loop.var in names_in([e])]
    if len(varying) != 1:
        return None
    (index,) = varying
    if not (isinstance(index, L.Bin) and index.op == "+" and _is_negated(index.left, loop.var)):
        return None
    last = index.right
    value = definitions.get(last.name) if isinstance(last, L.Name) else last
    if value != L.sub(loop.stop, L.ONE):
        return None
    loads = [p for e in (*store.index, store.expr) for p in L.walk_expr(e) if isinstance(p, L.Load)]
    return None if any(may_alias(p.buffer, store.buffer) for p in loads) else last


def _is_negated(e: L.Expr, var: str) -> bool:
    return isinstance(e, L.Un) and e.op == "-" and e.x == L.Name(var)


def _reverse(store: L.Store, var: str, last: L.Expr) -> None:
    """Swap `var` and `last - var` in a store."""
    i = L.Name(var)
    mirrored = L.Bin("+", L.Un("-", i, "int64"), last, "int64")

    def reversed_index(e: L.Expr) -> L.Expr | None:
        if e == mirrored:
            return i
        return mirrored if e == i else None

    store.index = tuple(L.map_expr(e, reversed_index) for e in store.index)
    store.expr = L.map_expr(store.expr, reversed_index)
