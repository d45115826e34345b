"""Numbers that a loop keeps for a later one, on loop-level IR.

for i in range(n):
    …
    t[i] = k            k is t[i] from here on, whoever reads it
…
for i in range(n):
    … t[i] …
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from .buffer_uses import Uses, level_of, survey


def keeping(body: list[L.Stmt]) -> dict[int, tuple[str, ...]]:
    """The assignments, by identity, of names to elements of buffers that are written by nothing
    else, and read only when all is written; with the variables of the loops in which each
    comes to another element, if its index tells them apart."""
    found: dict[int, tuple[str, ...]] = {}
    for name, use in survey(body).items():
        put, loops = _written(name, use)
        if put is not None:
            found[id(put)] = loops
    return found


def _written(name: str, use: Uses) -> tuple[L.Store | None, tuple[str, ...]]:
    if use.odd or len(use.allocs) != 1:
        return None, ()
    block, _ = use.allocs[0]
    puts: list[tuple[L.Store, int, tuple[str, ...]]] = []
    reads: list[int] = []
    for path, _, plain in use.accesses:
        level = level_of(path, block)
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
        puts.append((stmts[-1], path[level][1], loops))
    if len(puts) != 1:
        return None, ()
    put, position, loops = puts[0]
    simple = isinstance(put.expr, L.Name) and put.expr.dtype == use.allocs[0][1].dtype
    if not simple or any(read <= position for read in reads):
        return None, ()
    return put, loops
