"""Row loops with a block of threads for each row.

    for i in range(n):                          one block runs iteration i:
        s = 0.0                                     all threads compute s = 0.0
        for j in range(m):                          each thread adds some of the elements
            s = s + x[i, j]                         a tree in shared memory adds the threads up
        for j in range(m):                          barrier
            y[i, j] = x[i, j] / s                   each thread writes some of the elements

The statements of an iteration are phases: a loop with independent iterations, which the threads
share; an assignment of a scalar or a check, which all threads execute; a store, which one thread
executes.  There is a barrier after each phase that writes memory.  All threads find the same value
of a condition, so if a check fails all of them leave the kernel before the next barrier.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from ..analysis.alias import MayAlias
from ..analysis.cost_model import trip_count
from ..analysis.dependence import LoopReductions
from ..analysis.liveness import Names
from ..loop_ir import nodes as L
from ..loops.parallelize import rename_scalar
from .kernel_writer import KernelWriter
from .nests import Explain, Nest, as_nest, explain_in_any_order

# A loop with fewer iterations than this runs on one thread.
MIN_SHARED_TRIPS = 8


def row_phases(
    nest: Nest, after: Callable[[L.Loop], Names], explain: Explain
) -> dict[int, LoopReductions] | None:
    """The reductions of the loops in a row loop, by identity, if a block can run an iteration;
    otherwise None."""
    if nest.inside:
        return None
    phases: dict[int, LoopReductions] = {}
    for s in nest.body:
        if isinstance(s, L.Loop):
            found = explain(s, after(s))
            if isinstance(found, str) or found.private_buffers:
                return None
            if not found.array_reductions.keys() <= nest.reductions.array_reductions.keys():
                return None
            phases[id(s)] = found
        elif isinstance(s, L.Alloc):
            if s.name not in nest.reductions.private_buffers:
                return None
        elif not isinstance(s, (L.Let, L.Store, L.Comment)) and not L.is_check(s):
            return None
    if any(isinstance(q, L.Fail) for s in nest.body if not L.is_check(s) for q in L.walk([s])):
        return None
    return phases if any(_is_long(s) for s in nest.body) else None


def keeps_parallelism(may_alias: MayAlias) -> Callable[[L.Loop, L.Loop, L.Loop], bool]:
    """The condition under which two loops may be fused: the fused nest is a grid with as many
    dimensions as each of them, or with one less, along which a block shares the work; and threads
    do not add to more buffers together.

    A nest over the elements of a matrix would become a loop over its rows otherwise.
    """

    explain = explain_in_any_order(may_alias)

    def after(loop: L.Loop) -> Names:
        return frozenset()

    def accepts(first: L.Loop, second: L.Loop, fused: L.Loop) -> bool:
        a, b, both = (as_nest(x, after, explain) for x in (first, second, fused))
        if isinstance(a, str) or isinstance(b, str):
            return isinstance(a, str) and isinstance(b, str)
        if isinstance(both, str):
            return False
        lost = max(len(a.grid), len(b.grid)) - len(both.grid)
        if lost > 1 or (lost == 1 and row_phases(both, after, explain) is None):
            return False
        sums = {*a.reductions.array_reductions, *b.reductions.array_reductions}
        return both.reductions.array_reductions.keys() <= sums

    return accepts


def _is_long(s: L.Stmt) -> bool:
    if not isinstance(s, L.Loop):
        return False
    count = trip_count(s)
    return not isinstance(count, L.Lit) or count.value >= MIN_SHARED_TRIPS


class RowWriter:
    """Writes statements whose loops the threads of a block share, as of an iteration of a row loop.

    `tree(part, op, dtype)` gives the lines that reduce a value of each thread into element 0 of the
    array `shared(dtype)`; `part_name` names the value of a thread.
    """

    def __init__(
        self,
        writer: KernelWriter,
        part_name: Callable[[str, str], str],
        shared: Callable[[str], str],
        tree: Callable[[str, str, str], list[str]],
        depth: int,
    ) -> None:
        self.writer, self.part_name, self.shared, self.tree = writer, part_name, shared, tree
        self.depth, self.pad = depth, "    " * depth
        self.lines: list[str] = []
        self.has_loads = False  # since the last barrier

    def barrier(self) -> None:
        barrier = f"{self.pad}cuda.syncthreads()"
        if self.lines and self.lines[-1] != barrier:
            self.lines.append(barrier)
        self.has_loads = False

    def iteration(self, body: list[L.Stmt], phases: list[LoopReductions]) -> list[str]:
        """The lines of an iteration.  `phases` are the reductions of the loops of `body`."""
        remaining = iter(phases)
        for s in body:
            writes = any(isinstance(q, L.Store) for q in L.walk([s]))
            if writes and self.has_loads:
                self.barrier()  # no thread may overwrite a value that another one has yet to load
            if isinstance(s, L.Loop):
                self._shared_loop(s, next(remaining))
            elif isinstance(s, L.Store):
                self.lines += [
                    f"{self.pad}if cuda.threadIdx.x == 0:",
                    *self.writer.block([s], self.depth + 1),
                ]
            elif not isinstance(s, L.Comment) or s.text:
                lines = self.writer.block([s], self.depth)
                self.lines += lines[:1] if isinstance(s, L.Comment) else lines
            if writes:
                self.barrier()
            else:
                self.has_loads |= any(
                    isinstance(p, L.Load) for q in L.walk([s]) for p in L.subexprs_read(q)
                )
        self.barrier()
        return self.lines

    def _shared_loop(self, loop: L.Loop, reductions: LoopReductions) -> None:
        """A loop whose iterations the threads of a block share."""
        parts: dict[str, str] = {}
        for name, (op, dtype) in reductions.scalar_reductions.items():
            parts[name] = self.part_name(name, dtype)
            self.writer.bound.add(parts[name])
            start = self.writer.typed(L.Lit(0, dtype) if op == "+" else L.Name(name, dtype))
            self.lines.append(f"{self.pad}{parts[name]} = {start}")
        body = copy.deepcopy(loop.body)
        for name, part in parts.items():
            rename_scalar(body, name, part)
        first = L.add(loop.start, L.mul(L.Name("cuda.threadIdx.x"), loop.step))
        stride = L.mul(L.Name("cuda.blockDim.x"), loop.step)
        self.writer.bound |= {"cuda.threadIdx.x", "cuda.blockDim.x"}
        self.lines += self.writer.block(
            [L.Loop(loop.var, first, loop.stop, stride, body)], self.depth
        )
        for name, (op, dtype) in reductions.scalar_reductions.items():
            self.lines += [self.pad + line for line in self.tree(parts[name], op, dtype)]
            result = f"{self.shared(dtype)}[0]"
            whole = f"{name} + {result}" if op == "+" else result
            self.lines.append(f"{self.pad}{name} = {whole}")
            self.barrier()
