"""Several rounds of a loop as one, side by side, on loop-level IR (`unroll_and_jam.py`).

Statement by statement, each round has its own, with numbers of its own.  Loops inside are one loop
as far as all rounds need them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeGuard

from ...ir.record import record
from ..analysis.bounds import larger, smaller
from ..analysis.dependence import Common
from ..analysis.liveness import defs, exposed, names_in, uses
from ..analysis.single_assignment import single_definitions
from ..loop_ir import nodes as L
from .unroll_and_jam_sums import plus, renamed, whole_rounds


@record
class _Ways:
    """How a loop inside runs in all rounds: those it needs alone first, then together, then those
    that are left, as bounds for each round."""

    heads: list[tuple[L.Expr, L.Expr]]
    together: tuple[L.Expr, L.Expr]
    tails: list[tuple[L.Expr, L.Expr]]


class Tile:
    """Several rounds of a loop, as one."""

    def __init__(
        self,
        loop: L.Loop,
        common: Common,
        rounds: int,
        dtypes: dict[str, str],
        new_name: Callable[[str], str],
    ) -> None:
        self.loop, self.common, self.rounds = loop, common, rounds
        self.dtypes, self.new_name = dtypes, new_name
        stmts = list(L.walk(loop.body))
        self.bound = {name for s in stmts for name in defs(s)}
        self.known = single_definitions(stmts)
        lets = [s.name for s in stmts if isinstance(s, L.Let) and s.name not in common.folds]
        self.own = list(dict.fromkeys(lets))
        assert isinstance(loop.step, L.Lit)
        self.step = loop.step.value
        # How deep they are, and what each touches in all rounds, before and now.
        self.together: list[tuple[int, int, int]] = []
        self.one_by_one: list[int] = [0]
        self.depth = depth_of(loop)
        self.body = self._all()

    # ---- the rounds

    def _all(self) -> list[L.Stmt]:
        """What comes before the innermost loops, and after them, runs round by round, if it holds
        loops, too, so that it need not be written down several times."""
        body = self.loop.body
        deep = [k for k, s in enumerate(body) if isinstance(s, L.Loop) and self._is_deep(s)]
        if not deep:
            return self._together(body)
        loops = [k for k, s in enumerate(body) if isinstance(s, L.Loop)]
        first = max((k + 1 for k in loops if k < deep[0]), default=0)
        last = deep[-1] + 1
        before, after = self._in_turn(body[:first]), self._in_turn(body[last:])
        numbers = [s for s in body[:first] if isinstance(s, L.Let) and self._is_known(s.name)]
        rest = body[first:]
        own = {name for s in L.walk(body[:first]) for name in defs(s)}
        if before is None or exposed(rest) & own - {s.name for s in numbers}:
            before, numbers, rest = [], [], body
        if after is not None:
            rest = rest[: len(rest) - len(body) + last]
        return [*before, *self._together([*numbers, *rest]), *(after or [])]

    def _is_deep(self, loop: L.Loop, around: int = 1) -> bool:
        return around + depth_of(loop) == self.depth

    def _is_known(self, name: str) -> bool:
        """Whether a number of a round can be computed again."""
        spelt = self._spelt(L.Name(name))
        return name in self.known and self._is_fixed(spelt, frozenset({self.loop.var}))

    def _in_turn(self, part: list[L.Stmt]) -> list[L.Stmt] | None:
        """A part of the body as a loop over the rounds; None if it holds no loop, or needs what
        else is computed there."""
        numbers = sorted(exposed(part) & {*self.own})
        if not loops_in(part) or not all(map(self._is_known, numbers)):
            return None
        counter = self.new_name(self.loop.var)
        lets: list[L.Stmt] = [L.Let(name, self._spelt(L.Name(name))) for name in numbers]
        names = {name: self.new_name(name) for name in self.own if name in _names(lets + part)}
        body = renamed([*lets, *part], names, {L.Name(self.loop.var): L.Name(counter)})
        start = L.Name(self.loop.var)
        stop = L.add(start, L.lit(self.rounds * self.step))
        return [L.Loop(counter, start, stop, L.lit(self.step), body)]

    def _together(self, block: list[L.Stmt]) -> list[L.Stmt]:
        copies = [self._round(block, n) for n in range(self.rounds)]
        out = self._side_by_side(block, copies, frozenset(), self.loop.var, 0)
        read = {name for s in L.walk(out) for name in uses(s)}
        # Of the bounds of loops, which are spelt out.
        return [s for s in out if not (isinstance(s, L.Let) and s.name not in read)]

    def _round(self, block: list[L.Stmt], n: int) -> list[L.Stmt]:
        """A copy for the loop's n-th round from here."""
        here = L.add(L.Name(self.loop.var), L.lit(n * self.step))
        names = {name: self.new_name(name) for name in self.own} if n else {}
        return renamed(block, names, {L.Name(self.loop.var): here})

    def _side_by_side(
        self,
        block: list[L.Stmt],
        copies: list[list[L.Stmt]],
        counters: frozenset[str],
        around: str,
        depth: int,
    ) -> list[L.Stmt]:
        """`counters` are those of the loops around that run together, `around` is that of the
        nearest loop."""
        out: list[L.Stmt] = []
        for stmt, *each in zip(block, *copies, strict=True):
            if isinstance(stmt, L.Comment):
                out.append(stmt)
            elif isinstance(stmt, L.Loop):
                loops = [s for s in each if isinstance(s, L.Loop)]
                out += self._loops(stmt, loops, counters, around, depth + 1)
            elif isinstance(stmt, L.Store):
                out += self._puts([s for s in each if isinstance(s, L.Store)])
            else:
                self._count_alone(stmt, depth)
                out += each
        return out

    def _puts(self, puts: list[L.Store]) -> list[L.Stmt]:
        """One, if all add to the same element."""
        first = puts[0]
        if not first.add or first.buffer not in self.common.sums:
            return [*puts]
        same = all(p.index == first.index for p in puts)
        if not same or first.expr.dtype != self.dtypes.get(first.buffer):
            return [*puts]
        total: L.Expr = L.Load(first.buffer, first.index, first.expr.dtype)
        for p in puts:
            total = plus(total, p.expr)
        return [L.Store(first.buffer, first.index, total)]

    def _loops(
        self,
        loop: L.Loop,
        each: list[L.Loop],
        counters: frozenset[str],
        around: str,
        depth: int,
    ) -> list[L.Stmt]:
        ways = self._ways(loop, each, counters)
        if ways is None or not self._is_deep(loop, depth):
            self._count_alone(loop, depth - 1)
            return [*each]
        inside = [s.body for s in each]
        body = self._side_by_side(loop.body, inside, counters | {loop.var}, loop.var, depth)
        if not loops_in(loop.body):
            if _writes_neighbours(body, around):
                self._count_alone(loop, depth - 1)
                return [*each]
            was = sum(len(accesses(s.body, loop.var)) for s in each)
            self.together.append((depth, was, len(accesses(body, loop.var))))
        out: list[L.Stmt] = []
        for ends, s in zip(ways.heads, each):
            out.append(L.Loop(loop.var, *ends, L.ONE, copy.deepcopy(s.body)))
        out.append(L.Loop(loop.var, *ways.together, loop.step, body))
        for ends, s in zip(ways.tails, each):
            out.append(L.Loop(loop.var, *ends, L.ONE, copy.deepcopy(s.body)))
        return [s for s in out if not (isinstance(s, L.Loop) and s.start == s.stop)]

    def _count_alone(self, stmt: L.Stmt, depth: int) -> None:
        for inner in [stmt] if isinstance(stmt, L.Loop) else loops_in([stmt]):
            self.one_by_one.append(depth + 1)
            for s in inner.body:
                self._count_alone(s, depth + 1)

    def _ways(self, loop: L.Loop, each: list[L.Loop], counters: frozenset[str]) -> _Ways | None:
        start, stop = self._spelt(loop.start), self._spelt(loop.stop)
        if not isinstance(loop.step, L.Lit):
            return None
        fixed = [self._is_fixed(e, counters) for e in (start, stop)]
        if all(fixed):
            return _Ways([], (each[0].start, each[0].stop), [])
        if not L.is_lit(loop.step, 1) or not any(fixed):
            return None
        by = L.offset(start if fixed[1] else stop, self.loop.var)
        if by is None:
            return None
        place = L.Name(self.loop.var)
        ends = [L.add(place, L.lit(n * self.step + by)) for n in range(self.rounds)]
        if fixed[0]:
            least = ends[0 if self.step > 0 else -1]
            left = least if self._reaches(start, by) else larger(least, start)
            return _Ways([], (start, least), [(left, end) for end in ends])
        most = ends[-1 if self.step > 0 else 0]
        to = most if self._stays_below(stop, by) else smaller(most, stop)
        return _Ways([(end, to) for end in ends], (most, stop), [])

    def _spelt(self, e: L.Expr) -> L.Expr:
        """By what does not change within a round."""
        if isinstance(e, L.Name) and e.name in self.known:
            return self._spelt(self.known[e.name])
        if isinstance(e, L.Bin) and e.op in ("+", "-"):
            join = L.add if e.op == "+" else L.sub
            return join(self._spelt(e.left), self._spelt(e.right))
        return e

    def _is_fixed(self, e: L.Expr, counters: frozenset[str]) -> bool:
        """Whether all rounds agree on it."""
        if any(isinstance(p, L.Load) for p in L.walk_expr(e)):
            return False
        return not names_in([e]) & ((self.bound | {self.loop.var}) - counters)

    def _reaches(self, start: L.Expr, by: int) -> bool:
        """Whether the counter, and so much, is at least `start`."""
        span = L.span(self.loop)
        if span is None or not isinstance(least := self._spelt(span[0]), L.Lit):
            return False
        return isinstance(start, L.Lit) and least.value + by >= start.value

    def _stays_below(self, stop: L.Expr, by: int) -> bool:
        """Whether the counter, and so much, is at most `stop`."""
        span = L.span(self.loop)
        return span is not None and self._spelt(span[1]) == stop and by <= 1

    def written(self) -> list[L.Stmt]:
        loop = self.loop
        cut, rest = whole_rounds(loop, self.rounds, self.new_name)
        tile = L.Loop(loop.var, loop.start, rest, L.lit(self.rounds * self.step), self.body)
        names = {name: self.new_name(name) for name in self.own}
        left = L.Loop(loop.var, rest, loop.stop, loop.step, renamed(loop.body, names, {}))
        return [cut, tile, left]


def depth_of(loop: L.Loop) -> int:
    """How many loops are inside of each other in a loop."""
    return max((1 + depth_of(inner) for inner in loops_in(loop.body)), default=0)


def loops_in(block: list[L.Stmt]) -> list[L.Loop]:
    """Those that no other loop is around."""
    found: list[L.Loop] = []
    for s in block:
        if isinstance(s, L.Loop):
            found.append(s)
        else:
            found += [n for inner in L.blocks_of(s) for n in loops_in(inner)]
    return found


def _names(block: list[L.Stmt]) -> set[str]:
    return {name for s in L.walk(block) for name in (*defs(s), *uses(s))}


def loads_in(body: list[L.Stmt]) -> set[L.Load]:
    found = {
        p for s in body for e in L.exprs_of(s) for p in L.walk_expr(e) if isinstance(p, L.Load)
    }
    return found | {L.Load(s.buffer, s.index, s.expr.dtype) for s in body if _adds(s)}


def _adds(stmt: L.Stmt) -> TypeGuard[L.Store]:
    return isinstance(stmt, L.Store) and stmt.add


def accesses(body: list[L.Stmt], counter: str) -> list[tuple[str, tuple[L.Expr, ...]]]:
    """What a round of an innermost loop reads or writes: buffers, and the places there."""
    changing = {name for s in body for name in defs(s)} | {counter}
    loads = [(p.buffer, p.index) for p in loads_in(body) if names_in(p.index) & changing]
    return loads + list({(s.buffer, s.index) for s in body if isinstance(s, L.Store)})


def _writes_neighbours(body: list[L.Stmt], around: str) -> bool:
    """Whether an innermost loop writes to an element of a buffer and touches another of it, at
    places that change with the loop around.  The optimiser asks once, before that loop, whether
    all that is written there lies apart from all else, and it does not."""
    puts = [s for s in body if isinstance(s, L.Store)]
    places = {(p.buffer, p.index) for p in loads_in(body)} | {(s.buffer, s.index) for s in puts}
    return any(
        len(found) > 1 and any(around in names_in(index) for index in found)
        for s in puts
        if (found := [index for buffer, index in places if buffer == s.buffer])
    )
