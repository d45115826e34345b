"""Fuse a zero fill with a later accumulation into a single store, on loop-level IR.

    for i in range(n):                  for i in range(1):
        x[i + 1] = 0.0                      x[i] += y[i]
    …                              →    …
    for i in range(n + 2):              for i in range(1, n + 1):
        x[i] += y[i]                        x[i] = 0.0 + y[i]
                                        for i in range(n + 1, n + 2):
                                            x[i] += y[i]

The adjoint of `x[1:-1] = f(x)` reads the adjoint of the elements and resets it to zero, as the
adjoint of their previous values; then it accumulates the adjoint of f to it.  If nothing accesses
the elements in between, the zeros need not be stored.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.footprint import may_access
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


@record
class _Nest:
    """A perfect loop nest around one store.

    For each axis of the store `axes` has (shift, stop), if the index is the variable of a loop up
    to `stop` plus a constant shift, or else the loop-invariant index.
    """

    loops: list[L.Loop]
    put: L.Store
    axes: list[tuple[int, L.Expr] | L.Expr]


def fuse_zero_accumulate(
    body: list[L.Stmt], escaping: set[str], may_alias: MayAlias, new_name: Callable[[str], str]
) -> None:
    """Rewrite `body` in place.

    `escaping` are the buffers whose contents the caller sees even if the call fails in between.
    """
    for stmt in body:
        for block in L.blocks_of(stmt):
            fuse_zero_accumulate(block, escaping, may_alias, new_name)
    for stmt in [s for s in body if _nest(s, add=False) is not None]:
        # The zero fills that remain of a rewrite are not candidates: nothing accumulates to them.
        zeros = _nest(stmt, add=False)
        assert zeros is not None
        if any(may_alias(zeros.put.buffer, v) for v in escaping):
            continue
        position = L.position_of(body, stmt)
        found = _next_access(body, position, zeros, may_alias)
        if found is not None:
            at, sums = found
            replacement = _replacement(zeros, sums, new_name)
            if replacement is not None:
                body[at : at + 1] = replacement
                del body[position]


def _nest(stmt: L.Stmt, add: bool) -> _Nest | None:
    """The zero fill, or with `add` the accumulation, that a statement is, or None.

    It must store to each element at most once.
    """
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
        return None  # the index may have another value later
    axes: list[tuple[int, L.Expr] | L.Expr] = []
    for e in put.index:
        var = next((v for v in left if L.constant_offset(e, v) is not None), None)
        if var is not None:
            shift = L.constant_offset(e, var)
            assert shift is not None
            axes.append((shift, left.pop(var)))
        elif names_in([e]) & {loop.var for loop in loops}:
            return None
        else:
            axes.append(e)
    return None if left else _Nest(loops, put, axes)


def _next_access(
    body: list[L.Stmt], position: int, zeros: _Nest, may_alias: MayAlias
) -> tuple[int, _Nest] | None:
    """The position and nest of the next access to the buffer, if that is an accumulation.

    The names that the zero fill reads must not be redefined before it.
    """
    buffer = zeros.put.buffer
    needed = {n for e in L.exprs_of(zeros.put)[:-1] for n in names_in([e])}
    needed |= {n for loop in zeros.loops for n in names_in([loop.stop])}
    needed -= {loop.var for loop in zeros.loops}
    for at in range(position + 1, len(body)):
        stmt = body[at]
        if may_access(stmt, buffer, may_alias):
            sums = _nest(stmt, add=True)
            if sums is None or sums.put.buffer != buffer or _loads_from(sums, buffer, may_alias):
                return None
            return at, sums
        for inner in L.walk([stmt]):
            if needed & {*defs(inner)} or isinstance(inner, (L.Break, L.Return)):
                return None
    return None


def _loads_from(nest: _Nest, buffer: str, may_alias: MayAlias) -> bool:
    """True if the increment, the index or a bound of a nest may load from the buffer."""
    exprs = [nest.put.expr, *nest.put.index, *(loop.stop for loop in nest.loops)]
    loads = [p for e in exprs for p in L.walk_expr(e) if isinstance(p, L.Load)]
    return any(may_alias(load.buffer, buffer) for load in loads)


# ---------------------------------------------------------------- rewriting


def _replacement(zeros: _Nest, sums: _Nest, new_name: Callable[[str], str]) -> list[L.Stmt] | None:
    """The statements that replace both nests, or None if their regions are not comparable."""
    if zeros.put.expr.dtype != sums.put.expr.dtype:
        return None
    if zeros.axes == sums.axes:
        return [_as_store(sums.loops[0])]
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
    return _split(zeros.loops[0], sums.loops[0], here[0] - there[0], new_name)


def _as_store(loop: L.Loop) -> L.Loop:
    """A copy of a nest that stores 0.0 + e instead of accumulating e."""
    new = copy.deepcopy(loop)
    found = L.perfect_nest(new)
    assert found is not None
    put = found[1]
    zero = L.Lit(0.0, put.expr.dtype)
    put.add, put.expr = False, L.Bin("+", zero, put.expr, put.expr.dtype)
    return new


def _split(
    zeros: L.Loop, sums: L.Loop, ahead: int, new_name: Callable[[str], str]
) -> list[L.Stmt] | None:
    """The loops that replace a zero fill and an accumulation along one axis, or None.

    The accumulation accesses the element of iteration i of the zero fill in its iteration
    i + `ahead`.  It is split in three: accumulation before the zeros, stores, and accumulation
    after them.  The zeros that it does not reach stay a loop of their own.
    """
    if ahead < 0:
        return None
    out: list[L.Stmt] = []

    def let(e: L.Expr) -> L.Expr:
        if L.is_simple(e):
            return e
        out.append(L.Let(name := new_name("n"), e))
        return L.Name(name)

    covers = _covers(zeros.stop, sums.stop, ahead)
    chosen = covers and isinstance(sums.stop, L.Select)  # it is 0 if there are no zeros
    count, end = let(zeros.stop), let(sums.stop if chosen else L.clamp_to_zero(sums.stop))
    low = let(_min(L.lit(ahead), end))
    high = let(_max(low, let(_min(end, L.add(count, L.lit(ahead))))))
    if low == high:
        return None  # nothing is accumulated to any of the zeros
    if not covers:
        rest = _max(L.ZERO, L.sub(end, L.lit(ahead)))
        out.append(L.Loop(zeros.var, let(rest), count, L.ONE, zeros.body))
    before, after = (copy.deepcopy(sums) for _ in range(2))
    before.stop = low
    written = _as_store(sums)
    written.start, written.stop = low, high
    after.start, after.stop = high, end
    parts = [part for part in (before, written, after) if part.start != part.stop]
    return [*out, *parts]


def _covers(count: L.Expr, end: L.Expr, ahead: int) -> bool:
    """True if the accumulation reaches every zero, if there are any."""
    if isinstance(end, L.Select):
        if end.cond != L.compare(">", count, L.ZERO) or not L.is_lit(end.y, 0):
            return False
        end = end.x
    if end == count:
        return ahead == 0
    if isinstance(end, L.Bin) and end.op == "+" and end.left == count:
        return isinstance(end.right, L.Lit) and end.right.value >= ahead
    return False


def _min(a: L.Expr, b: L.Expr) -> L.Expr:
    return a if L.is_lit(a, 0) else L.select(L.compare("<", a, b), a, b)


def _max(a: L.Expr, b: L.Expr) -> L.Expr:
    return L.select(L.compare(">", a, b), a, b)
