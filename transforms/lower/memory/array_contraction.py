"""Keeps of a buffer only what one round of a loop uses, on loop-level IR.

    t = np.empty((n, m), np.float64)        for i in range(n):
    for i in range(n):                  →       t = np.empty((m,), np.float64)
        for j in range(m):                      for j in range(m):
            t[i, j] = x[i, j] * 2                   t[j] = x[i, j] * 2
        …  t[i, 0] …                            …  t[0] …

A buffer all of whose elements are touched in the round of their own number needs no axis for it:
what a round reads it has written.  `hoist` makes the buffer once, before the loop, then; what is
used again at once stays near the processor.
"""

from __future__ import annotations

from ...ir.fixpoint import rewrites
from ..analysis.buffer_uses import Uses, level_of, survey
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def contract_arrays(body: list[L.Stmt], params: list[str]) -> None:
    """Rewrites `body` in place."""
    for _ in rewrites("narrow"):
        if not _once(body, params):
            break


def _once(body: list[L.Stmt], params: list[str]) -> bool:
    made: list[tuple[L.Loop, L.Alloc]] = []
    for name, use in survey(body).items():
        if use.odd or len(use.allocs) != 1 or name in params or not use.accesses:
            continue
        block, alloc = use.allocs[0]
        loop = _loop_around(use, block)
        axis = None if loop is None else _axis_of(use, loop.var)
        # What is left of a single axis would be a number, and is one already where it can be.
        if loop is None or axis is None or len(alloc.sizes) < 2:
            continue
        if not _last(block, alloc, loop):
            continue
        without_axis(loop.body, name, axis)
        sizes = (*alloc.sizes[:axis], *alloc.sizes[axis + 1 :])
        made.append((loop, L.Alloc(name, alloc.dtype, sizes)))
        # Positions must stay as they were surveyed.
        block[:] = [L.Comment("") if s is alloc else s for s in block]
    for loop, alloc in made:
        loop.body.insert(0, alloc)
    return bool(made)


def _loop_around(use: Uses, block: list[L.Stmt]) -> L.Loop | None:
    """The loop, next to where a buffer is made, in which all of its accesses are."""
    found: set[int] = set()
    for path, _, _ in use.accesses:
        level = level_of(path, block)
        if level is None:
            return None
        found.add(path[level][1])
    stmt = block[found.pop()]
    return stmt if not found and isinstance(stmt, L.Loop) and not stmt.parallel else None


def _last(block: list[L.Stmt], alloc: L.Alloc, loop: L.Loop) -> bool:
    """Whether the sizes of a buffer are what they were where it is made until a loop is over."""
    made, end = (L.place_in(block, stmt) for stmt in (alloc, loop))
    bound = {name for s in L.walk(block[made + 1 : end + 1]) for name in defs(s)}
    return not bound & names_in(alloc.sizes)


def _axis_of(use: Uses, var: str) -> int | None:
    """The axis at which all accesses have the variable of a loop."""
    indices = [index for _, index, _ in use.accesses]
    axes = range(len(indices[0]))
    return next((k for k in axes if all(i[k] == L.Name(var) for i in indices)), None)


def without_axis(body: list[L.Stmt], name: str, axis: int) -> None:
    """Leaves an axis of a buffer out, in place."""

    def shorter(index: L.Index) -> L.Index:
        return (*index[:axis], *index[axis + 1 :])

    def new(e: L.Expr) -> L.Expr | None:
        if isinstance(e, L.Load) and e.buffer == name:
            inner = tuple(L.map_expr(i, new) for i in shorter(e.index))
            return L.Load(name, inner, e.dtype)
        return None

    L.map_stmts(body, new)
    for stmt in L.walk(body):
        if isinstance(stmt, L.Store) and stmt.buffer == name:
            stmt.index = shorter(stmt.index)
