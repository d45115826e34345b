"""Keeps a buffer in two orders of its axes where loops run along both, on loop-level IR.

    for i in range(n):                      for i in range(n):
        for j in range(i):                      for j in range(i):
            for k in range(j):                      for k in range(j):
                s += a[i, k] * a[k, j]      →           s += a[i, k] * a_turned[j, k]
            a[i, j] = s                             a[i, j] = s
                                                    a_turned[j, i] = s

Where one order suits most accesses, `layout` has chosen it.  Of a buffer that is read far more
often than it is written, as in a factorisation, both orders can be had for a second write.  A
buffer that is added to far more often than it is read, as its adjoint, is the sum of two: each loop
adds to the one it runs along.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from ...ir.record import record, replace
from ..analysis.alias import MayAlias
from ..analysis.parameters import Parameters
from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L
from .layout import SMALL, WORTH, Access, Order, Path, Poll, Uses, moved, sizes_of, survey, touches

# Added to anything, it changes nothing: 0.0 would make 0.0 of -0.0.
NOTHING = -0.0


@record
class _Twin:
    """The other buffer; `summed`: an element is the sum of both, otherwise both hold it."""

    name: str
    order: Order
    dtype: str
    sizes: tuple[L.Expr, ...]
    summed: bool


def duplicate_layout(
    body: list[L.Stmt], params: Parameters, may_alias: MayAlias, emitter: Emitter
) -> None:
    """Rewrites `body` in place."""
    uses = survey(body)
    poll = Poll(body, {**params.sizes, **sizes_of(uses)}, uses)
    twins: dict[str, _Twin] = {}
    for name, use in uses.items():
        found = _of_buffer(name, use, params, uses, may_alias)
        if found is None:
            continue
        dtype, sizes = found
        order = _other_order(use.accesses, len(sizes), poll)
        if order is None:
            continue
        is_given = name in params.dtypes and name not in params.outs
        summed = _is_worth(use, order, sizes, is_given, poll)
        if summed is False or (summed and dtype.startswith("float")):
            twins[name] = _Twin(emitter.new_name(f"{name}_turned"), order, dtype, sizes, summed)
    if not twins:
        return
    _Writer(twins, poll, emitter).block(body, ())
    for name, twin in twins.items():
        if name in params.dtypes:
            _at_the_ends(body, name, twin, params, emitter)


# ---------------------------------------------------------------- choosing


def _of_buffer(
    name: str, use: Uses, params: Parameters, uses: dict[str, Uses], may_alias: MayAlias
) -> tuple[str, tuple[L.Expr, ...]] | None:
    """Its dtype and sizes, if all that happens to it is seen."""
    if use.whole or use.bound or not use.accesses:
        return None
    if name not in params.dtypes:
        if len(use.allocs) != 1:
            return None
        (alloc,) = use.allocs
        return alloc.dtype, alloc.sizes
    if use.allocs or name in params.escaping:
        return None
    others = [other for b, other in uses.items() if b != name and may_alias(name, b)]
    if name in params.outs:
        if others:
            return None
    elif use.written or any(other.written or other.bound for other in others):
        return None
    return params.dtypes[name], params.sizes[name]


def _other_order(accesses: Iterable[Access], rank: int, poll: Poll) -> Order | None:
    """The one that most accesses would like that do not run along the last axis."""
    votes = poll.votes(accesses)
    others = [(n, order) for order, n in votes.items() if order[-1] != rank - 1]
    return max(others)[1] if rank > 1 and others else None


def _is_worth(
    use: Uses, order: Order, sizes: tuple[L.Expr, ...], is_given: bool, poll: Poll
) -> bool | None:
    """Whether the two are to be `summed`; None if one is enough."""
    count = L.product(sizes)
    if isinstance(count, L.Lit) and count.value <= SMALL:
        return None
    elements = math.prod(map(poll.length, sizes))
    made: Counter[str] = Counter()
    down: Counter[str] = Counter()
    for access in use.accesses:
        rounds = poll.rounds(access)
        made[access.kind] += rounds
        if _runs_down(access, order, poll) and (not is_given or poll.is_all_over(access)):
            down[access.kind] += rounds
    if down["load"] >= WORTH * max(made["store"] + 2 * made["add"], elements):
        return False
    if down["add"] >= WORTH * max(made["store"] + made["load"], elements):
        return True
    return None


def _runs_down(access: Access, order: Order, poll: Poll) -> bool:
    wanted = poll.order(access)
    return wanted is not None and wanted[-1] == order[-1]


# ---------------------------------------------------------------- doing it


class _Writer:
    def __init__(self, twins: dict[str, _Twin], poll: Poll, emitter: Emitter) -> None:
        self.twins, self.poll, self.emitter = twins, poll, emitter

    def block(self, block: list[L.Stmt], around: Path) -> None:
        out: list[L.Stmt] = []
        for stmt in block:
            L.map_stmt(stmt, lambda e: self._load(e, around))
            inside = (*around, stmt) if isinstance(stmt, (L.Loop, L.While)) else around
            for inner in L.blocks_of(stmt):
                self.block(inner, inside)
            if isinstance(stmt, L.Store) and stmt.buffer in self.twins:
                out += self._put(stmt, self.twins[stmt.buffer], around)
            else:
                out.append(stmt)
            if isinstance(stmt, L.Alloc) and stmt.name in self.twins:
                out.append(_alloc(self.twins[stmt.name], stmt.sizes))
        block[:] = out

    def _load(self, e: L.Expr, around: Path) -> L.Expr | None:
        twin = self.twins.get(e.buffer) if isinstance(e, L.Load) else None
        if twin is None:
            return None
        assert isinstance(e, L.Load)
        index = tuple(L.map_expr(i, lambda part: self._load(part, around)) for i in e.index)
        here = replace(e, index=index)
        there = L.Load(twin.name, moved(index, twin.order), e.dtype)
        if twin.summed:
            return L.Bin("+", here, there, e.dtype)
        down = _runs_down(Access(e.index, around, "load"), twin.order, self.poll)
        return there if down else here

    def _put(self, put: L.Store, twin: _Twin, around: Path) -> list[L.Stmt]:
        there = moved(put.index, twin.order)
        if twin.summed and put.add:
            if _runs_down(Access(put.index, around, "add"), twin.order, self.poll):
                put.buffer, put.index = twin.name, there
            return [put]
        if twin.summed:
            return [put, L.Store(twin.name, there, L.Lit(NOTHING, twin.dtype))]
        before: list[L.Stmt] = []
        if not L.is_simple(put.expr):
            name = self.emitter.new_name("t")
            before, put.expr = [L.Let(name, put.expr)], L.Name(name, put.expr.dtype)
        return [*before, put, L.Store(twin.name, there, put.expr, put.add)]


def _alloc(twin: _Twin, sizes: tuple[L.Expr, ...]) -> L.Alloc:
    return L.Alloc(twin.name, twin.dtype, moved(sizes, twin.order))


def _at_the_ends(
    body: list[L.Stmt], name: str, twin: _Twin, params: Parameters, emitter: Emitter
) -> None:
    """Fills the twin of a parameter, or makes a result of both."""
    first = next(i for i, s in enumerate(body) if touches(s, twin.name))
    # Its own sizes: others are equal only once the program has checked them.
    sizes = tuple(L.Size(name, k) for k in range(len(twin.sizes)))
    before: list[L.Stmt] = [_alloc(twin, sizes)]
    with emitter.into([]) as nest, emitter.nest(sizes) as index:
        there = moved(index, twin.order)
        if name not in params.outs:
            emitter.add(L.Store(twin.name, there, L.Load(name, index, twin.dtype)))
        else:
            emitter.add(L.Store(name, index, L.Load(twin.name, there, twin.dtype), add=True))
    if name not in params.outs:
        before += nest
    elif twin.summed:
        assert isinstance(body[-1], L.Return)
        body[-1:-1] = nest
    body[first:first] = before
