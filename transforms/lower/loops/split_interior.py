"""The inside of a sum is parted from its edges, to join what reads it, on loop-level IR.

    for i in range(n + 2):              for i in range(1):
        x[i] += t[i] + t[i + 2]             x[i] += t[i] + t[i + 2]
    for i in range(n):                  for i in range(1):
        y[i] = x[i + 1]             →       x[i + n + 1] += t[i + n + 1] + t[i + n + 3]
    for i in range(n):                  for i in range(n):
        x[i + 1] = 0.0                      x[i + 1] += t[i + 1] + t[i + 3]
                                        for i in range(n):
                                            y[i] = x[i + 1]
                                        …

The adjoint of a stencil adds to all of an array (`scatter_to_gather.py`), and what is done next is
done to its inside alone, where the stencil before it has written.  Rows of three axes and more are
most often too short to be cut.
"""

from __future__ import annotations

import copy

from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.footprint import touches
from ..analysis.liveness import names_in
from ..loop_ir import nodes as L

# Loops around an assignment that is cut.
DEEPEST = 2
# What is added to a loop's variable, and how many rounds there are.
Range = tuple[L.Expr, int, L.Expr]


@record
class _Box:
    """A nest, and where along each axis its elements of a buffer lie: from where, how many."""

    loops: list[L.Loop]
    put: L.Store
    shifts: tuple[int, ...]

    @property
    def stops(self) -> tuple[L.Expr, ...]:
        return tuple(loop.stop for loop in self.loops)


def split_interior(body: list[L.Stmt], may_alias: MayAlias) -> None:
    """Rewrites `body` in place."""
    for stmt in body:
        for block in L.blocks_of(stmt):
            split_interior(block, may_alias)
    for stmt in list(body):
        sums = _sums(stmt, may_alias)
        if sums is None:
            continue
        at = L.place_in(body, stmt)
        name = sums.put.buffer
        after = next((s for s in body[at + 1 :] if touches(s, name, may_alias)), None)
        before = next((s for s in body[:at][::-1] if touches(s, name, may_alias)), None)
        edges = _edges(sums, _inside(after, name))
        if edges is not None:
            body[at : at + 1] = [*edges[1:], edges[0]]
        elif (edges := _edges(sums, _zeros(before, name))) is not None:
            body[at : at + 1] = edges


# ---------------------------------------------------------------- finding


def _sums(stmt: L.Stmt, may_alias: MayAlias) -> _Box | None:
    nest = L.perfect_nest(stmt)
    if nest is None or not nest[1].add or len(nest[0]) > DEEPEST:
        return None
    put = nest[1]
    if any(may_alias(p.buffer, put.buffer) for p in L.walk_expr(put.expr) if isinstance(p, L.Load)):
        return None
    if not any(isinstance(loop.stop, L.Select) for loop in nest[0]):
        return None  # as many rounds as what comes next, if at all
    return _box(nest[0], put, put.index)


def _inside(stmt: L.Stmt | None, name: str) -> _Box | None:
    """A nest that reads a buffer, at the places of its own rounds, and does not write to it."""
    nest = None if stmt is None else L.perfect_nest(stmt)
    if nest is None or nest[1].buffer == name:
        return None
    loads = {
        p.index for p in L.walk_expr(nest[1].expr) if isinstance(p, L.Load) and p.buffer == name
    }
    return _box(nest[0], nest[1], loads.pop()) if len(loads) == 1 else None


def _zeros(stmt: L.Stmt | None, name: str) -> _Box | None:
    nest = None if stmt is None else L.perfect_nest(stmt)
    if nest is None or nest[1].buffer != name or nest[1].add or not L.is_lit(nest[1].expr, 0):
        return None
    return _box(nest[0], nest[1], nest[1].index)


def _box(loops: list[L.Loop], put: L.Store, index: L.Index) -> _Box | None:
    """If each axis has a loop of its own, in order."""
    variables = {loop.var for loop in loops}
    if len(index) != len(loops) or len(variables) != len(loops):
        return None
    if any(names_in([loop.stop]) & variables for loop in loops):
        return None
    shifts = [L.offset(e, loop.var) for e, loop in zip(index, loops)]
    if any(shift is None for shift in shifts):
        return None
    return _Box(loops, put, tuple(shift for shift in shifts if shift is not None))


# ---------------------------------------------------------------- cutting


def _edges(sums: _Box, inside: _Box | None) -> list[L.Stmt] | None:
    """The nest for the inside, and those for what is left, if that is a known number of rows."""
    if inside is None or len(inside.loops) != len(sums.loops):
        return None
    cuts: list[tuple[int, int]] = []
    for axis, (stop, count) in enumerate(zip(sums.stops, inside.stops)):
        span = _more(stop, count)
        low = inside.shifts[axis] - sums.shifts[axis]
        if span is None or not 0 <= low <= span:
            return None
        cuts.append((low, span - low))
    if not any(low or high for low, high in cuts):
        return None
    pieces: list[L.Stmt] = []
    ranges: list[Range] = [(L.ZERO, 0, stop) for stop in sums.stops]
    for axis, ((low, high), count) in enumerate(zip(cuts, inside.stops)):
        some = L.compare(">", count, L.ZERO)
        for base, shift, width in ((L.ZERO, 0, low), (count, low, high)):
            if width:
                ranges[axis] = base, shift, L.select(some, L.lit(width), L.ZERO)
                pieces.append(_moved(sums, ranges))
        ranges[axis] = L.ZERO, low, count
    return [_moved(sums, ranges), *pieces]


def _more(stop: L.Expr, count: L.Expr) -> int | None:
    """How many more rounds a loop has than another, if that has any; it has none otherwise."""
    if stop == count:
        return 0
    if not isinstance(stop, L.Select) or not L.is_lit(stop.y, 0):
        return None
    if stop.cond != L.compare(">", count, L.ZERO):
        return None
    more = stop.x
    if isinstance(more, L.Bin) and more.op == "+" and more.left == count:
        return more.right.value if isinstance(more.right, L.Lit) else None
    return None


def _moved(sums: _Box, ranges: list[Range]) -> L.Loop:
    """Some of the rounds, counted from 0."""

    def place(e: L.Expr) -> L.Expr | None:
        for loop, (base, shift, _) in zip(sums.loops, ranges):
            by = L.offset(e, loop.var)
            if by is not None:
                var = L.Name(loop.var)
                # With the number last, as places are compared.
                return L.add(var if L.is_lit(base, 0) else L.add(var, base), L.lit(shift + by))
        return None

    put = copy.deepcopy(sums.put)
    put.index = tuple(L.map_expr(e, place) for e in put.index)
    put.expr = L.map_expr(put.expr, place)
    inner: L.Stmt = put
    for loop, (_, _, stop) in reversed(list(zip(sums.loops, ranges))):
        inner = L.Loop(loop.var, L.ZERO, stop, L.ONE, [inner])
    assert isinstance(inner, L.Loop)
    return inner
