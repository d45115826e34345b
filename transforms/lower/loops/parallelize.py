"""Parallelise loops with independent iterations: split them into chunks, on loop-level IR.

    for i in range(n):                      chunks = rt.chunks(n, work, least, 0)
        s = s + f(x[i])                     s_parts = np.empty((64,), np.float64)
                                            for chunk in rt.prange(chunks):
                                                s_part = np.float64(0.0)
                                                for i in range(chunk * n // chunks, …):
                                                    s_part = s_part + f(x[i])
                                                s_parts[chunk] = s_part
                                            for chunk in range(chunks):
                                                s_part = s_parts[chunk]
                                                s = s + s_part

Scalars and buffers that iterations reduce into are privatised per chunk.  The chunks depend on
sizes alone, and their partial results are combined in order.  So the result is the same to the last
bit, whether one thread or many run them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator

from ...ir.record import record
from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import loop_cost, trip_count
from ..analysis.dependence import LoopReductions, explain_dependence, loop_reductions
from ..analysis.liveness import live_after_loops, names_in
from ..analysis.parallel_profit import WorkEstimator, WorkPolynomial, min_parallel_work
from ..loop_ir import nodes as L
from ..ops.scalar_ops import minmax_select

# The maximal number of chunks.
MAX_CHUNKS = 64
# The cost of starting threads, in additions: ten microseconds or so.
THREAD_START_COST = 1 << 17
# The minimal work of a chunk, in additions.
MIN_CHUNK_WORK = 1 << 15
# Additional minimal work per element of the buffers that are privatised for a reduction.
MIN_WORK_PER_PRIVATE_ELEMENT = 32
# The maximal number of privatised elements per chunk, if parallel code was not requested.
MAX_PRIVATE_ELEMENTS = 1 << 20


@record
class ParallelVerdict:
    """The result of the analysis of a loop, for a report to the user.

    - `line`: the source line of the loop.
    - `why_not`: why it cannot be parallelised, or "".
    - `work`: its work, or None if that is known only at run time.
    - `min_work`: the work from which on it is parallelised.
    """

    line: str
    why_not: str
    work: WorkPolynomial | None
    min_work: int


class Parallelizer:
    """Parallelises the loops of a function's body.

    `new_name` makes names that are not in use.  `may_alias` and `escaping` are as for
    `loop_reductions`.  If parallel code was `requested`, loops are split wherever that may be
    profitable.  Otherwise they are split only where it certainly is
    (`lower/analysis/parallel_profit.py`).
    """

    def __init__(
        self,
        body: list[L.Stmt],
        may_alias: MayAlias,
        escaping: set[str],
        new_name: Callable[[str], str],
        asked: bool = True,
    ) -> None:
        self.may_alias = with_bindings(body, may_alias)
        self.escaping = escaping
        self.new_name = new_name
        self.requested = asked
        # The minimal work of a loop that is split.
        self.min_work = THREAD_START_COST + 2 * MIN_CHUNK_WORK if asked else min_parallel_work(body)
        self.after = live_after_loops(body)

    def block(self, stmts: list[L.Stmt], nested: bool = False) -> list[L.Stmt]:
        """Return a block with its loops split.  `nested`: a sequential loop surrounds it."""
        out: list[L.Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, L.Loop):
                reductions = self._reductions(stmt)
                if reductions is not None:
                    out += self._split(stmt, reductions, self._columns(stmt, reductions), nested)
                    continue
            if isinstance(stmt, (L.Loop, L.While)):
                stmt.body = self.block(stmt.body, True)
            elif isinstance(stmt, L.If):
                stmt.then = self.block(stmt.then, nested)
                stmt.orelse = self.block(stmt.orelse, nested)
            out.append(stmt)
        return out

    def amounts(
        self, known: WorkEstimator, stmts: list[L.Stmt], around: tuple[L.Loop, ...] = ()
    ) -> Iterator[WorkPolynomial]:
        """Yield the work of each loop that would be split, as far as sizes tell.  `around` are the
        surrounding loops."""
        for stmt in stmts:
            inside = around
            if isinstance(stmt, L.Loop):
                reductions = self._reductions(stmt)
                if reductions is not None:
                    overhead = L.mul(
                        _reduced_elements(reductions.array_reductions),
                        L.lit(2 * MIN_WORK_PER_PRIVATE_ELEMENT),
                    )
                    amount = known.of(stmt, trip_count(stmt), around, overhead)
                    if amount is not None:
                        yield amount
                    continue
                inside = (*around, stmt)
            for block in L.blocks_of(stmt):
                yield from self.amounts(known, block, inside)

    def _reductions(self, loop: L.Loop) -> LoopReductions | None:
        """Return the reductions of a loop that is to be split; None if it is not."""
        if not self._is_long(loop):
            return None
        return loop_reductions(loop, self.after[id(loop)], self.may_alias, self.escaping)

    def _is_long(self, loop: L.Loop) -> bool:
        """True if splitting a loop may be profitable, as far as is known at compile time."""
        count = trip_count(loop)
        whole = loop_cost(loop, count)
        if isinstance(count, L.Lit) and count.value < 2:
            return False
        return not isinstance(whole, L.Lit) or whole.value >= self.min_work

    def verdicts(
        self, known: WorkEstimator, stmts: list[L.Stmt], around: tuple[L.Loop, ...] = ()
    ) -> Iterator[ParallelVerdict]:
        """Yield the verdict on each loop, in program order.

        Loops inside of a loop that can be parallelised are left out.
        """
        line = ""
        for stmt in stmts:
            inside = around
            if isinstance(stmt, L.Comment):
                line = stmt.text
            elif isinstance(stmt, L.Loop):
                found = explain_dependence(
                    stmt, self.after[id(stmt)], self.may_alias, self.escaping
                )
                within = (s.text for s in L.walk(stmt.body) if isinstance(s, L.Comment))
                amount = known.of(stmt, trip_count(stmt), around, L.ZERO)
                why_not = found if isinstance(found, str) else ""
                yield ParallelVerdict(line or next(within, ""), why_not, amount, self.min_work)
                line = ""
                if isinstance(found, LoopReductions):
                    continue
                inside = (*around, stmt)
            for block in L.blocks_of(stmt):
                yield from self.verdicts(known, block, inside)

    def _columns(self, loop: L.Loop, reductions: LoopReductions) -> L.Loop | None:
        """Return the inner loop of a perfect nest if it may be split as well.

        Where the outer loop has few iterations (rows), the columns are split, too.
        """
        inner, *more = [s for s in loop.body if not isinstance(s, L.Comment)] or [None]
        if more or not isinstance(inner, L.Loop) or loop.var in names_in(L.exprs_of(inner)):
            return None
        if any(isinstance(p, L.Load) for e in L.exprs_of(inner) for p in L.walk_expr(e)):
            return None
        found = loop_reductions(inner, self.after[id(inner)], self.may_alias, self.escaping)
        if (
            found is None
            or found.scalar_reductions != reductions.scalar_reductions
            or found.array_reductions != reductions.array_reductions
        ):
            return None
        return None if found.private_buffers or reductions.private_buffers else inner

    # ---- splitting

    def _split(
        self, loop: L.Loop, reductions: LoopReductions, columns: L.Loop | None, nested: bool
    ) -> list[L.Stmt]:
        """Return the statements that replace a loop by a parallel loop over chunks."""
        serial = copy.deepcopy(loop)
        setup: list[L.Stmt] = []
        loop.start = self._named(setup, loop.start, "start")
        count = self._named(setup, trip_count(loop), "trips")
        sums = _reduced_elements(reductions.array_reductions)
        private_elements = L.add(
            sums, _element_count(alloc.sizes for alloc in reductions.private_buffers.values())
        )
        least = L.add(L.lit(MIN_CHUNK_WORK), L.mul(sums, L.lit(MIN_WORK_PER_PRIVATE_ELEMENT)))
        net_work = L.sub(loop_cost(loop, count), L.lit(self.min_work - 2 * MIN_CHUNK_WORK))
        if not self.requested and private_elements != L.ZERO:
            fits = L.compare("<=", private_elements, L.lit(MAX_PRIVATE_ELEMENTS))
            net_work = L.Select(fits, net_work, L.ZERO, "int64")
        amounts = (count, net_work, least, private_elements)
        rows = chunks = self._named(setup, L.Apply("rt.chunks", amounts, "int64"), "chunks")
        chunk = L.Name(self.new_name("chunk"))
        row: L.Expr = chunk
        if columns is not None:
            width = self._named(setup, trip_count(columns), "width")
            across = L.Apply("rt.across", (rows, width, *amounts), "int64")
            across = self._named(setup, across, "across")
            chunks = self._named(setup, L.mul(rows, across), "chunks")
            row = L.Bin("//", chunk, across, "int64")
            column = L.Bin("%", chunk, across, "int64")
            _restrict(columns, column, width, across)
        before: list[L.Stmt] = []
        start: list[L.Stmt] = []
        end: list[L.Stmt] = []
        after: list[L.Stmt] = []
        for name, (op, dtype) in reductions.scalar_reductions.items():
            part, parts = self.new_name(f"{name}_part"), self.new_name(f"{name}_parts")
            rename_scalar(loop.body, name, part)
            before.append(L.Alloc(parts, dtype, (L.lit(MAX_CHUNKS),)))
            whole, result = L.Name(name, dtype), L.Name(part, dtype)
            start.append(L.Let(part, L.Lit(0, dtype) if op == "+" else whole))
            end.append(L.Store(parts, (chunk,), result))
            after.append(L.Let(part, L.Load(parts, (chunk,), dtype)))
            both = (
                L.Bin("+", whole, result, dtype) if op == "+" else minmax_select(op, result, whole)
            )
            after.append(L.Let(name, both))
        for buffer, (dtype, rank) in reductions.array_reductions.items():
            parts, sizes = self.new_name(f"{buffer}_parts"), _sizes(buffer, rank)
            redirect_buffer(loop.body, buffer, parts, chunk)
            before.append(L.Alloc(parts, dtype, (chunks, *sizes)))
            index, nest = self._nest(sizes)
            start.append(nest(L.Store(parts, (chunk, *index), L.Lit(0, dtype))))
            part = L.Load(parts, (chunk, *index), dtype)
            after.append(nest(L.Store(buffer, index, part, add=True)))
        for name, alloc in reductions.private_buffers.items():
            parts = self.new_name(f"{name}_parts")
            redirect_buffer(loop.body, name, parts, chunk)
            # The allocation is executed even if no iteration executes its own: the size must not be
            # negative.
            sizes = tuple(map(L.clamp_to_zero, alloc.sizes))
            before.append(L.Alloc(parts, alloc.dtype, (chunks, *sizes)))
        _restrict(loop, row, count, rows)
        out = before
        out.append(L.Loop(chunk.name, L.ZERO, chunks, L.ONE, [*start, loop, *end], parallel=True))
        if after:
            out.append(L.Loop(chunk.name, L.ZERO, chunks, L.ONE, after))
        if reductions.array_reductions or nested:
            # Privatised sums are profitable with several chunks only.  And a loop that runs often
            # may be so short that one more call counts.
            out = [L.If(L.compare("==", chunks, L.ONE), [serial], out)]
        return [*setup, *out]

    def _named(self, out: list[L.Stmt], e: L.Expr, hint: str) -> L.Expr:
        """Return a name for `e`, assigned in `out`, or `e` itself if it is simple."""
        if L.is_simple(e):
            return e
        name = self.new_name(hint)
        out.append(L.Let(name, e))
        return L.Name(name)

    def _nest(
        self, sizes: tuple[L.Expr, ...]
    ) -> tuple[tuple[L.Expr, ...], Callable[[L.Stmt], L.Stmt]]:
        """Return the index of an element, and a function that puts a statement into loops over all
        elements."""
        names = [self.new_name("k") for _ in sizes]

        def nest(stmt: L.Stmt) -> L.Stmt:
            for name, size in zip(reversed(names), reversed(sizes)):
                stmt = L.Loop(name, L.ZERO, size, L.ONE, [stmt])
            return stmt

        return tuple(L.Name(n) for n in names), nest


def _sizes(buffer: str, rank: int) -> tuple[L.Expr, ...]:
    return tuple(L.Size(buffer, axis) for axis in range(rank))


def _reduced_elements(sums: dict[str, tuple[str, int]]) -> L.Expr:
    """Return the number of elements of the buffers that all iterations add to."""
    return _element_count(_sizes(b, rank) for b, (_, rank) in sums.items())


def _element_count(shapes: Iterable[tuple[L.Expr, ...]]) -> L.Expr:
    """Return the number of elements of buffers with these shapes."""
    total: L.Expr = L.ZERO
    for sizes in shapes:
        total = L.add(total, L.product(sizes))
    return total


def _restrict(loop: L.Loop, part: L.Expr, count: L.Expr, parts: L.Expr) -> None:
    """Restrict a loop to one of `parts` parts of its `count` iterations."""

    def bound(part: L.Expr) -> L.Expr:
        done = L.Bin("//", L.mul(part, count), parts, "int64")
        return L.add(loop.start, L.mul(done, loop.step))

    loop.start, loop.stop = bound(part), bound(L.add(part, L.ONE))


def rename_scalar(body: list[L.Stmt], old: str, new: str) -> None:
    """Rename a scalar."""

    def renamed(e: L.Expr) -> L.Expr | None:
        return L.Name(new, e.dtype) if isinstance(e, L.Name) and e.name == old else None

    L.map_stmts(body, renamed)
    for s in L.walk(body):
        if isinstance(s, L.Let) and s.name == old:
            s.name = new


def redirect_buffer(body: list[L.Stmt], buffer: str, parts: str, chunk: L.Expr) -> None:
    """Replace a buffer by the chunk's private part of `parts`."""

    def redirected(e: L.Expr) -> L.Expr | None:
        if isinstance(e, L.Size) and e.buffer == buffer:
            return L.Size(parts, e.axis + 1)
        if isinstance(e, L.Load) and e.buffer == buffer:
            index = (L.map_expr(i, redirected) for i in e.index)
            return L.Load(parts, (chunk, *index), e.dtype)
        return None

    L.map_stmts(body, redirected)
    for s in L.walk(body):
        if isinstance(s, L.Store) and s.buffer == buffer:
            s.buffer, s.index = parts, (chunk, *s.index)
    _drop(body, buffer)


def _drop(body: list[L.Stmt], buffer: str) -> None:
    """Remove the allocations of a buffer."""
    body[:] = [s for s in body if not (isinstance(s, L.Alloc) and s.name == buffer)]
    for s in body:
        for block in L.blocks_of(s):
            _drop(block, buffer)
