"""Turn the first accumulation to a zero-filled buffer into a store, on loop-level IR.

    for i in range(n):                  for i in range(n - 1, n):
        x[i] = 0.0                          x[i] = 0.0
    for i in range(n - 1):              for i in range(n - 1):
        x[i] += y[i + 1]            →       x[i] = 0.0 + y[i + 1]

Adjoints are initialised to zero.  Where the first loop that accumulates to one accesses each
element at most once, only the elements that it does not access need the zero fill.
"""

from __future__ import annotations

from ...ir.record import record
from ..analysis.buffer_uses import Uses, collect_uses, depth_in_path
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve_name, single_definitions
from ..loop_ir import nodes as L


@record
class _FirstAccumulation:
    """A zero fill and the first loop that accumulates, with the store `put`.

    The index of `put` is the loop's variable plus `shift`.
    """

    block: list[L.Stmt]
    fill: L.Loop
    loop: L.Loop
    put: L.Store
    shift: int


def store_first_accumulate(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place."""
    known = single_definitions(list(L.walk(body)))
    candidates = [
        found
        for use in collect_uses(body).values()
        if not use.has_other_uses and len(use.allocs) == 1
        if (found := _find(use, known)) is not None
    ]
    for found in candidates:
        _rewrite(found)


def _find(use: Uses, known: dict[str, L.Expr]) -> _FirstAccumulation | None:
    """The zero fill and the accumulation of a buffer of rank 1, if they can be merged, or None."""
    block, alloc = use.allocs[0]
    # By position in the block: the depth and index of each access in that statement.
    accesses_at: dict[int, list[tuple[int, L.Index]]] = {}
    for path, index, _ in use.accesses:
        level = depth_in_path(path, block)
        if level is None:
            return None
        accesses_at.setdefault(path[level][1], []).append((len(path) - level, index))
    if len(alloc.sizes) != 1 or len(accesses_at) < 2:
        return None
    first, second, *_ = sorted(accesses_at)
    fill, loop = block[first], block[second]
    if not (isinstance(loop, L.Loop) and _is_fill(fill, alloc)) or len(accesses_at[second]) != 1:
        return None
    ((depth, index),) = accesses_at[second]
    stores = [s for s in loop.body if isinstance(s, L.Store) and s.buffer == alloc.name and s.add]
    if depth != 2 or len(stores) != 1 or stores[0].expr.dtype != alloc.dtype:
        return None
    shift = L.constant_offset(resolve_name(index[0], known), loop.var)
    if shift is None or not isinstance(loop.step, L.Lit) or abs(loop.step.value) != 1:
        return None
    inside = list(L.walk(loop.body))
    bound = {name for s in inside for name in defs(s)}
    if names_in(alloc.sizes) & {name for s in L.walk(block[first:second]) for name in defs(s)}:
        return None  # the remaining zeros are stored just before the loop, with the same size
    if any(isinstance(s, L.Break) for s in inside) or bound & {
        loop.var,
        *names_in((loop.start, loop.stop, *alloc.sizes)),
    }:
        return None
    assert isinstance(fill, L.Loop)
    return _FirstAccumulation(block, fill, loop, stores[0], shift)


def _is_fill(stmt: L.Stmt, alloc: L.Alloc) -> bool:
    """True for a loop that fills the whole buffer with zeros."""
    nest = L.perfect_nest(stmt)
    if nest is None or len(nest[0]) != 1:
        return False
    (loop,), put = nest
    zero = isinstance(put.expr, L.Lit) and put.expr.value == 0
    whole = put.index == (L.Name(loop.var),) and loop.stop == alloc.sizes[0]
    return whole and zero and not put.add and put.buffer == alloc.name


def _rewrite(found: _FirstAccumulation) -> None:
    """Store instead of accumulating, and fill only the elements outside the loop's range."""
    loop, fill, put = found.loop, found.fill, found.put
    n = fill.stop
    ends = (loop.start, loop.stop)
    if L.is_lit(loop.step, -1):
        ends = L.add(loop.stop, L.ONE), L.add(loop.start, L.ONE)
    low, high = (L.add(e, L.lit(found.shift)) for e in ends)
    left: list[L.Stmt] = []
    if not (isinstance(low, L.Lit) and low.value <= 0):
        left.append(_partial_fill(fill, L.ZERO, L.select(L.compare("<", low, n), low, n)))
    if high != n:
        left.append(_partial_fill(fill, L.select(L.compare(">", high, L.ZERO), high, L.ZERO), n))
    zero = L.Lit(0.0, put.expr.dtype)
    put.add, put.expr = False, L.Bin("+", zero, put.expr, put.expr.dtype)
    block: list[L.Stmt] = []
    for stmt in found.block:
        if stmt is loop:
            block += left
        if stmt is not fill:
            block.append(stmt)
    found.block[:] = block


def _partial_fill(fill: L.Loop, start: L.Expr, stop: L.Expr) -> L.Loop:
    """A zero fill for the elements from `start` to `stop`."""
    (put,) = (s for s in fill.body if isinstance(s, L.Store))
    return L.Loop(fill.var, start, stop, L.ONE, [L.Store(put.buffer, put.index, put.expr)])
