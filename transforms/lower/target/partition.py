"""Partition of a routine: which statements run on the host, in grids, and on one thread.

Statements that one thread runs are collected in `pending`, and become one kernel when something
else depends on them (`flush`).  A loop with independent iterations becomes a grid.  A loop that
contains such loops or matrix products runs on the host.  Any other loop that computes with device
values runs on one thread.

What is planned depends on where scalars live, and vice versa: `partition` repeats the plan until
the placement is stable.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

from ...ir.errors import UnsupportedError
from ...ir.nodes import Span
from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import loop_cost, trip_count
from ..analysis.dependence import LoopReductions, explain_dependence, is_small
from ..analysis.liveness import Names, defs, live_after_loops, names_in, upward_exposed, uses
from ..loop_ir import nodes as L
from ..loops.parallelize import redirect_buffer, rename_scalar
from ..ops.scalar_ops import minmax_select
from .kernel_writer import ATOMIC_DTYPES, KernelText, KernelWriter
from .nests import Nest, as_nest
from .place import Placement
from .plan import Blocks, Fetch, HostStmt, Launch, Plan
from .program import HostResult, KernelKind, LoopKind, Verdict
from .symbols import Symbols

# A loop with so few iterations is not worth a launch.
MIN_GRID_TRIPS = 32
# The maximal work of a loop on one thread, in additions: some tens of milliseconds.
MAX_THREAD_WORK = 1 << 20
BLOCK = "BLOCK"

_IN_KERNELS = (
    L.Let, L.Store, L.Loop, L.If, L.Comment, L.While, L.Break, L.Fail, L.Alloc,
)  # fmt: skip


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
    names, before = set(mentions), set[str]()
    while True:
        placement = Placement(set(before))
        body = copy.deepcopy(routine.body)
        planner = _Planner(
            routine.name, body, symbols.copy(), may_alias, spans, placement, Counter(mentions)
        )
        planner.block(body)
        planner.flush()
        if placement.device & names == before:
            return planner.plan
        before = placement.device & names


class _Planner:
    """Plans one routine, with the placement as known so far, which it extends."""

    def __init__(
        self,
        name: str,
        body: list[L.Stmt],
        symbols: Symbols,
        may_alias: MayAlias,
        spans: dict[str, Span],
        placement: Placement,
        mentions: Counter[str],
    ) -> None:
        self.name, self.symbols, self.spans = name, symbols, spans
        self.may_alias = with_bindings(body, may_alias)
        self.placement, self.mentions = placement, mentions
        self.after = live_after_loops(body)
        self.plan = Plan(symbols=symbols)
        self.out: list[Any] = self.plan.body
        self.pending: list[L.Stmt] = []
        self.line = ""  # the last comment
        self.host_line = self.pending_line = ""  # the last one written
        self.loops = 0  # the number of host loops around
        self.nests: dict[int, Nest | str] = {}
        self.locals: dict[str, L.Name] = {}
        # The loops that combine the results of blocks, by identity.
        self.combining: dict[int, L.Loop] = {}

    # ---- helpers

    def refuse(self, message: str, advice: str) -> UnsupportedError:
        return UnsupportedError(message, span=self.spans.get(self.line), advice=advice)

    def emit(self, stmt: HostStmt) -> None:
        """Append a statement of the host, after the comment that belongs to it."""
        if self.line != self.host_line and not isinstance(stmt, Launch):
            self.out.append(L.Comment(self.line))
            self.host_line = self.line
        self.out.append(stmt)

    def defer(self, stmt: L.Stmt) -> None:
        """Append a statement that one thread runs, after the comment that belongs to it."""
        if self.line != self.pending_line:
            self.pending.append(L.Comment(self.line))
            self.pending_line = self.line
        self.pending.append(stmt)
        for s in L.walk([stmt]):
            if isinstance(s, L.Let):
                self.placement.device.add(s.name)
            elif isinstance(s, L.Loop) and s.var in self.after.get(id(s), ()):
                self.placement.device.add(s.var)

    def nested(self, stmts: list[L.Stmt]) -> list[Any]:
        """The host statements of an inner block, as a block of a loop IR statement."""
        saved, self.out = self.out, []
        self.host_line = ""
        self.block(stmts)
        self.flush()
        self.host_line = ""
        out, self.out = self.out, saved
        return out

    def after_loop(self, loop: L.Loop) -> Names:
        return self.after.get(id(loop), frozenset())

    def explain(self, loop: L.Loop, after: Names) -> LoopReductions | str:
        """The reductions of a loop.  That an error may come halfway does not matter: the contents
        of written arguments are unspecified after one."""
        found = explain_dependence(loop, after, self.may_alias, set())
        if isinstance(found, LoopReductions):
            for buffer, (dtype, _) in found.array_reductions.items():
                if dtype not in ATOMIC_DTYPES:
                    return f"there is no atomic addition of {dtype} to {buffer}"
        return found

    def nest(self, loop: L.Loop) -> Nest | str:
        """A loop as a grid, or why it is none."""
        if id(loop) not in self.nests:
            self.nests[id(loop)] = self._nest(loop)
        return self.nests[id(loop)]

    def _nest(self, loop: L.Loop) -> Nest | str:
        count = trip_count(loop)
        if isinstance(count, L.Lit) and count.value < MIN_GRID_TRIPS and not _has_loops(loop):
            return "it has few iterations"
        if not all(map(_is_in_kernel, L.walk(loop.body))):
            found = self.explain(loop, self.after_loop(loop))
            return found if isinstance(found, str) else "it allocates memory"
        return as_nest(loop, self.after_loop, self.explain)

    def is_thread_code(self, stmts: list[L.Stmt]) -> bool:
        """True if statements may run in a kernel, on one thread."""
        inside = Counter[str]()
        for s in L.walk(stmts):
            inside.update(uses(s) | {*defs(s)})
        return all(
            _is_in_kernel(s)
            and (
                not isinstance(s, L.Alloc)
                or _is_local(s)
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

    # ---- host expressions

    def fetched(self, e: L.Expr) -> L.Expr:
        """An expression for the host.  One with device values is computed there and fetched."""
        if self.placement.is_host(e):
            return e
        if self.loops:
            raise self.refuse(
                "a loop whose control depends on values on the device cannot start kernels",
                "use sizes or integer arguments in conditions and bounds, "
                "or compute both cases and choose with np.where",
            )
        if not isinstance(e, L.Name):
            slot = self.symbols.new_scalar("value", e.dtype)
            self.mentions[slot.name] = 2
            self.defer(L.Let(slot.name, e))
            e = slot
        self.flush()
        name = self.symbols.new_scalar("fetched", e.dtype)
        self.plan.slots.add(e.name)
        self.emit(Fetch(name.name, e.name, e.dtype))
        self.plan.syncs += 1
        return name

    def part(self, a: L.Subview) -> L.Subview:
        return L.Subview(a.buffer, tuple(map(self.fetched, a.index)))

    # ---- statements

    def block(self, stmts: list[L.Stmt]) -> None:
        for s in stmts:
            self.stmt(s)

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
            self.emit(L.Alloc(s.name, s.dtype, sizes))
        elif isinstance(s, (L.View, L.Rebind)):
            self.flush()
            if isinstance(s, L.View):
                self.emit(L.View(s.name, s.buffer, tuple(map(self.fetched, s.sizes))))
            else:
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
        self.emit(L.While(self.nested(s.body)))
        self.loops -= 1

    def loop(self, s: L.Loop) -> None:
        nest = self.nest(s)
        if isinstance(nest, Nest) and self.is_launchable(nest):
            self.verdict("grid", "")
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
        body = self.nested(s.body)
        self.loops -= 1
        self.line = line
        self.emit(L.Loop(s.var, start, stop, step, body))

    def is_launchable(self, nest: Nest) -> bool:
        """True if the number of cells and the sizes of private buffers are known on the host."""
        sizes = [e for a in nest.reductions.private_buffers.values() for e in a.sizes]
        bounds = [e for loop in nest.grid for e in L.exprs_of(loop)]
        return self.placement.are_host([*bounds, *sizes]) or not self.loops

    def verdict(self, kind: LoopKind, why: str) -> None:
        self.plan.verdicts.append(Verdict(self.line, kind, why))

    def bound_work(self, s: L.Loop) -> None:
        """Test the work of a loop on one thread on the host, as far as it is known there."""
        work = loop_cost(s, trip_count(s))
        if isinstance(work, L.Lit) and work.value <= MAX_THREAD_WORK:
            return
        if not self.placement.is_host(work) or names_in([work]) & self._bound_by_kernels():
            return
        place = self.spans.get(self.line)
        where = "" if place is None else f" ({place.file.rpartition('/')[2]}:{place.line})"
        message = "this loop runs on one thread of the device, and has too many iterations for that"
        self.flush()
        self.emit(
            L.If(
                L.compare(">", work, L.lit(MAX_THREAD_WORK)),
                [L.Fail("NotImplementedError", message + where)],
            )
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

    # ---- one-thread kernels

    def flush_readers(self, names: set[str]) -> None:
        """Launch what is pending if it reads names that the host is about to change."""
        if any(names & (uses(q) | {*defs(q)}) for q in L.walk(self.pending)):
            self.flush()

    def flush(self) -> None:
        """Launch what is pending, as one kernel of one thread."""
        body, self.pending = self.pending, []
        line, self.pending_line = self.pending_line, ""
        if not body:
            return
        inside = Counter[str]()
        for s in L.walk(body):
            inside.update(uses(s) | {*defs(s)})
        exposed = upward_exposed(body)
        bound = {n for s in L.walk(body) for n in defs(s)}
        shared = {
            n for n in bound & self.placement.device if self.mentions[n] > inside[n] or n in exposed
        }
        self.plan.slots |= shared
        kernel = self.new_kernel("thread", line)
        writer = KernelWriter(
            kernel, body, self.symbols, self.placement, self.plan.failures, shared
        )
        lines = writer.block(body, 1)
        self.finish(kernel, writer, [], [*lines, *(f"    {x}" for x in writer.exit_lines())])
        self.emit(Launch(kernel))

    def take_pending(self) -> tuple[list[L.Stmt], str]:
        """What is pending, which is no more, and its first line."""
        body, self.pending = self.pending, []
        self.pending_line = ""
        return body, next((s.text for s in body if isinstance(s, L.Comment)), "")

    def shared_scalars(self, body: list[L.Stmt]) -> set[str]:
        """The device scalars that a region assigns and that are read elsewhere, or carried."""
        inside = Counter[str]()
        for s in L.walk(body):
            inside.update(uses(s) | {*defs(s)})
        exposed = upward_exposed(body)
        bound = {n for s in L.walk(body) for n in defs(s)}
        return {
            n for n in bound & self.placement.device if self.mentions[n] > inside[n] or n in exposed
        }

    def new_kernel(self, kind: KernelKind, line: str) -> KernelText:
        name = self.symbols.new_name(f"{self.name}_k{len(self.plan.kernels) + 1}")
        kernel = KernelText(name, kind, line)
        self.plan.kernels.append(kernel)
        return kernel

    def finish(
        self, kernel: KernelText, writer: KernelWriter, head: list[str], lines: list[str]
    ) -> None:
        """Complete a kernel: the test of the error flag, the device scalars that it reads, its own
        lines.  `head` precedes the loads of scalars."""
        entry = [f"    {text}" for text in writer.entry.values()]
        kernel.lines = ["    if err[0] != 0:", "        return", *head, *entry, *lines]
        self.plan.slots |= {arg[5:] for arg in kernel.args if arg.startswith("slot ")}

    # ---- grids

    def grid(self, nest: Nest) -> None:
        """Launch a nest as a grid."""
        loops = [self.with_host_bounds(loop) for loop in nest.grid]
        scratch = {
            name: tuple(L.clamp_to_zero(self.fetched(e)) for e in alloc.sizes)
            for name, alloc in nest.reductions.private_buffers.items()
        }
        folds = nest.reductions.scalar_reductions
        prologue = self.prologue_for(nest, folds)
        shared = self.shared_scalars(prologue)
        counts = [self.named(_count(loop, len(loops)), "count") for loop in loops]
        cells = self.named(L.product(tuple(counts)), "cells")
        body: list[L.Stmt] = copy.deepcopy(nest.body)
        for loop in reversed(nest.inside):
            body = [L.Loop(loop.var, loop.start, loop.stop, loop.step, body)]
        checked = any(isinstance(s, L.Fail) for s in L.walk(body))
        blocks: L.Expr | None = None
        if folds or scratch:
            blocks = self.symbols.new_scalar("blocks")
            self.emit(Blocks(blocks.name, cells))
        kernel = self.new_kernel("grid", self.line)
        thread = self.local("thread")
        threads: L.Expr | None = None
        if blocks is not None and (scratch or checked):
            threads = L.Bin("*", blocks, L.Name(BLOCK), "int64")
        for name, sizes in scratch.items():
            alloc = nest.reductions.private_buffers[name]
            assert threads is not None
            parts = self.symbols.new_buffer(f"{name}_parts", alloc.dtype, len(sizes) + 1)
            self.emit(L.Alloc(parts, alloc.dtype, (threads, *sizes)))
            redirect_buffer(body, name, parts, thread)
        parts_of = self.fold_parts(folds, body, threads if checked else blocks)
        region = [*_frame(loops, thread.name, parts_of), *prologue, *body]
        writer = KernelWriter(
            kernel, region, self.symbols, self.placement, self.plan.failures, (),
            nest.reductions.array_reductions,
        )  # fmt: skip
        lines = [
            *(writer.block(prologue, 1) if prologue else []),
            f"    {thread.name} = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x",
            *self.stores_of_one_thread(writer, thread.name, shared),
            *self.fold_starts(writer, folds, parts_of),
            *self.cell_loop(writer, loops, counts, cells, thread.name, body),
            *self.fold_ends(writer, folds, parts_of, thread.name, checked),
        ]
        self.finish(kernel, writer, [], lines)
        self.comment()
        self.emit(Launch(kernel, blocks, cells))
        self.combine(folds, parts_of, threads if checked else blocks)

    def stores_of_one_thread(
        self, writer: KernelWriter, thread: str, shared: set[str]
    ) -> list[str]:
        """The lines that store the scalars of a prologue."""
        if not shared:
            return []
        stores = (f"        {line}" for line in writer.slot_stores(sorted(shared)))
        return [f"    if {thread} == 0:", *stores]

    def local(self, hint: str) -> L.Name:
        """A name for a variable of kernels: the same in all of them."""
        if hint not in self.locals:
            self.locals[hint] = self.symbols.new_scalar(hint)
        return self.locals[hint]

    def comment(self) -> None:
        if self.line != self.host_line:
            self.out.append(L.Comment(self.line))
            self.host_line = self.line

    def with_host_bounds(self, loop: L.Loop) -> L.Loop:
        start, stop, step = (self.fetched(e) for e in (loop.start, loop.stop, loop.step))
        return L.Loop(loop.var, start, stop, step, [])

    def named(self, e: L.Expr, hint: str) -> L.Expr:
        """A host expression as a name, a size or a literal."""
        if L.is_simple(e):
            return e
        name = self.symbols.new_scalar(hint)
        self.emit(L.Let(name.name, e))
        return name

    def prologue_for(self, nest: Nest, folds: dict[str, tuple[str, str]]) -> list[L.Stmt]:
        """Decide on what is pending before a grid; return what each thread of the grid computes
        first.

        Statements that the grid does not depend on remain pending.  Scalars that are cheap to
        compute are computed by each thread, and stored by one.  Everything else is launched.
        """
        mine = list(L.walk([_whole(nest)]))
        theirs = list(L.walk(self.pending))
        assigned = {n for s in theirs for n in defs(s)}
        sums = {n for n, (op, _) in folds.items() if op == "+"}
        reads = {n for s in mine for n in uses(s)} - sums
        conflict = self._memory_conflict(mine, theirs)
        if not any(isinstance(s, L.Fail) for s in theirs) and not assigned & reads and not conflict:
            return []
        later = [] if conflict else self._starts_of(sums)
        first = [s for s in self.pending if all(s is not q for q in later)]
        rest = {n for s in L.walk(first) for n in defs(s)}
        if conflict or not self._is_cheap(first) or rest & sums:
            self.flush()
            return []
        self.take_pending()
        for s in later:
            self.defer(s)
        return first

    def _starts_of(self, sums: set[str]) -> list[L.Stmt]:
        """The pending assignments to sums that may as well run after the grid, which does not read
        them."""
        found: list[L.Stmt] = []
        for position, s in enumerate(self.pending):
            others = [q for q in self.pending if q is not s]
            mentioned = {n for q in L.walk(others) for n in uses(q) | {*defs(q)}}
            changed = {n for q in L.walk(self.pending[position:]) for n in defs(q)}
            if isinstance(s, L.Let) and s.name in sums - mentioned and not uses(s) & changed:
                found.append(s)
        return found

    def _is_cheap(self, body: list[L.Stmt]) -> bool:
        """True if each thread of a grid may run statements: they assign scalars that they do not
        read first, and their loops only combine the results of blocks."""
        stmts = list(L.walk(body))
        return (
            all(isinstance(s, (L.Let, L.Comment, L.Loop)) for s in stmts)
            and all(id(s) in self.combining for s in stmts if isinstance(s, L.Loop))
            and not upward_exposed(body) & {n for s in stmts for n in defs(s)}
        )

    def _memory_conflict(self, mine: list[L.Stmt], theirs: list[L.Stmt]) -> bool:
        """True if two groups of statements may access the same memory, and one writes it."""
        touched = {n for s in mine for n in uses(s)}
        written = {s.buffer for s in mine if isinstance(s, L.Store)}
        stored = {s.buffer for s in theirs if isinstance(s, L.Store)}
        buffers = {b for b in touched if b in self.symbols.buffers}
        others = {n for s in theirs for n in uses(s) if n in self.symbols.buffers}
        return any(
            a == b or self.may_alias(a, b)
            for first, second in ((written, others), (buffers, stored))
            for a in first
            for b in second
        )

    def cell_loop(
        self,
        writer: KernelWriter,
        loops: list[L.Loop],
        counts: list[L.Expr],
        cells: L.Expr,
        thread: str,
        body: list[L.Stmt],
    ) -> list[str]:
        """The loop of a thread over its cells."""
        stride = "cuda.blockDim.x * cuda.gridDim.x"
        first = loops[0]
        plain = len(loops) == 1 and L.is_lit(first.start, 0) and L.is_lit(first.step, 1)
        cell = first.var if plain else self.local("cell").name
        writer.bound.add(cell)
        lines = [f"    for {cell} in range({thread}, {writer.text(cells)}, {stride}):"]
        if not plain:
            rest: L.Expr = L.Name(cell)
            for k, loop in enumerate(loops):
                later = L.product(tuple(counts[k + 1 :]))
                here = rest if k == 0 else L.Bin("%", rest, L.mul(counts[k], later), "int64")
                if len(counts) > k + 1:
                    here = L.Bin("//", here, later, "int64")
                index = L.add(loop.start, L.mul(here, loop.step))
                lines.append(f"        {loop.var} = {writer.text(index)}")
        return [*lines, *writer.block(body, 2)]

    # ---- folds

    def fold_parts(
        self, folds: dict[str, tuple[str, str]], body: list[L.Stmt], count: L.Expr | None
    ) -> dict[str, tuple[str, str]]:
        """For each fold: the scalar of a thread, and the array of partial results."""
        found: dict[str, tuple[str, str]] = {}
        for name, (_, dtype) in folds.items():
            self.placement.device.add(name)
            part = self.symbols.new_scalar(f"{name}_part", dtype).name
            parts = self.symbols.new_buffer(f"{name}_parts", dtype, 1)
            rename_scalar(body, name, part)
            assert count is not None
            self.emit(L.Alloc(parts, dtype, (count,)))
            found[name] = part, parts
        return found

    def fold_starts(
        self,
        writer: KernelWriter,
        folds: dict[str, tuple[str, str]],
        parts_of: dict[str, tuple[str, str]],
    ) -> list[str]:
        return [
            f"    {part} = " + writer.typed(L.Lit(0, dtype) if op == "+" else L.Name(name, dtype))
            for name, (op, dtype) in folds.items()
            for part, _ in [parts_of[name]]
        ]

    def fold_ends(
        self,
        writer: KernelWriter,
        folds: dict[str, tuple[str, str]],
        parts_of: dict[str, tuple[str, str]],
        thread: str,
        checked: bool,
    ) -> list[str]:
        """The lines that reduce the results of the threads of a block.

        A thread that fails leaves the kernel, so there are no barriers in a kernel with checks: it
        stores one result for each thread.
        """
        lines: list[str] = []
        width, value = self.local("width").name, self.local("other").name
        for number, (name, (op, dtype)) in enumerate(folds.items()):
            part, parts = parts_of[name]
            writer.buffer(parts)
            if checked:
                lines.append(f"{parts}[{thread}] = {part}")
                continue
            shared = self.local(f"shared{number or ''}").name
            mine, other = f"{shared}[cuda.threadIdx.x]", f"{shared}[cuda.threadIdx.x + {width}]"
            lines += [
                f"{shared} = cuda.shared.array(BLOCK, np.{dtype})",
                f"{mine} = {part}",
                "cuda.syncthreads()",
                f"{width} = BLOCK // 2",
                f"while {width} > 0:",
                f"    if cuda.threadIdx.x < {width}:",
            ]
            if op == "+":
                lines.append(f"        {mine} = {mine} + {other}")
            else:
                lines += [
                    f"        {value} = {other}",
                    f"        if {value} {op} {mine} or {value} != {value}:",
                    f"            {mine} = {value}",
                ]
            lines += [
                "    cuda.syncthreads()",
                f"    {width} = {width} // 2",
                "if cuda.threadIdx.x == 0:",
                f"    {parts}[cuda.blockIdx.x] = {shared}[0]",
            ]
        return [f"    {line}" for line in lines]

    def combine(
        self,
        folds: dict[str, tuple[str, str]],
        parts_of: dict[str, tuple[str, str]],
        count: L.Expr | None,
    ) -> None:
        """Let one thread combine the partial results, in order."""
        for name, (op, dtype) in folds.items():
            _, parts = parts_of[name]
            assert count is not None
            k = self.symbols.new_scalar("k")
            part = self.symbols.new_scalar("part", dtype)
            whole = L.Name(name, dtype)
            both = L.Bin("+", whole, part, dtype) if op == "+" else minmax_select(op, part, whole)
            load = L.Let(part.name, L.Load(parts, (k,), dtype))
            first = L.ZERO
            if op != "+":  # each partial result includes the value before
                self.defer(L.Let(name, L.Load(parts, (L.ZERO,), dtype)))
                first = L.ONE
            loop = L.Loop(k.name, first, self.named(count, "threads"), L.ONE, [load])
            loop.body.append(L.Let(name, both))
            self.combining[id(loop)] = loop
            self.defer(loop)


def _is_in_kernel(s: L.Stmt) -> bool:
    return isinstance(s, _IN_KERNELS)


def _is_local(s: L.Alloc) -> bool:
    """True if a buffer can be a local array of a thread."""
    return is_small(s) and all(isinstance(size, L.Lit) for size in s.sizes)


def _has_loops(loop: L.Loop) -> bool:
    return any(isinstance(s, (L.Loop, L.While)) for s in L.walk(loop.body))


def _whole(nest: Nest) -> L.Stmt:
    """A nest as one loop."""
    body: list[L.Stmt] = nest.body
    for loop in reversed([*nest.grid, *nest.inside]):
        body = [L.Loop(loop.var, loop.start, loop.stop, loop.step, body)]
    return body[0]


def _count(loop: L.Loop, levels: int) -> L.Expr:
    """The number of iterations of a dimension of a grid.

    With several dimensions it must not be negative, since the product of two would be positive.
    """
    count = trip_count(loop)
    return count if levels == 1 else L.clamp_to_zero(count)


def _frame(loops: list[L.Loop], thread: str, parts_of: dict[str, tuple[str, str]]) -> list[L.Stmt]:
    """Statements that define the names that the frame of a grid defines."""
    names = [thread, *(loop.var for loop in loops), *(part for part, _ in parts_of.values())]
    return [L.Let(name, L.ZERO) for name in names]
