"""Drops what is stored in a loop but never read again, on loop-level IR.

The adjoint of `y[i] = …` takes what has come to `y_bar[i]` and leaves zero there, for what y held
before.  Where y was made for the loop, nobody asks for that:

    for i in range(1, n):               for i in range(1, n):
        t = y_bar[i]                        t = y_bar[i]
        y_bar[i] = 0.0              →       …
        …                               u = y_bar[0]
    u = y_bar[0]
"""

from __future__ import annotations

from collections import defaultdict

from ...ir.record import record
from ..analysis.buffer_uses import Uses, level_of, survey
from ..analysis.single_assignment import resolve_all, single_definitions
from ..loop_ir import nodes as L


def eliminate_dead_stores(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    known = single_definitions(list(L.walk(body)))
    unread: list[tuple[list[L.Stmt], L.Store]] = []
    blocks: dict[int, _Puts] = {}
    for name, use in survey(body).items():
        if use.odd or len(use.allocs) != 1:
            continue
        block, alloc = use.allocs[0]
        puts = blocks.get(id(block)) or blocks.setdefault(id(block), _Puts(block))
        for place, loop, position, put in puts.to[name]:
            at = _Place(block, puts.made[name], place, position)
            if _is_unread(put, loop, at, use, known):
                unread.append((loop.body, put))
    for block, put in unread:
        block[:] = [s for s in block if s is not put]


class _Puts:
    """Of a block: where each buffer is made, and what its loops store in it."""

    def __init__(self, block: list[L.Stmt]) -> None:
        self.made: dict[str, int] = {}
        self.to: dict[str, list[tuple[int, L.Loop, int, L.Store]]] = defaultdict(list)
        for place, stmt in enumerate(block):
            if isinstance(stmt, L.Alloc):
                self.made[stmt.name] = place
            elif isinstance(stmt, L.Loop):
                for position, put in enumerate(stmt.body):
                    if isinstance(put, L.Store) and not put.add:
                        self.to[put.buffer].append((place, stmt, position, put))


@record
class _Place:
    """Of a statement in a loop: the block in which the buffer lives, where in it the buffer is
    made and the loop stands, and where in the loop's body the statement does."""

    block: list[L.Stmt]
    made: int
    loop: int
    stmt: int


def _is_unread(
    put: L.Store, loop: L.Loop, place: _Place, use: Uses, known: dict[str, L.Expr]
) -> bool:
    """Whether nothing reads what `put` stores: not in its round, in which all else comes before;
    nor in another, which has elements of its own; nor after the loop."""
    own = _own_axis(put.index, loop)
    if own is None:
        return False
    axis, shift = own
    for path, index, plain in use.accesses:
        level = level_of(path, place.block)
        if level is None or path[level][1] < place.made:
            return False
        at = path[level][1]
        if at == place.loop:
            if (
                L.offset(resolve_all(index[axis], known), loop.var) != shift
                or len(path) == level + 1
            ):
                return False
            inside = path[level + 1][1]
            if inside > place.stmt or (inside == place.stmt and not plain):
                return False
        elif at > place.loop and not plain and not _outside(index[axis], loop, shift):
            return False
    return True


def _own_axis(index: L.Index, loop: L.Loop) -> tuple[int, int] | None:
    """The axis at which the index is the loop's variable and a constant, and that constant."""
    for axis, e in enumerate(index):
        shift = L.offset(e, loop.var)
        if shift is not None:
            return axis, shift
    return None


def _outside(e: L.Expr, loop: L.Loop, shift: int) -> bool:
    """Whether the loop's variable, shifted, never is this number."""
    if not isinstance(e, L.Lit):
        return False
    if L.is_lit(loop.step, 1) and isinstance(loop.start, L.Lit):
        return e.value - shift < loop.start.value
    if L.is_lit(loop.step, -1) and isinstance(loop.stop, L.Lit):
        return e.value - shift <= loop.stop.value
    return False
