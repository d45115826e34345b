"""Loops that write an array backwards run the other way round, on loop-level IR.

The adjoint of a reversed slice adds from the last element to the first:

    for i in range(n):                  for i in range(n):
        X[-i + last] += T[i]       →        X[i] += T[-i + last]

Each round writes an element of its own, so that their order does not matter; on the right the loop
can join others that go through X.
"""

from __future__ import annotations

from collections import Counter

from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def reverse_scatter_loops(body: list[L.Stmt], may_alias: MayAlias) -> None:
    """Rewrites `body` in place."""
    stmts = list(L.walk(body))
    times = Counter(name for s in stmts for name in defs(s))
    # Numbers that are what they were made from wherever they are in scope.
    made = {
        s.name: s.expr
        for s in stmts
        if isinstance(s, L.Let) and all(times[n] <= 1 for n in (s.name, *names_in([s.expr])))
    }
    inside: set[int] = set()
    for stmt in stmts:
        nest = None if id(stmt) in inside else L.perfect_nest(stmt)
        if nest is not None:
            loops, put = nest
            inside.update(map(id, loops))
            for loop in loops:
                last = _written_backwards(put, loop, made, may_alias)
                if last is not None:
                    _turn(put, loop.var, last)


def _written_backwards(
    put: L.Store, loop: L.Loop, made: dict[str, L.Expr], may_alias: MayAlias
) -> L.Expr | None:
    """The last index, if a nest writes at `last - i` for i from 0 to it, and only there."""
    places = [e for e in put.index if loop.var in names_in([e])]
    if len(places) != 1:
        return None
    (place,) = places
    if not (isinstance(place, L.Bin) and place.op == "+" and _is_minus(place.left, loop.var)):
        return None
    last = place.right
    value = made.get(last.name) if isinstance(last, L.Name) else last
    if value != L.sub(loop.stop, L.ONE):
        return None
    loads = [p for e in (*put.index, put.expr) for p in L.walk_expr(e) if isinstance(p, L.Load)]
    return None if any(may_alias(p.buffer, put.buffer) for p in loads) else last


def _is_minus(e: L.Expr, var: str) -> bool:
    return isinstance(e, L.Un) and e.op == "-" and e.x == L.Name(var)


def _turn(put: L.Store, var: str, last: L.Expr) -> None:
    i = L.Name(var)
    back = L.Bin("+", L.Un("-", i, "int64"), last, "int64")

    def turned(e: L.Expr) -> L.Expr | None:
        if e == back:
            return i
        return back if e == i else None

    put.index = tuple(L.map_expr(e, turned) for e in put.index)
    put.expr = L.map_expr(put.expr, turned)
