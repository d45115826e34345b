"""A multiple of an array is not made if both are added to a third, on loop-level IR.

    for i in range(n):                  for i in range(n):
        u[i] = -t[i]                        x[i] += -t[i]
    for i in range(n):                  for i in range(n):
        x[i] += u[i]                →       x[i + 1] += t[i]
    for i in range(n):
        x[i + 1] += t[i]

The adjoint of a difference, or of a stencil whose middle has a weight of its own, adds multiples of
what has come in.  As multiples of one array they become one sum
(`lower/loops/scatter_to_gather.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...ir.fixpoint import rewrites
from ...ir.record import record
from ..analysis.buffer_uses import Uses, level_of, survey
from ..analysis.zero_product import keeps_zero
from ..loop_ir import nodes as L


@record
class _Multiple:
    """A nest that fills `name` with multiples of `of`, and where it stands."""

    block: list[L.Stmt]
    at: int
    name: str
    of: str
    index: L.Index
    stops: L.Index
    expr: L.Expr


def forward_scaled_copies(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    for _ in rewrites("spell_multiples"):
        if (found := _find(body)) is None:
            break
        _spell_out(body, found)


def _find(body: list[L.Stmt]) -> _Multiple | None:
    into = _sums(body)
    if not into:
        return None
    uses: dict[str, Uses] = {}
    for block in _blocks(body):
        for at, stmt in enumerate(block):
            found = _multiple(block, at, stmt)
            if found is None or not into[found.name] & into[found.of]:
                continue
            uses = uses or survey(body)
            if _may_be_spelt_out(found, uses):
                return found
    return None


def _sums(body: list[L.Stmt]) -> defaultdict[str, set[str]]:
    """By what is added: to which buffers."""
    into: defaultdict[str, set[str]] = defaultdict(set)
    for stmt in L.walk(body):
        if isinstance(stmt, L.Store) and stmt.add:
            for part in L.walk_expr(stmt.expr):
                if isinstance(part, L.Load):
                    into[part.buffer].add(stmt.buffer)
    return into


def _blocks(block: list[L.Stmt]) -> Iterator[list[L.Stmt]]:
    yield block
    for stmt in block:
        for inner in L.blocks_of(stmt):
            yield from _blocks(inner)


def _multiple(block: list[L.Stmt], at: int, stmt: L.Stmt) -> _Multiple | None:
    nest = L.perfect_nest(stmt)
    if nest is None or nest[1].add:
        return None
    loops, put = nest
    index = tuple(L.Name(loop.var) for loop in loops)
    loads = {p for p in L.walk_expr(put.expr) if isinstance(p, L.Load)}
    if put.index != index or len(loads) != 1:
        return None
    load = loads.pop()
    if load.index != index or load.buffer == put.buffer or load.dtype != put.expr.dtype:
        return None
    if not keeps_zero(put.expr, load):
        return None
    stops = tuple(loop.stop for loop in loops)
    return _Multiple(block, at, put.buffer, load.buffer, index, stops, put.expr)


def _may_be_spelt_out(found: _Multiple, uses: dict[str, Uses]) -> bool:
    """Whether the one array, which is filled once, is read while the other is as it was."""
    for name in (found.name, found.of):
        use = uses[name]
        if use.odd or len(use.allocs) != 1 or use.allocs[0][0] is not found.block:
            return False
        for path, _, _ in use.accesses:
            level = level_of(path, found.block)
            if level is None:
                return False
            where, (block, position) = path[level][1], path[-1]
            stmt = block[position]
            if where > found.at and isinstance(stmt, L.Store) and stmt.buffer == name:
                return False
            if where < found.at and name == found.name:
                return False
    alloc = uses[found.name].allocs[0][1]
    return alloc.sizes == found.stops and alloc.dtype == found.expr.dtype


def _spell_out(body: list[L.Stmt], found: _Multiple) -> None:
    def load(e: L.Expr) -> L.Expr | None:
        if not (isinstance(e, L.Load) and e.buffer == found.name):
            return None
        place: dict[L.Expr, L.Expr] = dict(zip(found.index, e.index))
        return L.map_expr(found.expr, place.get)

    del found.block[found.at]
    found.block[:] = [
        s for s in found.block if not (isinstance(s, L.Alloc) and s.name == found.name)
    ]
    L.map_stmts(body, load)
