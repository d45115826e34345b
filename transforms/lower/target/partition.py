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
from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import loop_cost, trip_count
from ..analysis.dependence import LoopReductions, explain_dependence, is_small
from ..analysis.liveness import Names, defs, live_after_loops, names_in, upward_exposed, uses
from ..loop_ir import nodes as L
from ..loops.parallelize import redirect_buffer, rename_scalar
from ..ops.scalar_ops import minmax_select
from .batches import batched_product, single_allocations
from .host_copies import candidates, stores_of
from .kernel_writer import ATOMIC_DTYPES, KernelText, KernelWriter
from .nests import Nest, as_nest
from .place import Placement
from .plan import Blocks, Fetch, HostArray, HostStmt, Launch, Plan, walk
from .program import HostResult, KernelKind, LoopKind, Verdict
from .row_blocks import RowWriter, row_phases
from .symbols import Symbols

# A loop with fewer iterations than this is not profitable as a launch.
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
    names, device = set(mentions), set[str]()
    groups = candidates(routine.body, routine.params, symbols)
    copies, is_pruned = set(groups), False
    while True:
        placement = Placement(set(device), set(copies))
        body = copy.deepcopy(routine.body)
        planner = _Planner(
            routine.name, body, symbols.copy(), may_alias, spans, placement, Counter(mentions)
        )
        lost = planner.run(body)
        kept = copies - {n for name in lost for n in groups[name]}
        if kept == copies and not is_pruned and placement.device & names == device:
            kept = {n for name in planner.needed_copies() for n in groups[name]}
            is_pruned = True
        if kept == copies and placement.device & names == device:
            return planner.finished()
        copies, device = kept, placement.device & names


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
        self.sizes = single_allocations(body)
        self.plan = Plan(symbols=symbols)
        self.out: list[Any] = self.plan.body
        self.pending: list[L.Stmt] = []
        self.line = ""  # the last comment
        self.host_line = self.pending_line = ""  # the last comment that was emitted
        self.loops = 0  # the number of host loops around
        self.error: UnsupportedError | None = None
        # Buffers that cannot have host copies after all; those whose copies are read; the stores to
        # copies, with the copies that they read.
        self.lost: set[str] = set()
        self.read_copies: set[str] = set()
        self.copied: list[tuple[str, set[str]]] = []
        self.host_names: dict[str, str] = {}
        self.nests: dict[int, Nest | str] = {}
        self.locals: dict[str, L.Name] = {}
        # The statements that combine the results of blocks, by identity.
        self.combining: dict[int, L.Stmt] = {}

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

    def needed_copies(self) -> set[str]:
        """The buffers whose copies the host reads for anything but stores to other copies that it
        does not read."""
        needed = set(self.read_copies)
        while True:
            more = {b for name, read in self.copied if name in needed for b in read} - needed
            if not more:
                return needed
            needed |= more

    # ---- host copies of buffers

    def copy_stores(self, stmt: L.Stmt) -> None:
        """Let the host execute the stores of a statement to buffers that it has copies of."""
        copies = self.placement.copies
        stored = {s.buffer for s in L.walk([stmt]) if isinstance(s, L.Store)} & copies
        if not stored:
            return
        part = stores_of(stmt, copies)
        if part is None or not all(self.placement.are_host(L.exprs_of(s)) for s in L.walk(part)):
            self.lost |= stored
            return
        read = {p.buffer for s in L.walk(part) for p in L.subexprs_read(s) if isinstance(p, L.Load)}
        self.copied += [(name, read) for name in sorted(stored)]
        for s in copy.deepcopy(part):
            self.flush_readers({n for q in L.walk([s]) for n in defs(q)})
            self.emit(s, is_copy=True)

    def host_name(self, buffer: str) -> str:
        """The name of the host's copy of a buffer."""
        if buffer not in self.host_names:
            self.host_names[buffer] = self.symbols.new_name(f"{buffer}_host")
        return self.host_names[buffer]

    def use_copies(self, stmts: list[Any], is_copy: bool = False) -> None:
        """Let statements of the host access its copies of buffers."""
        copies = self.placement.copies

        def renamed(e: L.Expr) -> L.Expr | None:
            if not isinstance(e, L.Load) or e.buffer not in copies:
                return None
            if not is_copy:
                self.read_copies.add(e.buffer)
            index = tuple(L.map_expr(i, renamed) for i in e.index)
            return L.Load(self.host_name(e.buffer), index, e.dtype)

        L.map_stmts(stmts, renamed)
        for s in walk(stmts):
            if isinstance(s, L.Store) and s.buffer in copies:
                s.buffer = self.host_name(s.buffer)

    def copy_array(self, name: str, sizes: tuple[L.Expr, ...], other: str = "") -> None:
        """Make the host's copy of a buffer, if it has one."""
        if name in self.placement.copies:
            source = self.host_name(other) if other else ""
            size = L.Alloc("", "int64", sizes)
            self.use_copies([size])
            self.out.append(HostArray(self.host_name(name), size.sizes, source))

    # ---- helpers

    def refuse(self, message: str, advice: str) -> UnsupportedError:
        return UnsupportedError(message, span=self.spans.get(self.line), advice=advice)

    def emit(self, stmt: HostStmt, is_copy: bool = False) -> None:
        """Append a statement of the host, after the comment that belongs to it."""
        if self.line != self.host_line and not isinstance(stmt, Launch):
            self.out.append(L.Comment(self.line))
            self.host_line = self.line
        if self.placement.copies:
            self.use_copies([stmt], is_copy)
        self.out.append(stmt)

    def defer(self, stmt: L.Stmt) -> None:
        """Append a statement that one thread runs, after the comment that belongs to it."""
        self.copy_stores(stmt)
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
        """The reductions of a loop.  Errors are no obstacle: the contents of written arguments are
        unspecified after one."""
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
        """Launch the pending statements if they read names that the host is about to change."""
        if any(names & (uses(q) | {*defs(q)}) for q in L.walk(self.pending)):
            self.flush()

    def flush(self) -> None:
        """Launch the pending statements, as one kernel of one thread."""
        body, self.pending = self.pending, []
        line, self.pending_line = self.pending_line, ""
        if not body:
            return
        inside = Counter[str]()
        for s in L.walk(body):
            if id(s) not in self.combining:
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
        """Clear the pending statements; return them with their first line."""
        body, self.pending = self.pending, []
        self.pending_line = ""
        return body, next((s.text for s in body if isinstance(s, L.Comment)), "")

    def shared_scalars(self, body: list[L.Stmt]) -> set[str]:
        """The device scalars that a region assigns and that are read elsewhere, or carried."""
        inside = Counter[str]()
        for s in L.walk(body):
            if id(s) not in self.combining:
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
        counts = [self.named(_count(loop, len(loops)), "count") for loop in loops]
        cells = self.named(L.product(tuple(counts)), "cells")
        phases = row_phases(nest, self.after_loop, self.explain)
        if phases is not None:
            self.rows(loops, counts, cells, nest, scratch, prologue, phases)
            return
        shared = self.shared_scalars(prologue)
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
        stride = "cuda.blockDim.x * cuda.gridDim.x"
        lines = [
            *(writer.block(prologue, 1) if prologue else []),
            f"    {thread.name} = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x",
            *self.stores_of_one_thread(writer, thread.name, shared),
            *self.fold_starts(writer, folds, parts_of),
            *self.cell_loop(writer, loops, counts, cells, thread.name, stride),
            *writer.block(body, 2),
            *self.fold_ends(writer, folds, parts_of, thread.name, checked),
        ]
        self.finish(kernel, writer, [], lines)
        self.comment()
        self.emit(Launch(kernel, blocks, cells))
        self.combine(folds, parts_of, threads if checked else blocks)

    def rows(
        self,
        loops: list[L.Loop],
        counts: list[L.Expr],
        count: L.Expr,
        nest: Nest,
        scratch: dict[str, tuple[L.Expr, ...]],
        prologue: list[L.Stmt],
        phases: dict[int, LoopReductions],
    ) -> None:
        """Launch a row loop with a block for each of `count` rows; `loops` have its bounds."""
        folds = nest.reductions.scalar_reductions
        blocks: L.Expr | None = None
        if folds or scratch:
            blocks = self.symbols.new_scalar("blocks")
            self.emit(Blocks(blocks.name, count, L.ONE))
        kernel = self.new_kernel("grid", self.line)
        body = copy.deepcopy(nest.body)
        for name, sizes in scratch.items():
            assert blocks is not None
            alloc = nest.reductions.private_buffers[name]
            parts = self.symbols.new_buffer(f"{name}_parts", alloc.dtype, len(sizes) + 1)
            self.emit(L.Alloc(parts, alloc.dtype, (blocks, *sizes)))
            redirect_buffer(body, name, parts, L.Name("cuda.blockIdx.x"))
        parts_of = self.fold_parts(folds, body, blocks)
        thread = self.local("thread").name
        shared = self.shared_scalars(prologue)
        region = [*_frame(loops, thread, parts_of), *prologue, *body]
        writer = KernelWriter(
            kernel, region, self.symbols, self.placement, self.plan.failures, (),
            nest.reductions.array_reductions,
        )  # fmt: skip
        writer.bound.add("cuda.blockIdx.x")
        dtypes: set[str] = set()

        def shared_name(dtype: str) -> str:
            dtypes.add(dtype)
            return self.local(f"shared_{dtype}").name

        rows = RowWriter(
            writer, lambda name, dtype: self.symbols.new_scalar(f"{name}_part", dtype).name,
            shared_name, lambda part, op, dtype: self.tree(shared_name(dtype), part, op),
        )  # fmt: skip
        ordered = [_with_names(phases[id(s)], parts_of) for s in nest.body if isinstance(s, L.Loop)]
        head = self.cell_loop(writer, loops, counts, count, "cuda.blockIdx.x", "cuda.gridDim.x")
        starts = self.fold_starts(writer, folds, parts_of)
        iteration = rows.iteration(body, ordered)
        first = writer.block(prologue, 1) if prologue else []
        if shared:
            first.append(f"    {thread} = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x")
            first += self.stores_of_one_thread(writer, thread, shared)
        ends: list[str] = []
        for part, parts in parts_of.values():
            if not ends:
                ends.append("    if cuda.threadIdx.x == 0:")
            ends.append(f"        {writer.buffer(parts)}[cuda.blockIdx.x] = {part}")
        arrays = [
            f"    {shared_name(dtype)} = cuda.shared.array(BLOCK, np.{dtype})"
            for dtype in sorted(dtypes)
        ]
        self.finish(kernel, writer, arrays, [*first, *starts, *head, *iteration, *ends])
        self.comment()
        self.emit(Launch(kernel, blocks, count, L.ONE))
        self.combine(folds, parts_of, blocks)

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
        """Divide the pending statements before a grid; return those that each thread of the grid
        executes first.

        Statements that the grid does not depend on remain pending.  Cheap scalars are computed by
        each thread, and stored by one.  All other statements are launched.
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
        """The pending assignments to sums that may be moved after the grid, which does not read
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
        begin: str,
        stride: str,
    ) -> list[str]:
        """The head of the loop of a thread, or a block, over its cells."""
        first = loops[0]
        plain = len(loops) == 1 and L.is_lit(first.start, 0) and L.is_lit(first.step, 1)
        cell = first.var if plain else self.local("cell").name
        writer.bound.add(cell)
        lines = [f"    for {cell} in range({begin}, {writer.text(cells)}, {stride}):"]
        if not plain:
            rest: L.Expr = L.Name(cell)
            for k, loop in enumerate(loops):
                later = L.product(tuple(counts[k + 1 :]))
                here = rest if k == 0 else L.Bin("%", rest, L.mul(counts[k], later), "int64")
                if len(counts) > k + 1:
                    here = L.Bin("//", here, later, "int64")
                index = L.add(loop.start, L.mul(here, loop.step))
                lines.append(f"        {loop.var} = {writer.text(index)}")
        return lines

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
            # The grid does not mention the scalar itself.
            self.mentions[name] -= sum(name in uses(s) | {*defs(s)} for s in L.walk(body))
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
        for number, (name, (op, dtype)) in enumerate(folds.items()):
            part, parts = parts_of[name]
            writer.buffer(parts)
            if checked:
                lines.append(f"{parts}[{thread}] = {part}")
                continue
            shared = self.local(f"shared{number or ''}").name
            lines += [f"{shared} = cuda.shared.array(BLOCK, np.{dtype})"]
            lines += [line[4:] for line in self.tree(shared, part, op)]
            lines += [
                "if cuda.threadIdx.x == 0:",
                f"    {parts}[cuda.blockIdx.x] = {shared}[0]",
            ]
        return [f"    {line}" for line in lines]

    def tree(self, shared: str, part: str, op: str) -> list[str]:
        """The lines that reduce a value of each thread of a block into element 0 of an array."""
        width, value = self.local("width").name, self.local("other").name
        mine, other = f"{shared}[cuda.threadIdx.x]", f"{shared}[cuda.threadIdx.x + {width}]"
        if op == "+":
            step = [f"{mine} = {mine} + {other}"]
        else:
            step = [
                f"{value} = {other}",
                f"if {value} {op} {mine} or {value} != {value}:",
                f"    {mine} = {value}",
            ]
        lines = [
            f"{mine} = {part}",
            "cuda.syncthreads()",
            f"{width} = BLOCK // 2",
            f"while {width} > 0:",
            f"    if cuda.threadIdx.x < {width}:",
            *(f"        {line}" for line in step),
            "    cuda.syncthreads()",
            f"    {width} = {width} // 2",
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
                start = L.Let(name, L.Load(parts, (L.ZERO,), dtype))
                self.combining[id(start)] = start
                self.defer(start)
                first = L.ONE
            loop = L.Loop(k.name, first, self.named(count, "threads"), L.ONE, [load])
            loop.body.append(L.Let(name, both))
            self.combining |= {id(q): q for q in L.walk([loop])}
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


def _with_names(r: LoopReductions, parts_of: dict[str, tuple[str, str]]) -> LoopReductions:
    """The reductions of a loop whose folds over rows have the names of their parts."""
    folds = {
        parts_of[name][0] if name in parts_of else name: fold
        for name, fold in r.scalar_reductions.items()
    }
    return LoopReductions(folds, r.array_reductions, r.private_buffers)


def _frame(loops: list[L.Loop], thread: str, parts_of: dict[str, tuple[str, str]]) -> list[L.Stmt]:
    """Statements that define the names which the code around the body of a grid defines."""
    names = [thread, *(loop.var for loop in loops), *(part for part, _ in parts_of.values())]
    return [L.Let(name, L.ZERO) for name in names]
