"""Sums and extrema of the cells of a grid: a tree in each block, then one over the blocks."""

from __future__ import annotations

from ..analysis.dependence import LoopReductions
from ..analysis.liveness import defs, uses
from ..loop_ir import nodes as L
from ..loops.parallelize import rename_scalar
from ..ops.scalar_ops import minmax_select
from .kernel_writer import KernelWriter
from .pending import Pending


class Folds(Pending):
    """The reductions of the grids of a plan.  `folds` map scalars to operator and dtype."""

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
            writer.kernel.written.add(parts)
            if checked:
                lines.append(f"{parts}[{thread}] = {part}")
                continue
            shared = self.local(f"shared{number or ''}").name
            lines += [f"{shared} = cuda.shared.array(BLOCK, np.{dtype})"]
            lines += self.tree(shared, part, op)
            lines += [
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
        """Let one block combine the partial results."""
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
            self.combined[id(loop)] = LoopReductions({name: (op, dtype)})
            self.defer(loop)
