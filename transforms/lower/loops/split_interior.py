"""Index-set splitting: separate the interior of a sum from its edges, on loop-level IR.

The interior can then be fused with the loop that reads it.

    for i in range(n + 2):              for i in range(1):
        x[i] += t[i] + t[i + 2]             x[i] += t[i] + t[i + 2]
    for i in range(n):                  for i in range(1):
        y[i] = x[i + 1]             →       x[i + n + 1] += t[i + n + 1] + t[i + n + 3]
    for i in range(n):                  for i in range(n):
        x[i + 1] = 0.0                      x[i + 1] += t[i + 1] + t[i + 3]
                                        for i in range(n):
                                            y[i] = x[i + 1]
                                        …

The adjoint of a stencil adds to all of an array (`scatter_to_gather.py`).  The statements after it
access the interior alone, where the stencil before it has stored.  Nests of three and more loops
are not split: their rows are most often too short.
"""

from __future__ import annotations

import copy

from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.footprint import may_access
from ..analysis.liveness import names_in
from ..loop_ir import nodes as L

# The maximal depth of a nest that is split.
MAX_DEPTH = 2
# A part of a loop: the two summands that are added to its variable, and the number of iterations.
Range = tuple[L.Expr, int, L.Expr]


@record
class _Box:
    """A loop nest, and the box of elements of a buffer that it accesses.

    `shifts` are the first indices along each axis, `stops` the numbers of elements.
    """

    loops: list[L.Loop]
    store: L.Store
    shifts: tuple[int, ...]

    @property
    def stops(self) -> tuple[L.Expr, ...]:
        return tuple(loop.stop for loop in self.loops)


def split_interior(body: list[L.Stmt], may_alias: MayAlias) -> None:
    """Rewrite `body` in place."""
    for stmt in body:
        for block in L.blocks_of(stmt):
            split_interior(block, may_alias)
    for stmt in list(body):
        sums = _sum_box(stmt, may_alias)
        if sums is None:
            continue
        position = L.position_of(body, stmt)
        name = sums.store.buffer
        after = next((s for s in body[position + 1 :] if may_access(s, name, may_alias)), None)
        before = next((s for s in body[:position][::-1] if may_access(s, name, may_alias)), None)
        nests = _split(sums, _interior_box(after, name))
        if nests is not None:
            body[position : position + 1] = [*nests[1:], nests[0]]
        elif (nests := _split(sums, _fill_box(before, name))) is not None:
            body[position : position + 1] = nests


# ---------------------------------------------------------------- finding


def _sum_box(stmt: L.Stmt, may_alias: MayAlias) -> _Box | None:
    """Return the box of a nest that adds to a buffer and does not load from it."""
    nest = L.perfect_nest(stmt)
    if nest is None or not nest[1].add or len(nest[0]) > MAX_DEPTH:
        return None
    store = nest[1]
    if any(
        may_alias(p.buffer, store.buffer) for p in L.walk_expr(store.expr) if isinstance(p, L.Load)
    ):
        return None
    if not any(isinstance(loop.stop, L.Select) for loop in nest[0]):
        return None  # no range is larger than that of another nest (`_excess`)
    return _box(nest[0], store, store.index)


def _interior_box(stmt: L.Stmt | None, name: str) -> _Box | None:
    """Return the box of a nest that loads from a buffer, at one index, and does not store to it."""
    nest = None if stmt is None else L.perfect_nest(stmt)
    if nest is None or nest[1].buffer == name:
        return None
    loads = {
        p.index for p in L.walk_expr(nest[1].expr) if isinstance(p, L.Load) and p.buffer == name
    }
    return _box(nest[0], nest[1], loads.pop()) if len(loads) == 1 else None


def _fill_box(stmt: L.Stmt | None, name: str) -> _Box | None:
    """Return the box of a nest that fills a buffer with zeros."""
    nest = None if stmt is None else L.perfect_nest(stmt)
    if nest is None or nest[1].buffer != name or nest[1].add or not L.is_lit(nest[1].expr, 0):
        return None
    return _box(nest[0], nest[1], nest[1].index)


def _box(loops: list[L.Loop], store: L.Store, index: L.Index) -> _Box | None:
    """Return the box of an index, if each axis has a loop of its own, in order."""
    variables = {loop.var for loop in loops}
    if len(index) != len(loops) or len(variables) != len(loops):
        return None
    if any(names_in([loop.stop]) & variables for loop in loops):
        return None
    shifts = [L.constant_offset(e, loop.var) for e, loop in zip(index, loops)]
    if any(shift is None for shift in shifts):
        return None
    return _Box(loops, store, tuple(shift for shift in shifts if shift is not None))


# ---------------------------------------------------------------- splitting


def _split(sums: _Box, interior: _Box | None) -> list[L.Stmt] | None:
    """Return the nest for the interior, then those for the edges, if the edges have a constant
    width."""
    if interior is None or len(interior.loops) != len(sums.loops):
        return None
    widths: list[tuple[int, int]] = []
    for axis, (stop, count) in enumerate(zip(sums.stops, interior.stops)):
        span = _excess(stop, count)
        low = interior.shifts[axis] - sums.shifts[axis]
        if span is None or not 0 <= low <= span:
            return None
        widths.append((low, span - low))
    if not any(low or high for low, high in widths):
        return None
    pieces: list[L.Stmt] = []
    ranges: list[Range] = [(L.ZERO, 0, stop) for stop in sums.stops]
    for axis, ((low, high), count) in enumerate(zip(widths, interior.stops)):
        is_nonempty = L.compare(">", count, L.ZERO)
        for base, shift, width in ((L.ZERO, 0, low), (count, low, high)):
            if width:
                ranges[axis] = base, shift, L.select(is_nonempty, L.lit(width), L.ZERO)
                pieces.append(_restricted(sums, ranges))
        ranges[axis] = L.ZERO, low, count
    return [_restricted(sums, ranges), *pieces]


def _excess(stop: L.Expr, count: L.Expr) -> int | None:
    """Return the constant by which `stop` exceeds `count` if `count` is positive.

    Return None if there is none, or if `stop` is not 0 otherwise.
    """
    if stop == count:
        return 0
    if not isinstance(stop, L.Select) or not L.is_lit(stop.y, 0):
        return None
    if stop.cond != L.compare(">", count, L.ZERO):
        return None
    larger = stop.x
    if isinstance(larger, L.Bin) and larger.op == "+" and larger.left == count:
        return larger.right.value if isinstance(larger.right, L.Lit) else None
    return None


def _restricted(sums: _Box, ranges: list[Range]) -> L.Loop:
    """Return the nest restricted to `ranges`, with loops that start at 0."""

    def shifted(e: L.Expr) -> L.Expr | None:
        for loop, (base, shift, _) in zip(sums.loops, ranges):
            by = L.constant_offset(e, loop.var)
            if by is not None:
                var = L.Name(loop.var)
                # The literal is the last operand, the form in which indices are compared.
                return L.add(var if L.is_lit(base, 0) else L.add(var, base), L.lit(shift + by))
        return None

    store = copy.deepcopy(sums.store)
    store.index = tuple(L.map_expr(e, shifted) for e in store.index)
    store.expr = L.map_expr(store.expr, shifted)
    inner: L.Stmt = store
    for loop, (_, _, stop) in reversed(list(zip(sums.loops, ranges))):
        inner = L.Loop(loop.var, L.ZERO, stop, L.ONE, [inner])
    assert isinstance(inner, L.Loop)
    return inner
