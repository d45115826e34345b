"""Partition of a routine: which statements run on the host, in grids, and on one thread.

Statements that one thread runs are collected in `pending`, and become one kernel when something
else depends on them (`flush`).  A loop with independent iterations becomes a grid.  A loop that
contains such loops or matrix products runs on the host.  Any other loop that computes with device
values runs on one thread.

The plan depends on the placement of scalars, and vice versa: `partition` repeats the plan until the
placement is stable.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

from ...ir.errors import UnsupportedError
from ...ir.nodes import Span
from ..analysis.alias import MayAlias
from ..analysis.cost_model import loop_cost, trip_count
from ..analysis.liveness import defs, names_in, uses
from ..analysis.single_assignment import fixed_integers, resolve
from ..loop_ir import nodes as L
from .batches import batched_product
from .fresh_buffers import fresh_after, fresh_in
from .grids import Grids, is_in_kernel, is_local
from .host_copies import candidates
from .merge_launches import merge_launches
from .nests import Nest, is_speculatable
from .place import Placement
from .plan import Plan
from .program import HostResult
from .symbols import Symbols

# The maximal work of a loop on one thread, in additions: some tens of milliseconds.
MAX_THREAD_WORK = 1 << 20


def partition(
    routine: L.Routine,
    symbols: Symbols,
    may_alias: MayAlias,
    spans: dict[str, Span],
) -> Plan:
    """The plan of a routine.  `spans` are the places of the lines that comments name."""
    mentions = Counter[str]()
    for s in L.walk(routine.body):
        mentions.update(uses(s) | {*defs(s)})
    names, device = set(mentions), set[str]()
    groups = candidates(routine.body, routine.params, symbols)
    copies, is_pruned = set(groups), False
    known = fixed_integers(routine.body, [p.name for p in routine.params])
    given = {p.name for p in routine.params} - {n for s in L.walk(routine.body) for n in defs(s)}
    while True:
        placement = Placement(set(device), set(copies))
        body = copy.deepcopy(routine.body)
        planner = _Planner(
            routine.name, body, symbols.copy(), may_alias, spans, placement, Counter(mentions)
        )
        planner.known, planner.given = known, given
        lost = planner.run(body)
        kept = copies - {n for name in lost for n in groups[name]}
        if kept == copies and not is_pruned and placement.device & names == device:
            kept = {n for name in planner.needed_copies() for n in groups[name]}
            is_pruned = True
        if kept == copies and placement.device & names == device:
            plan = planner.finished()
            merge_launches(plan, planner.may_alias)
            return plan
        copies, device = kept, placement.device & names


class _Planner(Grids):
    """Plans one routine.  `known` are the definitions of its integers, `given` the parameters that
    it does not assign."""

    known: dict[str, L.Expr]
    given: set[str]

    def run(self, body: list[L.Stmt]) -> set[str]:
        """Plan a routine; return the buffers that the host cannot keep a copy of after all."""
        try:
            self.block(body)
            self.flush()
        except UnsupportedError as error:
            self.error = error
        return self.lost

    def finished(self) -> Plan:
        """The plan.  Raises the error that ended it."""
        if self.error is not None:
            raise self.error
        return self.plan

    def nested(self, stmts: list[L.Stmt]) -> list[Any]:
        """The host statements of an inner block, as a block of a loop IR statement."""
        saved, self.out = self.out, []
        self.host_line = ""
        self.block(stmts)
        self.flush()
        self.host_line = ""
        out, self.out = self.out, saved
        return out

    def is_thread_code(self, stmts: list[L.Stmt]) -> bool:
        """True if statements may run in a kernel, on one thread."""
        inside = Counter[str]()
        for s in L.walk(stmts):
            inside.update(uses(s) | {*defs(s)})
        return all(
            is_in_kernel(s)
            and (
                not isinstance(s, L.Alloc)
                or is_local(s)
                and inside[s.name] == self.mentions[s.name]
            )
            for s in L.walk(stmts)
        )

    def has_parallel(self, stmts: list[L.Stmt]) -> bool:
        """True if statements contain a grid or a matrix product."""
        return any(
            isinstance(s, L.Call) or isinstance(s, L.Loop) and isinstance(self.nest(s), Nest)
            for s in L.walk(stmts)
        )

    def part(self, a: L.Subview) -> L.Subview:
        return L.Subview(a.buffer, tuple(map(self.fetched, a.index)))

    def block(self, stmts: list[L.Stmt]) -> None:
        before = self.fresh
        for s in stmts:
            self.stmt(s)
            self.fresh = fresh_after(s, self.fresh)
        self.fresh = before

    def stmt(self, s: L.Stmt) -> None:
        if isinstance(s, L.Comment):
            self.line = s.text or self.line
        elif isinstance(s, L.Let):
            if s.name in self.placement.device or not self.placement.is_host(s.expr):
                self.defer(s)
            else:
                self.flush_readers({s.name})
                self.emit(s)
        elif isinstance(s, L.Store):
            self.defer(s)
        elif isinstance(s, L.Alloc):
            sizes = tuple(map(self.fetched, s.sizes))
            self.flush_readers({s.name})
            self.copy_array(s.name, sizes)
            self.emit(L.Alloc(s.name, s.dtype, sizes))
        elif isinstance(s, (L.View, L.Rebind)):
            self.flush()
            if isinstance(s, L.View):
                sizes = tuple(map(self.fetched, s.sizes))
                self.copy_array(s.name, sizes, s.buffer)
                self.emit(L.View(s.name, s.buffer, sizes))
            else:
                self.copy_array(s.name, (), s.other)
                self.emit(s)
        elif isinstance(s, L.Call):
            assert s.function == "rt.gemm", s
            args = [self.part(a) if isinstance(a, L.Subview) else self.fetched(a) for a in s.args]
            self.flush()
            self.emit(L.Call(s.function, tuple(args)))
        elif isinstance(s, L.Return):
            self.results(s)
        elif isinstance(s, L.Break):
            self.flush()
            self.emit(s)
        elif isinstance(s, L.Fail):
            self.flush()
            self.emit(L.Fail(s.exception, s.message, s.site, tuple(map(self.fetched, s.values))))
        elif self.placement.is_host_only([s]):
            self.flush_readers({n for q in L.walk([s]) for n in defs(q)})
            if L.has_break([s]):
                self.flush()
            self.emit(s)
        elif isinstance(s, L.If):
            self.conditional(s)
        elif isinstance(s, L.While):
            self.repeat(s)
        else:
            assert isinstance(s, L.Loop), s
            self.loop(s)

    def conditional(self, s: L.If) -> None:
        if self.is_thread_code([s]) and not self.has_parallel([s]) and not L.has_break([s]):
            self.defer(s)
            return
        cond = self.fetched(s.cond)
        self.flush()
        line = self.line
        then = self.nested(s.then)
        self.line = line
        self.emit(L.If(cond, then, self.nested(s.orelse)))

    def repeat(self, s: L.While) -> None:
        if self.is_thread_code([s]) and not self.has_parallel([s]):
            self.verdict("thread", "its number of iterations is known on the device only")
            self.defer(s)
            return
        self.flush()
        self.verdict("host", "it contains loops that are grids")
        self.loops += 1
        self.fresh = fresh_in(s.body, self.fresh)
        self.emit(L.While(self.nested(s.body)))
        self.loops -= 1

    def loop(self, s: L.Loop) -> None:
        batch = batched_product(s, self.sizes, self.may_alias)
        if batch is not None and self.placement.are_host([batch.count, *batch.call.args]):
            self.flush()
            self.emit(batch)
            return
        nest = self.nest(s)
        if isinstance(nest, Nest) and self.is_launchable(nest):
            self.verdict("grid", "")
            self.copy_stores(s)
            self.grid(nest)
            return
        why = nest if isinstance(nest, str) else "its bounds are known on the device only"
        if self.is_thread_code([s]) and (isinstance(nest, Nest) or not self.has_parallel(s.body)):
            self.verdict("thread", why)
            self.bound_work(s)
            self.defer(s)
            return
        self.flush()
        self.verdict("host", why)
        if s.var in self.placement.device:
            raise self.refuse(
                f"the counter {s.var} of a loop that starts kernels is used on the device after it",
                "copy it to another variable in the loop",
            )
        start, stop, step = (self.fetched(e) for e in (s.start, s.stop, s.step))
        self.loops += 1
        line = self.line
        self.fresh = fresh_in(s.body, self.fresh)
        body = self.nested(s.body)
        self.loops -= 1
        self.line = line
        self.emit(L.Loop(s.var, start, stop, step, body))

    def bound_work(self, s: L.Loop) -> None:
        """Test the work of a loop on one thread on the host, as far as it is known there: before
        anything else if it follows from the parameters."""
        work = loop_cost(s, trip_count(s))
        if isinstance(work, L.Lit) and work.value <= MAX_THREAD_WORK:
            return
        if not self.placement.is_host(work) or names_in([work]) & self._bound_by_kernels():
            return
        place = self.spans.get(self.line)
        where = "" if place is None else f" ({place.file.rpartition('/')[2]}:{place.line})"
        message = "this loop runs on one thread of the device, and has too many iterations for that"
        fail: list[L.Stmt] = [L.Fail("NotImplementedError", message + where)]
        first = resolve(work, self.known)
        if self.out is self.plan.body and self._is_given(first):
            self.plan.body.insert(0, L.If(L.compare(">", first, L.lit(MAX_THREAD_WORK)), fail))
            return
        self.flush()
        self.emit(L.If(L.compare(">", work, L.lit(MAX_THREAD_WORK)), fail))

    def _is_given(self, e: L.Expr) -> bool:
        """True if an expression can be computed from the parameters, and cannot fail."""
        return (
            names_in([e]) <= self.given - self.placement.device
            and self.placement.is_host(e)
            and all(map(is_speculatable, L.walk_expr(e)))
        )

    def _bound_by_kernels(self) -> set[str]:
        return {n for s in L.walk(self.pending) for n in defs(s)}

    def results(self, s: L.Return) -> None:
        items: list[L.Expr | L.Subview] = []
        for r in s.results:
            if isinstance(r, L.Subview):
                assert not r.index, r
                items.append(r)
                self.plan.results.append(HostResult("array", self.symbols.buffers[r.buffer][0]))
            elif self.placement.is_host(r):
                items.append(r)
                self.plan.results.append(HostResult("host", r.dtype))
            else:
                if not isinstance(r, L.Name):
                    slot = self.symbols.new_scalar("result", r.dtype)
                    self.mentions[slot.name] = 2
                    self.defer(L.Let(slot.name, r))
                    r = slot
                self.plan.slots.add(r.name)
                items.append(r)
                self.plan.results.append(HostResult("slot", r.dtype))
        self.flush()
        self.emit(L.Return(tuple(items)))
