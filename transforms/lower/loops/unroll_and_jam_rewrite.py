"""The rewriting step of unroll-and-jam (`unroll_and_jam.py`), on loop-level IR.

Each statement is copied for each unrolled iteration, with scalars of its own.  The copies of an
inner loop are jammed into one loop over the common part of their ranges.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeGuard

from ...ir.record import record
from ..analysis.bounds import symbolic_max, symbolic_min
from ..analysis.dependence import LoopReductions
from ..analysis.liveness import defs, names_in, upward_exposed, uses
from ..analysis.single_assignment import single_definitions
from ..loop_ir import nodes as L
from .unroll_and_jam_sums import add_term, copy_renamed, unrolled_stop


@record
class _JammedRanges:
    """The ranges of an inner loop after jamming.

    `together` is the common range of all unrolled iterations.  `heads` and `tails` are the ranges
    before and after it, one for each unrolled iteration.
    """

    heads: list[tuple[L.Expr, L.Expr]]
    together: tuple[L.Expr, L.Expr]
    tails: list[tuple[L.Expr, L.Expr]]


class JammedLoop:
    """An unrolled and jammed loop.  `factor` is the unroll factor."""

    def __init__(
        self,
        loop: L.Loop,
        common: LoopReductions,
        rounds: int,
        dtypes: dict[str, str],
        new_name: Callable[[str], str],
    ) -> None:
        self.loop, self.common, self.factor = loop, common, rounds
        self.dtypes, self.new_name = dtypes, new_name
        stmts = list(L.walk(loop.body))
        self.bound = {name for s in stmts for name in defs(s)}
        self.known = single_definitions(stmts)
        lets = [
            s.name for s in stmts if isinstance(s, L.Let) and s.name not in common.scalar_reductions
        ]
        self.own = list(dict.fromkeys(lets))
        assert isinstance(loop.step, L.Lit)
        self.step = loop.step.value
        # Of each jammed innermost loop: its depth, and the number of accesses in all unrolled
        # iterations before and after jamming.  Of the other inner loops: the depth.
        self.jammed: list[tuple[int, int, int]] = []
        self.unjammed_depths: list[int] = [0]
        self.depth = depth_of(loop)
        self.body = self._unrolled_body()

    # ---- the unrolled iterations

    def _unrolled_body(self) -> list[L.Stmt]:
        """Return the body of the unrolled loop.

        The statements before and after the innermost loops run in a loop over the unrolled
        iterations if they contain loops, too.  So they are not copied.
        """
        body = self.loop.body
        deep = [k for k, s in enumerate(body) if isinstance(s, L.Loop) and self._is_deep(s)]
        if not deep:
            return self._jam(body)
        loops = [k for k, s in enumerate(body) if isinstance(s, L.Loop)]
        first = max((k + 1 for k in loops if k < deep[0]), default=0)
        last = deep[-1] + 1
        before, after = self._rolled(body[:first]), self._rolled(body[last:])
        scalars = [
            s for s in body[:first] if isinstance(s, L.Let) and self._is_recomputable(s.name)
        ]
        rest = body[first:]
        own = {name for s in L.walk(body[:first]) for name in defs(s)}
        if before is None or upward_exposed(rest) & own - {s.name for s in scalars}:
            before, scalars, rest = [], [], body
        if after is not None:
            rest = rest[: len(rest) - len(body) + last]
        return [*before, *self._jam([*scalars, *rest]), *(after or [])]

    def _is_deep(self, loop: L.Loop, around: int = 1) -> bool:
        """True if a loop at depth `around` contains a loop at the largest depth, or is one."""
        return around + depth_of(loop) == self.depth

    def _is_recomputable(self, name: str) -> bool:
        """True if a scalar can be recomputed from the loop's variable and invariants."""
        resolved = self._resolved(L.Name(name))
        return name in self.known and self._is_fixed(resolved, frozenset({self.loop.var}))

    def _rolled(self, part: list[L.Stmt]) -> list[L.Stmt] | None:
        """Return a part of the body as a loop over the unrolled iterations.

        Return None if it contains no loop, or reads scalars that cannot be recomputed.
        """
        scalars = sorted(upward_exposed(part) & {*self.own})
        if not loops_in(part) or not all(map(self._is_recomputable, scalars)):
            return None
        counter = self.new_name(self.loop.var)
        lets: list[L.Stmt] = [L.Let(name, self._resolved(L.Name(name))) for name in scalars]
        names = {name: self.new_name(name) for name in self.own if name in _names(lets + part)}
        body = copy_renamed([*lets, *part], names, {L.Name(self.loop.var): L.Name(counter)})
        start = L.Name(self.loop.var)
        stop = L.add(start, L.lit(self.factor * self.step))
        return [L.Loop(counter, start, stop, L.lit(self.step), body)]

    def _jam(self, block: list[L.Stmt]) -> list[L.Stmt]:
        """Return the jammed copies of a block."""
        copies = [self._copy_for(block, n) for n in range(self.factor)]
        out = self._interleaved(block, copies, frozenset(), self.loop.var, 0)
        read = {name for s in L.walk(out) for name in uses(s)}
        # Definitions of loop bounds are dead where the bounds have been substituted.
        return [s for s in out if not (isinstance(s, L.Let) and s.name not in read)]

    def _copy_for(self, block: list[L.Stmt], n: int) -> list[L.Stmt]:
        """Return a copy of a block for the n-th unrolled iteration."""
        here = L.add(L.Name(self.loop.var), L.lit(n * self.step))
        names = {name: self.new_name(name) for name in self.own} if n else {}
        return copy_renamed(block, names, {L.Name(self.loop.var): here})

    def _interleaved(
        self,
        block: list[L.Stmt],
        copies: list[list[L.Stmt]],
        counters: frozenset[str],
        around: str,
        depth: int,
    ) -> list[L.Stmt]:
        """Return the `copies` of a block, interleaved statement by statement.

        `counters` are the variables of the surrounding jammed loops, `around` is that of the
        nearest loop.
        """
        out: list[L.Stmt] = []
        for stmt, *each in zip(block, *copies, strict=True):
            if isinstance(stmt, L.Comment):
                out.append(stmt)
            elif isinstance(stmt, L.Loop):
                loops = [s for s in each if isinstance(s, L.Loop)]
                out += self._jam_loops(stmt, loops, counters, around, depth + 1)
            elif isinstance(stmt, L.Store):
                out += self._combined_stores([s for s in each if isinstance(s, L.Store)])
            else:
                self._count_unjammed(stmt, depth)
                out += each
        return out

    def _combined_stores(self, stores: list[L.Store]) -> list[L.Stmt]:
        """Return the copies of a store as a single store, if all add to the same element."""
        first = stores[0]
        if not first.add or first.buffer not in self.common.array_reductions:
            return [*stores]
        same = all(p.index == first.index for p in stores)
        if not same or first.expr.dtype != self.dtypes.get(first.buffer):
            return [*stores]
        total: L.Expr = L.Load(first.buffer, first.index, first.expr.dtype)
        for p in stores:
            total = add_term(total, p.expr)
        return [L.Store(first.buffer, first.index, total)]

    def _jam_loops(
        self,
        loop: L.Loop,
        each: list[L.Loop],
        counters: frozenset[str],
        around: str,
        depth: int,
    ) -> list[L.Stmt]:
        """Return the copies `each` of an inner loop, jammed if that is possible."""
        ranges = self._jammed_ranges(loop, each, counters)
        if ranges is None or not self._is_deep(loop, depth):
            self._count_unjammed(loop, depth - 1)
            return [*each]
        inside = [s.body for s in each]
        body = self._interleaved(loop.body, inside, counters | {loop.var}, loop.var, depth)
        if not loops_in(loop.body):
            if _stores_to_neighbours(body, around):
                self._count_unjammed(loop, depth - 1)
                return [*each]
            was = sum(len(accesses(s.body, loop.var)) for s in each)
            self.jammed.append((depth, was, len(accesses(body, loop.var))))
        out: list[L.Stmt] = []
        for ends, s in zip(ranges.heads, each):
            out.append(L.Loop(loop.var, *ends, L.ONE, copy.deepcopy(s.body)))
        out.append(L.Loop(loop.var, *ranges.together, loop.step, body))
        for ends, s in zip(ranges.tails, each):
            out.append(L.Loop(loop.var, *ends, L.ONE, copy.deepcopy(s.body)))
        return [s for s in out if not (isinstance(s, L.Loop) and s.start == s.stop)]

    def _count_unjammed(self, stmt: L.Stmt, depth: int) -> None:
        """Record the depths of the loops in a statement that is not jammed."""
        for inner in [stmt] if isinstance(stmt, L.Loop) else loops_in([stmt]):
            self.unjammed_depths.append(depth + 1)
            for s in inner.body:
                self._count_unjammed(s, depth + 1)

    def _jammed_ranges(
        self, loop: L.Loop, each: list[L.Loop], counters: frozenset[str]
    ) -> _JammedRanges | None:
        """Return the ranges after jamming, or None if the copies cannot be jammed.

        At most one of the two bounds may vary, as variable of the unrolled loop + constant.
        """
        start, stop = self._resolved(loop.start), self._resolved(loop.stop)
        if not isinstance(loop.step, L.Lit):
            return None
        fixed = [self._is_fixed(e, counters) for e in (start, stop)]
        if all(fixed):
            return _JammedRanges([], (each[0].start, each[0].stop), [])
        if not L.is_lit(loop.step, 1) or not any(fixed):
            return None
        by = L.constant_offset(start if fixed[1] else stop, self.loop.var)
        if by is None:
            return None
        variable = L.Name(self.loop.var)
        ends = [L.add(variable, L.lit(n * self.step + by)) for n in range(self.factor)]
        if fixed[0]:
            least = ends[0 if self.step > 0 else -1]
            left = least if self._reaches(start, by) else symbolic_max(least, start)
            return _JammedRanges([], (start, least), [(left, end) for end in ends])
        most = ends[-1 if self.step > 0 else 0]
        to = most if self._stays_below(stop, by) else symbolic_min(most, stop)
        return _JammedRanges([(end, to) for end in ends], (most, stop), [])

    def _resolved(self, e: L.Expr) -> L.Expr:
        """Return `e` with definitions substituted for the integers of the body."""
        if isinstance(e, L.Name) and e.name in self.known:
            return self._resolved(self.known[e.name])
        if isinstance(e, L.Bin) and e.op in ("+", "-"):
            join = L.add if e.op == "+" else L.sub
            return join(self._resolved(e.left), self._resolved(e.right))
        return e

    def _is_fixed(self, e: L.Expr, counters: frozenset[str]) -> bool:
        """True if all unrolled iterations have the same value of `e`."""
        if any(isinstance(p, L.Load) for p in L.walk_expr(e)):
            return False
        return not names_in([e]) & ((self.bound | {self.loop.var}) - counters)

    def _reaches(self, start: L.Expr, by: int) -> bool:
        """True if the loop's variable plus `by` is certainly at least `start`."""
        span = L.index_range(self.loop)
        if span is None or not isinstance(least := self._resolved(span[0]), L.Lit):
            return False
        return isinstance(start, L.Lit) and least.value + by >= start.value

    def _stays_below(self, stop: L.Expr, by: int) -> bool:
        """True if the loop's variable plus `by` is certainly at most `stop`."""
        span = L.index_range(self.loop)
        return span is not None and self._resolved(span[1]) == stop and by <= 1

    def statements(self) -> list[L.Stmt]:
        """Return the unrolled loop and the loop over the remaining iterations."""
        loop = self.loop
        cut, rest = unrolled_stop(loop, self.factor, self.new_name)
        tile = L.Loop(loop.var, loop.start, rest, L.lit(self.factor * self.step), self.body)
        names = {name: self.new_name(name) for name in self.own}
        left = L.Loop(loop.var, rest, loop.stop, loop.step, copy_renamed(loop.body, names, {}))
        return [cut, tile, left]


def depth_of(loop: L.Loop) -> int:
    """Return the nesting depth of the loops inside of a loop."""
    return max((1 + depth_of(inner) for inner in loops_in(loop.body)), default=0)


def loops_in(block: list[L.Stmt]) -> list[L.Loop]:
    """Return the outermost loops of a block."""
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
    """Return the loads of a body without inner blocks; an accumulating store counts as a load."""
    found = {
        p for s in body for e in L.exprs_of(s) for p in L.walk_expr(e) if isinstance(p, L.Load)
    }
    return found | {L.Load(s.buffer, s.index, s.expr.dtype) for s in body if _adds(s)}


def _adds(stmt: L.Stmt) -> TypeGuard[L.Store]:
    return isinstance(stmt, L.Store) and stmt.add


def accesses(body: list[L.Stmt], counter: str) -> list[tuple[str, tuple[L.Expr, ...]]]:
    """Return buffer and index of the memory accesses of an iteration of an innermost loop.

    Loads that are invariant in the loop are left out.  `counter` is its variable.
    """
    changing = {name for s in body for name in defs(s)} | {counter}
    loads = [(p.buffer, p.index) for p in loads_in(body) if names_in(p.index) & changing]
    return loads + list({(s.buffer, s.index) for s in body if isinstance(s, L.Store)})


def _stores_to_neighbours(body: list[L.Stmt], around: str) -> bool:
    """True if an innermost loop stores to a buffer that it also accesses at another index, and the
    indices vary with the surrounding loop.

    LLVM hoists its run-time alias checks out of the surrounding loop.  There they test whether all
    that is stored is disjoint from all other accesses.  It is not, so the checks fail.
    """
    stores = [s for s in body if isinstance(s, L.Store)]
    locations = {(p.buffer, p.index) for p in loads_in(body)} | {
        (s.buffer, s.index) for s in stores
    }
    return any(
        len(found) > 1 and any(around in names_in(index) for index in found)
        for s in stores
        if (found := [index for buffer, index in locations if buffer == s.buffer])
    )
