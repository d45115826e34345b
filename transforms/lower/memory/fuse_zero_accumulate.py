"""What is set to zero, and then added to, is written once, on loop-level IR.

    for i in range(n):                  for i in range(1):
        x[i + 1] = 0.0                      x[i] += y[i]
    …                              →    …
    for i in range(n + 2):              for i in range(1, n + 1):
        x[i] += y[i]                        x[i] = 0.0 + y[i]
                                        for i in range(n + 1, n + 2):
                                            x[i] += y[i]

The adjoint of `x[1:-1] = f(x)` takes what has come to the elements and leaves zeros, for what they
held before, to which it adds what f makes of it.  If nothing touches them in between, the zeros
need not be there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.footprint import touches
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


@record
class _Nest:
    """Loops around one assignment: along each axis a loop of its own, shifted, or one place."""

    loops: list[L.Loop]
    put: L.Store
    axes: list[tuple[int, L.Expr] | L.Expr]


def fuse_zero_accumulate(
    body: list[L.Stmt], escaping: set[str], may_alias: MayAlias, new_name: Callable[[str], str]
) -> None:
    """Rewrites `body` in place.  `visible` are the buffers that the caller sees even if the call
    fails in between."""
    for stmt in body:
        for block in L.blocks_of(stmt):
            fuse_zero_accumulate(block, escaping, may_alias, new_name)
    for stmt in [s for s in body if _nest(s, add=False) is not None]:
        # Zeros that remain of a rewrite are no candidates again: nothing is added to them.
        zeros = _nest(stmt, add=False)
        assert zeros is not None
        if any(may_alias(zeros.put.buffer, v) for v in escaping):
            continue
        position = L.place_in(body, stmt)
        found = _next(body, position, zeros, may_alias)
        if found is not None:
            at, sums = found
            pieces = _pieces(zeros, sums, new_name)
            if pieces is not None:
                body[at : at + 1] = pieces
                del body[position]


def _nest(stmt: L.Stmt, add: bool) -> _Nest | None:
    """Zeros, or what is added, if each element has its turn at most once."""
    found = L.perfect_nest(stmt)
    if found is None:
        return None
    loops, put = found
    if put.add != add or not (add or L.is_lit(put.expr, 0)):
        return None
    left = {loop.var: loop.stop for loop in loops}
    if any(names_in([stop]) & left.keys() for stop in left.values()):
        return None
    where = [p for e in (*put.index, *left.values()) for p in L.walk_expr(e)]
    if any(isinstance(p, L.Load) for p in where):
        return None  # it may be somewhere else later
    axes: list[tuple[int, L.Expr] | L.Expr] = []
    for e in put.index:
        var = next((v for v in left if L.offset(e, v) is not None), None)
        if var is not None:
            shift = L.offset(e, var)
            assert shift is not None
            axes.append((shift, left.pop(var)))
        elif names_in([e]) & {loop.var for loop in loops}:
            return None
        else:
            axes.append(e)
    return None if left else _Nest(loops, put, axes)


def _next(
    body: list[L.Stmt], position: int, zeros: _Nest, may_alias: MayAlias
) -> tuple[int, _Nest] | None:
    """What touches the buffer next, and where, if it adds to it."""
    buffer = zeros.put.buffer
    needed = {n for e in L.exprs_of(zeros.put)[:-1] for n in names_in([e])}
    needed |= {n for loop in zeros.loops for n in names_in([loop.stop])}
    needed -= {loop.var for loop in zeros.loops}
    for at in range(position + 1, len(body)):
        stmt = body[at]
        if touches(stmt, buffer, may_alias):
            sums = _nest(stmt, add=True)
            if sums is None or sums.put.buffer != buffer or _reads(sums, buffer, may_alias):
                return None
            return at, sums
        for inner in L.walk([stmt]):
            if needed & {*defs(inner)} or isinstance(inner, (L.Break, L.Return)):
                return None
    return None


def _reads(nest: _Nest, buffer: str, may_alias: MayAlias) -> bool:
    """Whether what is added, or where, depends on what is there."""
    exprs = [nest.put.expr, *nest.put.index, *(loop.stop for loop in nest.loops)]
    loads = [p for e in exprs for p in L.walk_expr(e) if isinstance(p, L.Load)]
    return any(may_alias(load.buffer, buffer) for load in loads)


# ---------------------------------------------------------------- writing


def _pieces(zeros: _Nest, sums: _Nest, new_name: Callable[[str], str]) -> list[L.Stmt] | None:
    """What stands for both."""
    if zeros.put.expr.dtype != sums.put.expr.dtype:
        return None
    if zeros.axes == sums.axes:
        return [_written(sums.loops[0])]
    along = [k for k, axis in enumerate(sums.axes) if isinstance(axis, tuple)]
    if len(along) != 1 or len(zeros.loops) != 1:
        return None
    (k,) = along
    here, there = zeros.axes[k], sums.axes[k]
    assert isinstance(there, tuple)
    if not isinstance(here, tuple) or zeros.axes[:k] != sums.axes[:k]:
        return None
    if zeros.axes[k + 1 :] != sums.axes[k + 1 :]:
        return None
    return _parts(zeros.loops[0], sums.loops[0], here[0] - there[0], new_name)


def _written(loop: L.Loop) -> L.Loop:
    new = copy.deepcopy(loop)
    found = L.perfect_nest(new)
    assert found is not None
    put = found[1]
    zero = L.Lit(0.0, put.expr.dtype)
    put.add, put.expr = False, L.Bin("+", zero, put.expr, put.expr.dtype)
    return new


def _parts(
    zeros: L.Loop, sums: L.Loop, ahead: int, new_name: Callable[[str], str]
) -> list[L.Stmt] | None:
    """Of loops whose rounds come to the same elements `ahead` rounds apart: what is added before,
    what is written, and what is added after; and zeros where nothing is added."""
    if ahead < 0:
        return None
    out: list[L.Stmt] = []

    def let(e: L.Expr) -> L.Expr:
        if L.is_simple(e):
            return e
        out.append(L.Let(name := new_name("n"), e))
        return L.Name(name)

    covers = _covers(zeros.stop, sums.stop, ahead)
    chosen = covers and isinstance(sums.stop, L.Select)  # none, if there are no zeros
    count, end = let(zeros.stop), let(sums.stop if chosen else L.at_least_none(sums.stop))
    low = let(_lesser(L.lit(ahead), end))
    high = let(_greater(low, let(_lesser(end, L.add(count, L.lit(ahead))))))
    if low == high:
        return None  # nothing is added to any of them
    if not covers:
        rest = _greater(L.ZERO, L.sub(end, L.lit(ahead)))
        out.append(L.Loop(zeros.var, let(rest), count, L.ONE, zeros.body))
    before, after = (copy.deepcopy(sums) for _ in range(2))
    before.stop = low
    written = _written(sums)
    written.start, written.stop = low, high
    after.start, after.stop = high, end
    parts = [part for part in (before, written, after) if part.start != part.stop]
    return [*out, *parts]


def _covers(count: L.Expr, end: L.Expr, ahead: int) -> bool:
    """Whether, if there are any zeros, something is added to each."""
    if isinstance(end, L.Select):
        if end.cond != L.compare(">", count, L.ZERO) or not L.is_lit(end.y, 0):
            return False
        end = end.x
    if end == count:
        return ahead == 0
    if isinstance(end, L.Bin) and end.op == "+" and end.left == count:
        return isinstance(end.right, L.Lit) and end.right.value >= ahead
    return False


def _lesser(a: L.Expr, b: L.Expr) -> L.Expr:
    return a if L.is_lit(a, 0) else L.select(L.compare("<", a, b), a, b)


def _greater(a: L.Expr, b: L.Expr) -> L.Expr:
    return L.select(L.compare(">", a, b), a, b)
