"""Statements that one thread runs: collected until something depends on them.

They become one kernel of one thread.  A grid that needs only cheap scalars computes them itself.
"""

from __future__ import annotations

import copy
from collections import Counter

from ..analysis.liveness import defs, upward_exposed, uses
from ..loop_ir import nodes as L
from .host_copies import stores_of
from .host_side import HostSide
from .kernel_writer import KernelText, KernelWriter
from .nests import Nest
from .plan import Fetch, Launch
from .program import KernelKind
from .row_blocks import RowWriter


class Pending(HostSide):
    """The pending statements of a plan."""

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

    def flush_readers(self, names: set[str]) -> None:
        """Launch the pending statements if they read names that the host is about to change."""
        if any(names & (uses(q) | {*defs(q)}) for q in L.walk(self.pending)):
            self.flush()

    def flush(self) -> None:
        """Launch the pending statements: as one kernel of one thread, or of one block if they only
        combine the results of blocks."""
        line = self.pending_line
        body, _ = self.take_pending()
        if not body:
            return
        shared = self.shared_scalars(body)
        self.plan.slots |= shared
        is_block = any(id(s) in self.combined for s in body) and self.is_block_code(body)
        kernel = self.new_kernel("grid" if is_block else "thread", line)
        writer = KernelWriter(
            kernel, body, self.symbols, self.placement, self.plan.failures, shared
        )
        if is_block:
            head, lines = self.block_lines(writer, body)
            ends = [f"        {x}" for x in writer.exit_lines()]
            lines += ["    if cuda.threadIdx.x == 0:", *ends] if ends else []
            self.finish(kernel, writer, head, lines)
            self.emit(Launch(kernel, L.ONE, L.ONE, L.ONE))
        else:
            lines = writer.block(body, 1)
            self.finish(kernel, writer, [], [*lines, *(f"    {x}" for x in writer.exit_lines())])
            self.emit(Launch(kernel))

    def is_block_code(self, body: list[L.Stmt]) -> bool:
        """True if all threads of a block may execute statements: they assign scalars, and their
        loops combine the results of blocks."""
        return all(isinstance(s, (L.Let, L.Comment)) or id(s) in self.combined for s in body)

    def block_lines(self, writer: KernelWriter, body: list[L.Stmt]) -> tuple[list[str], list[str]]:
        """The lines of statements that all threads of a block execute, before its cells: the
        definitions of shared arrays, and the statements."""
        if not any(id(s) in self.combined for s in body):
            return [], writer.block(body, 1) if body else []
        dtypes: set[str] = set()
        rows = self.row_writer(writer, dtypes, 1, "whole")
        lines = rows.iteration(body, [self.combined[id(s)] for s in body if id(s) in self.combined])
        return self.shared_arrays(dtypes, "whole"), lines

    def row_writer(
        self, writer: KernelWriter, dtypes: set[str], depth: int, hint: str
    ) -> RowWriter:
        """A writer of loops that the threads of a block share; adds to `dtypes` those of the
        shared arrays that it needs."""

        def shared(dtype: str) -> str:
            dtypes.add(dtype)
            return self.local(f"{hint}_{dtype}").name

        return RowWriter(
            writer, lambda name, dtype: self.symbols.new_scalar(f"{name}_part", dtype).name,
            shared, lambda part, op, dtype: self.tree(shared(dtype), part, op), depth,
        )  # fmt: skip

    def shared_arrays(self, dtypes: set[str], hint: str) -> list[str]:
        return [
            f"    {self.local(f'{hint}_{dtype}').name} = cuda.shared.array(BLOCK, np.{dtype})"
            for dtype in sorted(dtypes)
        ]

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
        lines.  `head` precedes the loads of scalars.

        In a kernel that may set the flag and has barriers, all threads of a block test the value
        that one of them has read.
        """
        entry = [f"    {text}" for text in writer.entry.values()]
        test = ["    if err[0] != 0:", "        return"]
        has_barriers = any("cuda.syncthreads()" in line for line in lines)
        if has_barriers and any("cuda.atomic.cas(err" in line for line in lines):
            flag = self.local("flag").name
            test = [
                f"    {flag} = cuda.shared.array(1, np.int64)",
                "    if cuda.threadIdx.x == 0:",
                f"        {flag}[0] = err[0]",
                "    cuda.syncthreads()",
                f"    if {flag}[0] != 0:",
                "        return",
            ]
        kernel.lines = [*test, *head, *entry, *lines]
        self.plan.slots |= {arg[5:] for arg in kernel.args if arg.startswith("slot ")}

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


def _whole(nest: Nest) -> L.Stmt:
    """A nest as one loop."""
    body: list[L.Stmt] = nest.body
    for loop in reversed([*nest.grid, *nest.inside]):
        body = [L.Loop(loop.var, loop.start, loop.stop, loop.step, body)]
    return body[0]
