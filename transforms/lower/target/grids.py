"""Grids of a plan: a thread for each cell, or a block for each row."""

from __future__ import annotations

import copy

from ..analysis.cost_model import trip_count
from ..analysis.dependence import LoopReductions, explain_dependence, is_small
from ..analysis.liveness import Names
from ..loop_ir import nodes as L
from ..loops.parallelize import redirect_buffer
from .folds import Folds
from .fresh_buffers import with_fresh
from .kernel_writer import ATOMIC_DTYPES, KernelWriter
from .nests import Nest, as_nest
from .plan import Blocks, Launch
from .row_blocks import row_phases

# A loop with fewer iterations than this is not profitable as a launch.
MIN_GRID_TRIPS = 32
BLOCK = "BLOCK"

_IN_KERNELS = (
    L.Let, L.Store, L.Loop, L.If, L.Comment, L.While, L.Break, L.Fail, L.Alloc,
)  # fmt: skip


class Grids(Folds):
    """Launches of loop nests."""

    def after_loop(self, loop: L.Loop) -> Names:
        return self.after.get(id(loop), frozenset())

    def explain(self, loop: L.Loop, after: Names) -> LoopReductions | str:
        """The reductions of a loop.  Errors are no obstacle: the contents of written arguments are
        unspecified after one."""
        may_alias = with_fresh(self.may_alias, self.fresh)
        found = explain_dependence(loop, after, may_alias, set())
        if isinstance(found, LoopReductions):
            for buffer, (dtype, _) in found.array_reductions.items():
                if dtype not in ATOMIC_DTYPES:
                    return f"there is no atomic addition of {dtype} to {buffer}"
        return found

    def nest(self, loop: L.Loop) -> Nest | str:
        """A loop as a grid, or why it is none."""
        key = id(loop), self.fresh
        if key not in self.nests:
            self.nests[key] = self._nest(loop)
        return self.nests[key]

    def _nest(self, loop: L.Loop) -> Nest | str:
        count = trip_count(loop)
        if isinstance(count, L.Lit) and count.value < MIN_GRID_TRIPS and not _has_loops(loop):
            return "it has few iterations"
        if not all(map(is_in_kernel, L.walk(loop.body))):
            found = self.explain(loop, self.after_loop(loop))
            return found if isinstance(found, str) else "it allocates memory"
        return as_nest(loop, self.after_loop, self.explain)

    def is_launchable(self, nest: Nest) -> bool:
        """True if the number of cells and the sizes of private buffers are known on the host."""
        sizes = [e for a in nest.reductions.private_buffers.values() for e in a.sizes]
        bounds = [e for loop in nest.grid for e in L.exprs_of(loop)]
        return self.placement.are_host([*bounds, *sizes]) or not self.loops

    def with_host_bounds(self, loop: L.Loop) -> L.Loop:
        start, stop, step = (self.fetched(e) for e in (loop.start, loop.stop, loop.step))
        return L.Loop(loop.var, start, stop, step, [])

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
        arrays, first = self.block_lines(writer, prologue)
        lines = [
            *first,
            f"    {thread.name} = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x",
            *self.stores_of_one_thread(writer, thread.name, shared),
            *self.fold_starts(writer, folds, parts_of),
            *self.cell_loop(writer, loops, counts, cells, thread.name, stride),
            *writer.block(body, 2),
            *self.fold_ends(writer, folds, parts_of, thread.name, checked),
        ]
        self.finish(kernel, writer, arrays, lines)
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
        rows = self.row_writer(writer, dtypes, 2, "shared")
        ordered = [_with_names(phases[id(s)], parts_of) for s in nest.body if isinstance(s, L.Loop)]
        head = self.cell_loop(writer, loops, counts, count, "cuda.blockIdx.x", "cuda.gridDim.x")
        starts = self.fold_starts(writer, folds, parts_of)
        iteration = rows.iteration(body, ordered)
        arrays, first = self.block_lines(writer, prologue)
        if shared:
            first.append(f"    {thread} = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x")
            first += self.stores_of_one_thread(writer, thread, shared)
        ends: list[str] = []
        for part, parts in parts_of.values():
            if not ends:
                ends.append("    if cuda.threadIdx.x == 0:")
            ends.append(f"        {writer.buffer(parts)}[cuda.blockIdx.x] = {part}")
            kernel.written.add(parts)
        arrays += self.shared_arrays(dtypes, "shared")
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


def is_in_kernel(s: L.Stmt) -> bool:
    return isinstance(s, _IN_KERNELS)


def is_local(s: L.Alloc) -> bool:
    """True if a buffer can be a local array of a thread."""
    return is_small(s) and all(isinstance(size, L.Lit) for size in s.sizes)


def _has_loops(loop: L.Loop) -> bool:
    return any(isinstance(s, (L.Loop, L.While)) for s in L.walk(loop.body))


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
