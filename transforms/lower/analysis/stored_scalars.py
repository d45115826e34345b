"""Scalars that a loop stores in a buffer for a later loop, on loop-level IR.

for i in range(n):
    …
    t[i] = k            from here on, every load of t[i] yields k
…
for i in range(n):
    … t[i] …
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from .buffer_uses import Uses, collect_uses, depth_in_path


def only_stores(body: list[L.Stmt]) -> dict[int, tuple[str, ...]]:
    """The stores of a name that are the only write to their buffer, by identity.

    All loads of the buffer must follow the statement that contains the store.  Each store is mapped
    to the variables of the loops between the allocation and the store.  The store writes a
    different element in each of their iterations only if its index distinguishes them.
    """
    found: dict[int, tuple[str, ...]] = {}
    for name, use in collect_uses(body).items():
        put, loops = _only_store(name, use)
        if put is not None:
            found[id(put)] = loops
    return found


def _only_store(name: str, use: Uses) -> tuple[L.Store | None, tuple[str, ...]]:
    """The only store to a buffer and the variables of its loops, or (None, ()) if not as above."""
    if use.has_other_uses or len(use.allocs) != 1:
        return None, ()
    block, _ = use.allocs[0]
    stores: list[tuple[L.Store, int, tuple[str, ...]]] = []
    reads: list[int] = []
    for path, _, plain in use.accesses:
        level = depth_in_path(path, block)
        if level is None:
            return None, ()
        stmts = [inside[position] for inside, position in path[level:]]
        if not plain:
            last = stmts[-1]
            if isinstance(last, L.Store) and last.buffer == name and last.add:
                return None, ()
            reads.append(path[level][1])
            continue
        if any(isinstance(s, L.While) for s in stmts):
            return None, ()
        assert isinstance(stmts[-1], L.Store)
        loops = tuple(s.var for s in stmts if isinstance(s, L.Loop))
        stores.append((stmts[-1], path[level][1], loops))
    if len(stores) != 1:
        return None, ()
    put, position, loops = stores[0]
    simple = isinstance(put.expr, L.Name) and put.expr.dtype == use.allocs[0][1].dtype
    if not simple or any(read <= position for read in reads):
        return None, ()
    return put, loops
