"""Splits loops with independent iterations into chunks that may run at once, on loop-level IR.

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

The chunks depend on sizes alone and their results are put together in order: whatever runs
them, one thread or many, the result is the same to the last bit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator

from ...ir.record import record
from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import trips, work
from ..analysis.dependence import Common, examined, loop_reductions
from ..analysis.liveness import after_loops, names_in
from ..analysis.parallel_profit import Amount, Amounts, bound_in
from ..loop_ir import nodes as L
from ..ops.scalar_ops import larger

# There are never more chunks.
CHUNKS = 64
# Starting threads takes as long as so many additions: ten microseconds or so.
START = 1 << 17
# A chunk does at least so many,
GRAIN = 1 << 15
# and so many more for each element of the buffers that it adds up for itself.
PER_ELEMENT = 32
# Without being asked, no chunk holds more elements of its own.
HELD = 1 << 20


@record
class Verdict:
    """Of a loop: the line it belongs to; why it cannot be split, or nothing; how much it does, or
    None if only running tells; and how much it must."""

    line: str
    why_not: str
    amount: Amount | None
    bound: int


class Splitter:
    """`fresh` makes names; the rest is as for `independent`.  If it was `asked` for, loops are
    split as soon as it may pay, otherwise (`lower/analysis/parallel_profit.py`) where there is no
    doubt."""

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
        self.asked = asked
        # So much must a loop do.
        self.bound = START + 2 * GRAIN if asked else bound_in(body)
        self.after = after_loops(body)

    def block(self, stmts: list[L.Stmt], nested: bool = False) -> list[L.Stmt]:
        """`nested`: in a loop that stays in order."""
        out: list[L.Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, L.Loop):
                common = self._common(stmt)
                if common is not None:
                    out += self._split(stmt, common, self._columns(stmt, common), nested)
                    continue
            if isinstance(stmt, (L.Loop, L.While)):
                stmt.body = self.block(stmt.body, True)
            elif isinstance(stmt, L.If):
                stmt.then = self.block(stmt.then, nested)
                stmt.orelse = self.block(stmt.orelse, nested)
            out.append(stmt)
        return out

    def amounts(
        self, known: Amounts, stmts: list[L.Stmt], around: tuple[L.Loop, ...] = ()
    ) -> Iterator[Amount]:
        """What each of the loops does that would be split."""
        for stmt in stmts:
            inside = around
            if isinstance(stmt, L.Loop):
                common = self._common(stmt)
                if common is not None:
                    spent = L.mul(_held(common.sums), L.lit(2 * PER_ELEMENT))
                    amount = known.of(stmt, trips(stmt), around, spent)
                    if amount is not None:
                        yield amount
                    continue
                inside = (*around, stmt)
            for block in L.blocks_of(stmt):
                yield from self.amounts(known, block, inside)

    def _common(self, loop: L.Loop) -> Common | None:
        """What the iterations of a loop have in common that is to be split."""
        if not self._is_long(loop):
            return None
        return loop_reductions(loop, self.after[id(loop)], self.may_alias, self.escaping)

    def _is_long(self, loop: L.Loop) -> bool:
        """Whether a loop may be worth splitting, for all that is known before it runs."""
        count = trips(loop)
        whole = work(loop, count)
        if isinstance(count, L.Lit) and count.value < 2:
            return False
        return not isinstance(whole, L.Lit) or whole.value >= self.bound

    def explained(
        self, known: Amounts, stmts: list[L.Stmt], around: tuple[L.Loop, ...] = ()
    ) -> Iterator[Verdict]:
        """What becomes of each loop, in the order of the program."""
        line = ""
        for stmt in stmts:
            inside = around
            if isinstance(stmt, L.Comment):
                line = stmt.text
            elif isinstance(stmt, L.Loop):
                found = examined(stmt, self.after[id(stmt)], self.may_alias, self.escaping)
                within = (s.text for s in L.walk(stmt.body) if isinstance(s, L.Comment))
                amount = known.of(stmt, trips(stmt), around, L.ZERO)
                why_not = found if isinstance(found, str) else ""
                yield Verdict(line or next(within, ""), why_not, amount, self.bound)
                line = ""
                if isinstance(found, Common):
                    continue
                inside = (*around, stmt)
            for block in L.blocks_of(stmt):
                yield from self.explained(known, block, inside)

    def _columns(self, loop: L.Loop, common: Common) -> L.Loop | None:
        """The loop that is all of another's body, if it may be split as well: where there are few
        rows, they are cut, too."""
        inner, *more = [s for s in loop.body if not isinstance(s, L.Comment)] or [None]
        if more or not isinstance(inner, L.Loop) or loop.var in names_in(L.exprs_of(inner)):
            return None
        if any(isinstance(p, L.Load) for e in L.exprs_of(inner) for p in L.walk_expr(e)):
            return None
        found = loop_reductions(inner, self.after[id(inner)], self.may_alias, self.escaping)
        if found is None or found.folds != common.folds or found.sums != common.sums:
            return None
        return None if found.scratch or common.scratch else inner

    # ---- splitting

    def _split(
        self, loop: L.Loop, common: Common, columns: L.Loop | None, nested: bool
    ) -> list[L.Stmt]:
        serial = copy.deepcopy(loop)
        chosen: list[L.Stmt] = []
        loop.start = self._named(chosen, loop.start, "start")
        count = self._named(chosen, trips(loop), "trips")
        sums = _held(common.sums)
        held = L.add(sums, _total(alloc.sizes for alloc in common.scratch.values()))
        least = L.add(L.lit(GRAIN), L.mul(sums, L.lit(PER_ELEMENT)))
        gained = L.sub(work(loop, count), L.lit(self.bound - 2 * GRAIN))
        if not self.asked and held != L.ZERO:
            fits = L.compare("<=", held, L.lit(HELD))
            gained = L.Select(fits, gained, L.ZERO, "int64")
        amounts = (count, gained, least, held)
        rows = chunks = self._named(chosen, L.Apply("rt.chunks", amounts, "int64"), "chunks")
        chunk = L.Name(self.new_name("chunk"))
        row: L.Expr = chunk
        if columns is not None:
            width = self._named(chosen, trips(columns), "width")
            across = L.Apply("rt.across", (rows, width, *amounts), "int64")
            across = self._named(chosen, across, "across")
            chunks = self._named(chosen, L.mul(rows, across), "chunks")
            row = L.Bin("//", chunk, across, "int64")
            column = L.Bin("%", chunk, across, "int64")
            _cut(columns, column, width, across)
        before: list[L.Stmt] = []
        start: list[L.Stmt] = []
        end: list[L.Stmt] = []
        after: list[L.Stmt] = []
        for name, (op, dtype) in common.folds.items():
            part, parts = self.new_name(f"{name}_part"), self.new_name(f"{name}_parts")
            _rename(loop.body, name, part)
            before.append(L.Alloc(parts, dtype, (L.lit(CHUNKS),)))
            whole, result = L.Name(name, dtype), L.Name(part, dtype)
            start.append(L.Let(part, L.Lit(0, dtype) if op == "+" else whole))
            end.append(L.Store(parts, (chunk,), result))
            after.append(L.Let(part, L.Load(parts, (chunk,), dtype)))
            both = L.Bin("+", whole, result, dtype) if op == "+" else larger(op, result, whole)
            after.append(L.Let(name, both))
        for buffer, (dtype, rank) in common.sums.items():
            parts, sizes = self.new_name(f"{buffer}_parts"), _sizes(buffer, rank)
            _redirect(loop.body, buffer, parts, chunk)
            before.append(L.Alloc(parts, dtype, (chunks, *sizes)))
            index, nest = self._nest(sizes)
            start.append(nest(L.Store(parts, (chunk, *index), L.Lit(0, dtype))))
            part = L.Load(parts, (chunk, *index), dtype)
            after.append(nest(L.Store(buffer, index, part, add=True)))
        for name, alloc in common.scratch.items():
            parts = self.new_name(f"{name}_parts")
            _redirect(loop.body, name, parts, chunk)
            # It is made even if no iteration makes it.
            sizes = tuple(map(L.at_least_none, alloc.sizes))
            before.append(L.Alloc(parts, alloc.dtype, (chunks, *sizes)))
        _cut(loop, row, count, rows)
        out = before
        out.append(L.Loop(chunk.name, L.ZERO, chunks, L.ONE, [*start, loop, *end], parallel=True))
        if after:
            out.append(L.Loop(chunk.name, L.ZERO, chunks, L.ONE, after))
        if common.sums or nested:
            # Adding up apart what could be added in place pays for several chunks only; and a loop
            # that runs often may be so short that one more call counts.
            out = [L.If(L.compare("==", chunks, L.ONE), [serial], out)]
        return [*chosen, *out]

    def _named(self, out: list[L.Stmt], e: L.Expr, hint: str) -> L.Expr:
        if L.is_simple(e):
            return e
        name = self.new_name(hint)
        out.append(L.Let(name, e))
        return L.Name(name)

    def _nest(
        self, sizes: tuple[L.Expr, ...]
    ) -> tuple[tuple[L.Expr, ...], Callable[[L.Stmt], L.Stmt]]:
        """The indices of all elements, and what puts a statement into loops over them."""
        names = [self.new_name("k") for _ in sizes]

        def nest(stmt: L.Stmt) -> L.Stmt:
            for name, size in zip(reversed(names), reversed(sizes)):
                stmt = L.Loop(name, L.ZERO, size, L.ONE, [stmt])
            return stmt

        return tuple(L.Name(n) for n in names), nest


def _sizes(buffer: str, rank: int) -> tuple[L.Expr, ...]:
    return tuple(L.Size(buffer, axis) for axis in range(rank))


def _held(sums: dict[str, tuple[str, int]]) -> L.Expr:
    """How many elements there are in the buffers that all iterations add to."""
    return _total(_sizes(b, rank) for b, (_, rank) in sums.items())


def _total(shapes: Iterable[tuple[L.Expr, ...]]) -> L.Expr:
    """How many elements they have."""
    total: L.Expr = L.ZERO
    for sizes in shapes:
        total = L.add(total, L.product(sizes))
    return total


def _cut(loop: L.Loop, part: L.Expr, count: L.Expr, parts: L.Expr) -> None:
    """Leaves one part of a loop's rounds."""

    def bound(part: L.Expr) -> L.Expr:
        passed = L.Bin("//", L.mul(part, count), parts, "int64")
        return L.add(loop.start, L.mul(passed, loop.step))

    loop.start, loop.stop = bound(part), bound(L.add(part, L.ONE))


def _rename(body: list[L.Stmt], old: str, new: str) -> None:
    def renamed(e: L.Expr) -> L.Expr | None:
        return L.Name(new, e.dtype) if isinstance(e, L.Name) and e.name == old else None

    L.map_stmts(body, renamed)
    for s in L.walk(body):
        if isinstance(s, L.Let) and s.name == old:
            s.name = new


def _redirect(body: list[L.Stmt], buffer: str, parts: str, chunk: L.Expr) -> None:
    """Puts a chunk's own part in place of a buffer."""

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
    body[:] = [s for s in body if not (isinstance(s, L.Alloc) and s.name == buffer)]
    for s in body:
        for block in L.blocks_of(s):
            _drop(block, buffer)
