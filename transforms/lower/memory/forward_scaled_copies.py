"""Forward scaled copies of an array into accumulations, on loop-level IR.

    for i in range(n):                  for i in range(n):
        u[i] = -t[i]                        x[i] += -t[i]
    for i in range(n):                  for i in range(n):
        x[i] += u[i]                →       x[i + 1] += t[i]
    for i in range(n):
        x[i + 1] += t[i]

The array u is a constant multiple of t, and both are accumulated to x.  The loads of u are replaced
by the multiple, and u is removed.

The adjoint of a difference, or of a stencil whose centre has a weight of its own, accumulates
multiples of the incoming adjoint.  As multiples of one array they can become a single sum
(`lower/loops/scatter_to_gather.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...ir.fixpoint import rewrites
from ...ir.record import record
from ..analysis.buffer_uses import Uses, collect_uses, depth_in_path
from ..analysis.zero_product import keeps_zero
from ..loop_ir import nodes as L


@record
class _ScaledCopy:
    """A loop nest at position `at` of `block` that fills `name` with multiples of `of`.

    `index` are the loop variables, `stops` the bounds, and `expr` is the stored value.
    """

    block: list[L.Stmt]
    at: int
    name: str
    of: str
    index: L.Index
    stops: L.Index
    expr: L.Expr


def forward_scaled_copies(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place."""
    for _ in rewrites("forward_scaled_copies"):
        if (found := _find(body)) is None:
            break
        _forward(body, found)


def _find(body: list[L.Stmt]) -> _ScaledCopy | None:
    """A scaled copy that can be forwarded, or None."""
    targets = _accumulation_targets(body)
    if not targets:
        return None
    uses: dict[str, Uses] = {}
    for block in _blocks(body):
        for at, stmt in enumerate(block):
            found = _scaled_copy(block, at, stmt)
            if found is None or not targets[found.name] & targets[found.of]:
                continue
            uses = uses or collect_uses(body)
            if _can_forward(found, uses):
                return found
    return None


def _accumulation_targets(body: list[L.Stmt]) -> defaultdict[str, set[str]]:
    """For each buffer: the buffers to which its elements are accumulated."""
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for stmt in L.walk(body):
        if isinstance(stmt, L.Store) and stmt.add:
            for part in L.walk_expr(stmt.expr):
                if isinstance(part, L.Load):
                    targets[part.buffer].add(stmt.buffer)
    return targets


def _blocks(block: list[L.Stmt]) -> Iterator[list[L.Stmt]]:
    """A block and all its nested blocks."""
    yield block
    for stmt in block:
        for inner in L.blocks_of(stmt):
            yield from _blocks(inner)


def _scaled_copy(block: list[L.Stmt], at: int, stmt: L.Stmt) -> _ScaledCopy | None:
    """The scaled copy that a statement makes, or None."""
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
    return _ScaledCopy(block, at, put.buffer, load.buffer, index, stops, put.expr)


def _can_forward(found: _ScaledCopy, uses: dict[str, Uses]) -> bool:
    """True if the copy is not accessed before its nest, and neither array is written after it.

    Both must be allocated in the block of the nest, and the nest must fill the whole copy.
    """
    for name in (found.name, found.of):
        use = uses[name]
        if use.has_other_uses or len(use.allocs) != 1 or use.allocs[0][0] is not found.block:
            return False
        for path, _, _ in use.accesses:
            level = depth_in_path(path, found.block)
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


def _forward(body: list[L.Stmt], found: _ScaledCopy) -> None:
    """Remove the copy and replace its loads by the multiple of the source."""

    def load(e: L.Expr) -> L.Expr | None:
        if not (isinstance(e, L.Load) and e.buffer == found.name):
            return None
        index: dict[L.Expr, L.Expr] = dict(zip(found.index, e.index))
        return L.map_expr(found.expr, index.get)

    del found.block[found.at]
    found.block[:] = [
        s for s in found.block if not (isinstance(s, L.Alloc) and s.name == found.name)
    ]
    L.map_stmts(body, load)
