"""Array contraction: remove the axis of a buffer that one loop indexes, on loop-level IR.

    t = np.empty((n, m), np.float64)        for i in range(n):
    for i in range(n):                  →       t = np.empty((m,), np.float64)
        for j in range(m):                      for j in range(m):
            t[i, j] = x[i, j] * 2                   t[j] = x[i, j] * 2
        …  t[i, 0] …                            …  t[0] …

If every access has the loop's variable as the index at one axis, each iteration reads only what it
has written itself, and the axis is not needed.  `hoist_allocations.py` then allocates the smaller
buffer once, before the loop.  Its elements are reused at once, so they stay in the cache.
"""

from __future__ import annotations

from ...ir.fixpoint import rewrites
from ..analysis.buffer_uses import Uses, collect_uses, depth_in_path
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def contract_arrays(body: list[L.Stmt], params: list[str]) -> None:
    """Rewrite `body` in place."""
    for _ in rewrites("contract_arrays"):
        if not _contract_once(body, params):
            break


def _contract_once(body: list[L.Stmt], params: list[str]) -> bool:
    """Contract each candidate by one axis; True if there was one."""
    contracted: list[tuple[L.Loop, L.Alloc]] = []
    for name, use in collect_uses(body).items():
        if use.has_other_uses or len(use.allocs) != 1 or name in params or not use.accesses:
            continue
        block, alloc = use.allocs[0]
        loop = _enclosing_loop(use, block)
        axis = None if loop is None else _axis_of(use, loop.var)
        # A buffer of rank 1 would become a scalar; `scalar_replacement.py` has done that already
        # where it is legal.
        if loop is None or axis is None or len(alloc.sizes) < 2:
            continue
        if not _sizes_invariant(block, alloc, loop):
            continue
        drop_axis(loop.body, name, axis)
        sizes = (*alloc.sizes[:axis], *alloc.sizes[axis + 1 :])
        contracted.append((loop, L.Alloc(name, alloc.dtype, sizes)))
        # The positions in `collect_uses` must stay valid.
        block[:] = [L.Comment("") if s is alloc else s for s in block]
    for loop, alloc in contracted:
        loop.body.insert(0, alloc)
    return bool(contracted)


def _enclosing_loop(use: Uses, block: list[L.Stmt]) -> L.Loop | None:
    """The loop that contains all accesses, in the block of the allocation, or None."""
    found: set[int] = set()
    for path, _, _ in use.accesses:
        level = depth_in_path(path, block)
        if level is None:
            return None
        found.add(path[level][1])
    stmt = block[found.pop()]
    return stmt if not found and isinstance(stmt, L.Loop) and not stmt.parallel else None


def _sizes_invariant(block: list[L.Stmt], alloc: L.Alloc, loop: L.Loop) -> bool:
    """True if the names in a buffer's sizes are not redefined between its allocation and the end
    of the loop."""
    start, end = (L.position_of(block, stmt) for stmt in (alloc, loop))
    bound = {name for s in L.walk(block[start + 1 : end + 1]) for name in defs(s)}
    return not bound & names_in(alloc.sizes)


def _axis_of(use: Uses, var: str) -> int | None:
    """The axis at which the index of every access is the loop's variable, or None."""
    indices = [index for _, index, _ in use.accesses]
    axes = range(len(indices[0]))
    return next((k for k in axes if all(i[k] == L.Name(var) for i in indices)), None)


def drop_axis(body: list[L.Stmt], name: str, axis: int) -> None:
    """Remove an axis of a buffer from all its accesses, in place."""

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
