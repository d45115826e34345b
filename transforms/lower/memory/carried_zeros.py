"""What each round of a loop leaves as zeros, and adds to in the next, stays zero, on loop-level IR.

    for k in range(steps):              for k in range(steps):
        for i in range(n):                  if k == 0:
            x[i] += t[i]                        for i in range(n):
            u[i] = x[i] / 3.0                       x[i] += t[i]
            x[i] = 0.0                              u[i] = x[i] / 3.0
        …                           →               x[i] = 0.0
                                            else:
                                                for i in range(n):
                                                    x_1 = 0.0 + t[i]
                                                    u[i] = x_1 / 3.0
                                            …

The adjoint of a stencil that goes back and forth between two arrays takes what has come to one of
them and leaves zeros.  From the second round on nobody needs to look at them, or to write them
again, if nothing else comes to these elements.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from ...ir.record import record
from ..analysis.access_region import Extents
from ..analysis.alias import MayAlias, with_bindings
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import single_definitions
from ..loop_ir import nodes as L


@record
class _Sum:
    """An element that is added to and set to zero in one block, and where; the loops around it."""

    block: list[L.Stmt]
    add: int
    zero: int
    loops: list[L.Loop]

    @property
    def put(self) -> L.Store:
        put = self.block[self.add]
        assert isinstance(put, L.Store)
        return put


def peel_carried_zeros(
    body: list[L.Stmt], may_alias: MayAlias, new_name: Callable[[str], str]
) -> None:
    """Rewrites `body` in place."""
    known: dict[str, L.Expr] | None = None
    may_alias = with_bindings(body, may_alias)
    for loop in [s for s in L.walk(body) if isinstance(s, L.Loop) and not s.parallel]:
        for stmt in list(loop.body):
            found = next(_sums(stmt, []), None)
            if found is None or not isinstance(stmt, L.Loop):
                continue
            known = single_definitions(list(L.walk(body))) if known is None else known
            if _stays_zero(loop, stmt, found, may_alias, known):
                at = L.place_in(loop.body, stmt)
                first = L.compare("==", L.Name(loop.var), loop.start)
                loop.body[at] = L.If(first, [stmt], [_without_zeros(stmt, found, new_name)])


def _sums(stmt: L.Stmt, loops: list[L.Loop]) -> Iterator[_Sum]:
    if not isinstance(stmt, L.Loop) or stmt.parallel:
        return
    loops = [*loops, stmt]
    for zero, put in enumerate(stmt.body):
        yield from _sums(put, loops)
        if not isinstance(put, L.Store) or put.add or not L.is_lit(put.expr, 0):
            continue
        for add, other in enumerate(stmt.body[:zero]):
            if isinstance(other, L.Store) and other.add and other.buffer == put.buffer:
                if other.index == put.index:
                    yield _Sum(stmt.body, add, zero, loops)


def _stays_zero(
    loop: L.Loop, nest: L.Loop, found: _Sum, may_alias: MayAlias, known: dict[str, L.Expr]
) -> bool:
    put, between = found.put, found.block[found.add + 1 : found.zero]
    if any(isinstance(s, (L.Break, L.Return, L.Fail)) for s in L.walk([nest])):
        return False
    if put.expr.dtype not in ("float32", "float64"):
        return False
    if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in between):
        return False
    inside = {name for s in L.walk(loop.body) for name in defs(s)}
    if loop.var in inside or names_in([loop.start]) & {loop.var, *inside}:
        return False  # which round is the first could not be told
    if names_in(put.index) & {name for s in found.block for name in defs(s)}:
        return False
    extents = Extents(loop, known)
    if not _same_each_round(put.index, found.loops, extents):
        return False
    mine = (put.index, found.loops)
    for access in _accesses(loop.body, []):
        if not may_alias(access.buffer, put.buffer):
            continue
        if access.buffer != put.buffer or access.index is None:
            return False
        if access.block is found.block and access.index == put.index:
            if access.dtype is None and access.at not in (found.add, found.zero):
                return False
            if access.dtype not in (None, put.expr.dtype):
                return False
        elif not extents.apart(mine, (access.index, access.loops)):
            return False
    return True


def _same_each_round(index: L.Index, loops: list[L.Loop], extents: Extents) -> bool:
    """Whether a nest comes to the same elements in each round, and once to each."""
    axes = [[k for k, e in enumerate(index) if L.offset(e, p.var) is not None] for p in loops]
    if any(len(found) != 1 for found in axes) or len({k for (k,) in axes}) < len(loops):
        return False
    if any(extents.spelt(e, set()) is None for p in loops for e in (p.start, p.stop)):
        return False
    return all(extents.ends(e, loops) is not None for e in index)


@record
class _Access:
    """Of a buffer that is read, with its dtype, or written, without; of all of it without index."""

    buffer: str
    index: L.Index | None
    dtype: str | None
    block: list[L.Stmt]
    at: int
    loops: list[L.Loop]


def _accesses(block: list[L.Stmt], loops: list[L.Loop]) -> Iterator[_Access]:
    for at, stmt in enumerate(block):
        here = block, at, loops
        for e in L.exprs_of(stmt):
            if isinstance(e, L.Part):
                yield _Access(e.buffer, None, None, *here)
            for part in (
                p for i in (e.index if isinstance(e, L.Part) else (e,)) for p in L.walk_expr(i)
            ):
                if isinstance(part, L.Load):
                    yield _Access(part.buffer, part.index, part.dtype, *here)
        if isinstance(stmt, L.Store):
            yield _Access(stmt.buffer, stmt.index, None, *here)
        elif isinstance(stmt, (L.View, L.Rebind)):
            yield _Access(
                stmt.buffer if isinstance(stmt, L.View) else stmt.other, None, None, *here
            )
        if not isinstance(stmt, L.Loop):
            for name in defs(stmt):
                yield _Access(name, None, None, *here)
        for inner in L.blocks_of(stmt):
            yield from _accesses(inner, [*loops, stmt] if isinstance(stmt, L.Loop) else loops)


def _without_zeros(nest: L.Loop, found: _Sum, new_name: Callable[[str], str]) -> L.Loop:
    """A copy for the rounds in which zeros are there."""
    put, was = found.put, list(found.block)
    total = L.Name(new_name(put.buffer), put.expr.dtype)

    def load(e: L.Expr) -> L.Expr | None:
        return total if isinstance(e, L.Load) and (e.buffer, e.index) == place else None

    place = put.buffer, put.index
    new = copy.deepcopy(was)
    L.map_stmts(new[found.add + 1 : found.zero], load)
    zero = L.Lit(0.0, put.expr.dtype)
    new[found.add] = L.Let(total.name, L.Bin("+", zero, put.expr, put.expr.dtype))
    del new[found.zero]
    found.block[:] = new
    changed = copy.deepcopy(nest)
    found.block[:] = was
    return changed
