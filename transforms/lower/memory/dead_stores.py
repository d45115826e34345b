"""Dead store elimination in loops, on loop-level IR.

The adjoint of `y[i] = …` reads `y_bar[i]` and resets it to zero, as the adjoint of the value that y
held before.  Where y was allocated for the loop, the zero is never read:

    for i in range(1, n):               for i in range(1, n):
        t = y_bar[i]                        t = y_bar[i]
        y_bar[i] = 0.0              →       …
        …                               u = y_bar[0]
    u = y_bar[0]
"""

from __future__ import annotations

from collections import defaultdict

from ...ir.record import record
from ..analysis.buffer_uses import Uses, collect_uses, depth_in_path
from ..analysis.single_assignment import resolve_name, single_definitions
from ..loop_ir import nodes as L


def eliminate_dead_stores(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place."""
    known = single_definitions(list(L.walk(body)))
    dead: list[tuple[list[L.Stmt], L.Store]] = []
    blocks: dict[int, _LoopStores] = {}
    for name, use in collect_uses(body).items():
        if use.has_other_uses or len(use.allocs) != 1:
            continue
        block, alloc = use.allocs[0]
        stores = blocks.get(id(block)) or blocks.setdefault(id(block), _LoopStores(block))
        for place, loop, position, put in stores.to[name]:
            at = _Location(block, stores.made[name], place, position)
            if _is_dead(put, loop, at, use, known):
                dead.append((loop.body, put))
    for block, put in dead:
        block[:] = [s for s in block if s is not put]


class _LoopStores:
    """For one block: the position of each allocation, and the stores in the bodies of its loops.

    A store is (position of the loop, loop, position in the loop's body, store).
    """

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
class _Location:
    """The location of a store in a loop.

    `block` is the block of the buffer's allocation.  `made` and `loop` are the positions of the
    allocation and of the loop in it; `stmt` is the position of the store in the loop's body.
    """

    block: list[L.Stmt]
    made: int
    loop: int
    stmt: int


def _is_dead(
    put: L.Store, loop: L.Loop, place: _Location, use: Uses, known: dict[str, L.Expr]
) -> bool:
    """True if no load reads what `put` stores.

    In the same iteration all other accesses must precede it.  Other iterations must access other
    elements.  Loads after the loop must be from elements that the loop does not store.
    """
    own = _own_axis(put.index, loop)
    if own is None:
        return False
    axis, shift = own
    for path, index, plain in use.accesses:
        level = depth_in_path(path, place.block)
        if level is None or path[level][1] < place.made:
            return False
        at = path[level][1]
        if at == place.loop:
            if (
                L.constant_offset(resolve_name(index[axis], known), loop.var) != shift
                or len(path) == level + 1
            ):
                return False
            inside = path[level + 1][1]
            if inside > place.stmt or (inside == place.stmt and not plain):
                return False
        elif at > place.loop and not plain and not _is_outside_range(index[axis], loop, shift):
            return False
    return True


def _own_axis(index: L.Index, loop: L.Loop) -> tuple[int, int] | None:
    """The axis at which the index is the loop's variable plus a constant, and that constant."""
    for axis, e in enumerate(index):
        shift = L.constant_offset(e, loop.var)
        if shift is not None:
            return axis, shift
    return None


def _is_outside_range(e: L.Expr, loop: L.Loop, shift: int) -> bool:
    """True if `e` is a literal that the loop's variable plus `shift` never takes."""
    if not isinstance(e, L.Lit):
        return False
    if L.is_lit(loop.step, 1) and isinstance(loop.start, L.Lit):
        return e.value - shift < loop.start.value
    if L.is_lit(loop.step, -1) and isinstance(loop.stop, L.Lit):
        return e.value - shift <= loop.stop.value
    return False
