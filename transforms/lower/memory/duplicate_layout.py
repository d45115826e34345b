"""Duplicate a buffer with another axis order if loops run along two axes, on loop-level IR.

    for i in range(n):                      for i in range(n):
        for j in range(i):                      for j in range(i):
            for k in range(j):                      for k in range(j):
                s += a[i, k] * a[k, j]      →           s += a[i, k] * a_turned[j, k]
            a[i, j] = s                             a[i, j] = s
                                                    a_turned[j, i] = s

Where one axis order suits most accesses, `layout.py` has chosen it.  A buffer that is read far more
often than it is written, as in a factorisation, is kept in both orders at the cost of a second
store.  A buffer that is accumulated to far more often than it is read, as the adjoint of such a
buffer, becomes the sum of two buffers: each loop accumulates to the one along whose last axis it
runs.
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
from .layout import (
    MAX_SMALL_ELEMENTS,
    MIN_REUSE_PER_ELEMENT,
    Access,
    LayoutVotes,
    Order,
    Path,
    Uses,
    accesses_buffer,
    collect_uses,
    permute,
    sizes_of,
)

# The neutral element of addition.  It is not 0.0, since -0.0 + 0.0 is 0.0.
ADDITIVE_IDENTITY = -0.0


@record
class _Duplicate:
    """The duplicate of a buffer, with its axes permuted by `order`.

    `summed`: the value of an element is the sum of both copies; otherwise each copy holds it.
    """

    name: str
    order: Order
    dtype: str
    sizes: tuple[L.Expr, ...]
    summed: bool


def duplicate_layout(
    body: list[L.Stmt], params: Parameters, may_alias: MayAlias, emitter: Emitter
) -> None:
    """Rewrite `body` in place."""
    uses = collect_uses(body)
    poll = LayoutVotes(body, {**params.sizes, **sizes_of(uses)}, uses)
    duplicates: dict[str, _Duplicate] = {}
    for name, use in uses.items():
        found = _eligible(name, use, params, uses, may_alias)
        if found is None:
            continue
        dtype, sizes = found
        order = _other_order(use.accesses, len(sizes), poll)
        if order is None:
            continue
        is_given = name in params.dtypes and name not in params.outs
        summed = _is_summed(use, order, sizes, is_given, poll)
        if summed is False or (summed and dtype.startswith("float")):
            duplicates[name] = _Duplicate(
                emitter.new_name(f"{name}_turned"), order, dtype, sizes, summed
            )
    if not duplicates:
        return
    _Writer(duplicates, poll, emitter).block(body, ())
    for name, duplicate in duplicates.items():
        if name in params.dtypes:
            _copy_parameter(body, name, duplicate, params, emitter)


# ---------------------------------------------------------------- selection


def _eligible(
    name: str, use: Uses, params: Parameters, uses: dict[str, Uses], may_alias: MayAlias
) -> tuple[str, tuple[L.Expr, ...]] | None:
    """The dtype and sizes of a buffer, or None if an access could bypass the duplicate."""
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


def _other_order(accesses: Iterable[Access], rank: int, poll: LayoutVotes) -> Order | None:
    """The order with the most votes among those whose last axis differs from the present one."""
    votes = poll.votes(accesses)
    others = [(n, order) for order, n in votes.items() if order[-1] != rank - 1]
    return max(others)[1] if rank > 1 and others else None


def _is_summed(
    use: Uses, order: Order, sizes: tuple[L.Expr, ...], is_given: bool, poll: LayoutVotes
) -> bool | None:
    """True if the duplicate is to be `summed`; None if a duplicate is not profitable.

    `is_given`: the buffer is an input parameter, whose duplicate must be filled in full.
    """
    count = L.product(sizes)
    if isinstance(count, L.Lit) and count.value <= MAX_SMALL_ELEMENTS:
        return None
    elements = math.prod(map(poll.length, sizes))
    counts: Counter[str] = Counter()
    along_last: Counter[str] = Counter()
    for access in use.accesses:
        rounds = poll.execution_count(access)
        counts[access.kind] += rounds
        if _runs_along_last(access, order, poll) and (not is_given or poll.covers_array(access)):
            along_last[access.kind] += rounds
    if along_last["load"] >= MIN_REUSE_PER_ELEMENT * max(
        counts["store"] + 2 * counts["add"], elements
    ):
        return False
    if along_last["add"] >= MIN_REUSE_PER_ELEMENT * max(counts["store"] + counts["load"], elements):
        return True
    return None


def _runs_along_last(access: Access, order: Order, poll: LayoutVotes) -> bool:
    """True if the innermost loop around an access runs along the last axis of `order`."""
    wanted = poll.order(access)
    return wanted is not None and wanted[-1] == order[-1]


# ---------------------------------------------------------------- rewriting


class _Writer:
    def __init__(
        self, duplicates: dict[str, _Duplicate], poll: LayoutVotes, emitter: Emitter
    ) -> None:
        self.duplicates, self.poll, self.emitter = duplicates, poll, emitter

    def block(self, block: list[L.Stmt], around: Path) -> None:
        out: list[L.Stmt] = []
        for stmt in block:
            L.map_stmt(stmt, lambda e: self._load(e, around))
            inside = (*around, stmt) if isinstance(stmt, (L.Loop, L.While)) else around
            for inner in L.blocks_of(stmt):
                self.block(inner, inside)
            if isinstance(stmt, L.Store) and stmt.buffer in self.duplicates:
                out += self._store(stmt, self.duplicates[stmt.buffer], around)
            else:
                out.append(stmt)
            if isinstance(stmt, L.Alloc) and stmt.name in self.duplicates:
                out.append(_alloc(self.duplicates[stmt.name], stmt.sizes))
        block[:] = out

    def _load(self, e: L.Expr, around: Path) -> L.Expr | None:
        duplicate = self.duplicates.get(e.buffer) if isinstance(e, L.Load) else None
        if duplicate is None:
            return None
        assert isinstance(e, L.Load)
        index = tuple(L.map_expr(i, lambda part: self._load(part, around)) for i in e.index)
        here = replace(e, index=index)
        there = L.Load(duplicate.name, permute(index, duplicate.order), e.dtype)
        if duplicate.summed:
            return L.Bin("+", here, there, e.dtype)
        along_last = _runs_along_last(Access(e.index, around, "load"), duplicate.order, self.poll)
        return there if along_last else here

    def _store(self, put: L.Store, duplicate: _Duplicate, around: Path) -> list[L.Stmt]:
        there = permute(put.index, duplicate.order)
        if duplicate.summed and put.add:
            if _runs_along_last(Access(put.index, around, "add"), duplicate.order, self.poll):
                put.buffer, put.index = duplicate.name, there
            return [put]
        if duplicate.summed:
            return [put, L.Store(duplicate.name, there, L.Lit(ADDITIVE_IDENTITY, duplicate.dtype))]
        before: list[L.Stmt] = []
        if not L.is_simple(put.expr):
            name = self.emitter.new_name("t")
            before, put.expr = [L.Let(name, put.expr)], L.Name(name, put.expr.dtype)
        return [*before, put, L.Store(duplicate.name, there, put.expr, put.add)]


def _alloc(duplicate: _Duplicate, sizes: tuple[L.Expr, ...]) -> L.Alloc:
    return L.Alloc(duplicate.name, duplicate.dtype, permute(sizes, duplicate.order))


def _copy_parameter(
    body: list[L.Stmt], name: str, duplicate: _Duplicate, params: Parameters, emitter: Emitter
) -> None:
    """Allocate the duplicate of a parameter, and copy it in or add it to the result.

    For an input the duplicate is filled before its first use.  For an out-buffer with a summed
    duplicate the duplicate is added to it before the return.
    """
    first = next(i for i, s in enumerate(body) if accesses_buffer(s, duplicate.name))
    # The parameter's own sizes: expressions equal to them are valid only after the run-time checks.
    sizes = tuple(L.Size(name, k) for k in range(len(duplicate.sizes)))
    before: list[L.Stmt] = [_alloc(duplicate, sizes)]
    with emitter.into([]) as nest, emitter.nest(sizes) as index:
        there = permute(index, duplicate.order)
        if name not in params.outs:
            emitter.add(L.Store(duplicate.name, there, L.Load(name, index, duplicate.dtype)))
        else:
            emitter.add(
                L.Store(name, index, L.Load(duplicate.name, there, duplicate.dtype), add=True)
            )
    if name not in params.outs:
        before += nest
    elif duplicate.summed:
        assert isinstance(body[-1], L.Return)
        body[-1:-1] = nest
    body[first:first] = before
