"""Peel the first iteration, by a branch, if later ones accumulate to zeros, on loop-level IR.

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

The adjoint of a stencil that alternates between two arrays reads the adjoint of one of them and
resets it to zero.  Each iteration of the outer loop leaves zeros, and the next one accumulates to
them.  From the second iteration on the zeros need neither be loaded nor stored again, if nothing
else accesses these elements.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from ...ir.record import record
from ..analysis.access_region import AccessRegions
from ..analysis.alias import MayAlias, with_bindings
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import single_definitions
from ..loop_ir import nodes as L


@record
class _ResetSum:
    """An accumulation to an element and a later store of zero to it, in one block.

    `add` and `zero` are their positions in `block`; `loops` are the enclosing loops of the nest.
    """

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
    """Rewrite `body` in place."""
    known: dict[str, L.Expr] | None = None
    may_alias = with_bindings(body, may_alias)
    for loop in [s for s in L.walk(body) if isinstance(s, L.Loop) and not s.parallel]:
        for stmt in list(loop.body):
            found = next(_reset_sums(stmt, []), None)
            if found is None or not isinstance(stmt, L.Loop):
                continue
            known = single_definitions(list(L.walk(body))) if known is None else known
            if _stays_zero(loop, stmt, found, may_alias, known):
                at = L.position_of(loop.body, stmt)
                first = L.compare("==", L.Name(loop.var), loop.start)
                loop.body[at] = L.If(first, [stmt], [_without_zeros(stmt, found, new_name)])


def _reset_sums(stmt: L.Stmt, loops: list[L.Loop]) -> Iterator[_ResetSum]:
    """The accumulations in a loop nest that are followed by a store of zero to their element."""
    if not isinstance(stmt, L.Loop) or stmt.parallel:
        return
    loops = [*loops, stmt]
    for zero, put in enumerate(stmt.body):
        yield from _reset_sums(put, loops)
        if not isinstance(put, L.Store) or put.add or not L.is_lit(put.expr, 0):
            continue
        for add, other in enumerate(stmt.body[:zero]):
            if isinstance(other, L.Store) and other.add and other.buffer == put.buffer:
                if other.index == put.index:
                    yield _ResetSum(stmt.body, add, zero, loops)


def _stays_zero(
    loop: L.Loop, nest: L.Loop, found: _ResetSum, may_alias: MayAlias, known: dict[str, L.Expr]
) -> bool:
    """True if in all but the first iteration of `loop` the elements are zero when `nest` starts.

    Every iteration of `loop` must reset the same elements, and no other access in it may overlap
    them.
    """
    put, between = found.put, found.block[found.add + 1 : found.zero]
    if any(isinstance(s, (L.Break, L.Return, L.Fail)) for s in L.walk([nest])):
        return False
    if put.expr.dtype not in ("float32", "float64"):
        return False
    if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in between):
        return False
    inside = {name for s in L.walk(loop.body) for name in defs(s)}
    if loop.var in inside or names_in([loop.start]) & {loop.var, *inside}:
        return False  # the first iteration could not be identified
    if names_in(put.index) & {name for s in found.block for name in defs(s)}:
        return False
    extents = AccessRegions(loop, known)
    if not _is_invariant_region(put.index, found.loops, extents):
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
        elif not extents.disjoint(mine, (access.index, access.loops)):
            return False
    return True


def _is_invariant_region(index: L.Index, loops: list[L.Loop], extents: AccessRegions) -> bool:
    """True if a nest accesses the same elements in every outer iteration, each of them once."""
    axes = [
        [k for k, e in enumerate(index) if L.constant_offset(e, p.var) is not None] for p in loops
    ]
    if any(len(found) != 1 for found in axes) or len({k for (k,) in axes}) < len(loops):
        return False
    if any(extents.before_loop(e, set()) is None for p in loops for e in (p.start, p.stop)):
        return False
    return all(extents.index_bounds(e, loops) is not None for e in index)


@record
class _Access:
    """An access to a buffer.

    `dtype` is set for a load and None for a write.  `index` is None for an access to the whole
    buffer.
    """

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
            if isinstance(e, L.Subview):
                yield _Access(e.buffer, None, None, *here)
            for part in (
                p for i in (e.index if isinstance(e, L.Subview) else (e,)) for p in L.walk_expr(i)
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


def _without_zeros(nest: L.Loop, found: _ResetSum, new_name: Callable[[str], str]) -> L.Loop:
    """A copy of the nest for the iterations in which the elements are zero."""
    put, original = found.put, list(found.block)
    total = L.Name(new_name(put.buffer), put.expr.dtype)

    def load(e: L.Expr) -> L.Expr | None:
        return total if isinstance(e, L.Load) and (e.buffer, e.index) == place else None

    place = put.buffer, put.index
    new = copy.deepcopy(original)
    L.map_stmts(new[found.add + 1 : found.zero], load)
    zero = L.Lit(0.0, put.expr.dtype)
    new[found.add] = L.Let(total.name, L.Bin("+", zero, put.expr, put.expr.dtype))
    del new[found.zero]
    found.block[:] = new
    changed = copy.deepcopy(nest)
    found.block[:] = original
    return changed
