"""Writer of the host function of a plan, and of the whole module."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.quote import python_comment
from ..loop_ir import nodes as L
from ..loop_ir.python_printer import expr, index, print_typed, tuple_
from .batches import BatchedProduct
from .device_functions import device_function_text
from .gemm import gemm_kernel, gemm_kernel_name
from .kernel_writer import Failure, KernelText
from .plan import Blocks, Fetch, HostArray, HostStmt, Launch, Plan, walk

HEADER = """import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from s2s import kernels as rt

BLOCK = 128
"""


def module_text(plan: Plan, routine: L.Routine) -> str:
    """The text of the module of a plan."""
    functions = sorted({f for k in plan.kernels for f in k.functions})
    parts = [HEADER, *map(device_function_text, functions)]
    parts += [_kernel_text(k) for k in plan.kernels]
    parts += [gemm_kernel(dtype) for dtype in plan.gemm_dtypes()]
    parts.append(_failures_text(plan.failures))
    parts.append("\n".join(HostWriter(plan, routine).function()) + "\n")
    return "\n\n".join(parts)


def _kernel_text(kernel: KernelText) -> str:
    flags = ["err", *(["err_values"] if kernel.sends_values else [])]
    names = ", ".join([*flags, *(name for name, _ in kernel.params)])
    return "\n".join(["@cuda.jit", f"def {kernel.name}({names}):", *kernel.lines]) + "\n"


def _failures_text(failures: list[Failure]) -> str:
    if not failures:
        return "FAILURES = []\n"
    lines = ["FAILURES = ["]
    for f in failures:
        lines.append(f"    {(f.exception, f.message, f.site, f.dtypes)!r},")
    return "\n".join([*lines, "]\n"])


class HostWriter:
    """Writes the host function of a plan."""

    def __init__(self, plan: Plan, routine: L.Routine) -> None:
        self.plan, self.routine = plan, routine
        self.symbols = plan.symbols

    def function(self) -> list[str]:
        """The lines of the function."""
        params = ", ".join(["dev", *(p.name for p in self.routine.params)])
        lines = ['@np.errstate(all="ignore")', f"def {self.routine.name}({params}):"]
        lines.append("    err, err_values = dev.begin(FAILURES)")
        scalars = {p.name: p.dtype for p in self.routine.params if p.rank is None}
        for name, dtype in scalars.items():
            if name not in self.plan.slots and self._is_read(name):
                lines.append(f"    {name} = np.{_np(dtype)}({name})")
        for name in sorted(self.plan.slots):
            dtype = self.symbols.scalars[name]
            if name in scalars:
                lines.append(f"    {name} = dev.scalar({name}, np.{_np(dtype)})")
            else:
                lines.append(f"    {name} = dev.empty((1,), np.{_np(dtype)})")
        return [*lines, *self.block(self.plan.body, 1)]

    def _is_read(self, name: str) -> bool:
        return any(
            name in k.args for s in walk(self.plan.body) if isinstance(s, Launch)
            for k in [s.kernel]
        ) or any(
            isinstance(p, L.Name) and p.name == name
            for s in walk(self.plan.body)
            for e in _exprs_of(s)
            for p in L.walk_expr(e)
        )  # fmt: skip

    def block(self, stmts: Sequence[HostStmt], depth: int) -> list[str]:
        """The lines of a block."""
        pad = "    " * depth
        lines = [line for s in stmts for line in self.stmt(s, pad, depth)]
        if all(line.lstrip().startswith("#") for line in lines):
            lines.append(pad + "pass")
        return lines

    def stmt(self, s: HostStmt, pad: str, depth: int) -> list[str]:
        """The lines of a statement."""
        if isinstance(s, L.Comment):
            return [f"{pad}# {python_comment(s.text)}"] if s.text else []
        if isinstance(s, L.Let):
            return [f"{pad}{s.name} = {print_typed(s.expr)}"]
        if isinstance(s, L.Alloc):
            return [f"{pad}{s.name} = dev.empty({tuple_(s.sizes)}, np.{_np(s.dtype)})"]
        if isinstance(s, L.View):
            return [f"{pad}{s.name} = dev.view({s.buffer}, {tuple_(s.sizes)})"]
        if isinstance(s, L.Rebind):
            return [f"{pad}{s.name} = {s.other}"]
        if isinstance(s, L.Store):
            return [f"{pad}{s.buffer}[{index(s.index)}] {'+=' if s.add else '='} {expr(s.expr)}"]
        if isinstance(s, HostArray):
            return [pad + self.host_array(s)]
        if isinstance(s, Fetch):
            return [f"{pad}{s.name} = dev.fetch({s.slot})"]
        if isinstance(s, Blocks):
            return [f"{pad}{s.name} = {_blocks(s.cells, s.block)}"]
        if isinstance(s, Launch):
            return [pad + self.launch(s)]
        if isinstance(s, L.Call):
            return [f"{pad}dev.gemm({', '.join(self.product(s))})"]
        if isinstance(s, BatchedProduct):
            args = [*self.product(s.call), expr(s.count), *self.steps(s)]
            return [f"{pad}dev.gemm_batched({', '.join(args)})"]
        if isinstance(s, L.Loop):
            bounds = [s.stop] if L.is_lit(s.start, 0) else [s.start, s.stop]
            if not L.is_lit(s.step, 1):
                bounds = [s.start, s.stop, s.step]
            head = f"{pad}for {s.var} in range({', '.join(map(expr, bounds))}):"
            return [head, *self.block(s.body, depth + 1)]
        if isinstance(s, L.While):
            return [f"{pad}while True:", *self.block(s.body, depth + 1)]
        if isinstance(s, L.Break):
            return [pad + "break"]
        if isinstance(s, L.If):
            lines = [f"{pad}if {expr(s.cond)}:", *self.block(s.then, depth + 1)]
            if s.orelse:
                lines += [f"{pad}else:", *self.block(s.orelse, depth + 1)]
            return lines
        if isinstance(s, L.Fail):
            return self.failure(s, pad)
        assert isinstance(s, L.Return), s
        items = [r.buffer if isinstance(r, L.Subview) else self.result(r) for r in s.results]
        return [f"{pad}return ({', '.join(items)}{',' if len(items) == 1 else ''})"]

    def host_array(self, s: HostArray) -> str:
        if not s.other:
            return f"{s.name} = np.empty({tuple_(s.sizes)}, np.int64)"
        shape = f".reshape({tuple_(s.sizes)})" if s.sizes else ""
        return f"{s.name} = {s.other}{shape}"

    def result(self, e: L.Expr) -> str:
        if isinstance(e, L.Name) and e.name in self.plan.slots:
            return e.name
        return f"np.{_np(e.dtype)}({expr(e)})"

    def launch(self, s: Launch) -> str:
        kernel = s.kernel
        flags = ["err", *(["err_values"] if kernel.sends_values else [])]
        args = ", ".join([*flags, *(a.removeprefix("slot ") for a in kernel.args)])
        if s.cells is None:
            return f"dev.launch({kernel.name}, 1, 1, {args})"
        blocks = _blocks(s.cells, s.block) if s.blocks is None else expr(s.blocks)
        if s.others:
            found = [blocks, *(_blocks(cells, block) for cells, block in s.others if cells)]
            found = list(dict.fromkeys(found))
            blocks = f"max({', '.join(found)})" if len(found) > 1 else blocks
        return f"dev.launch({kernel.name}, {blocks}, BLOCK, {args})"

    def failure(self, s: L.Fail, pad: str) -> list[str]:
        """A `raise` statement.  An error on the device came first."""
        lines = [f"{pad}dev.check()"] if self.plan.failures else []
        if s.site is None:
            message = s.message.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            return [*lines, f'{pad}raise {s.exception}("{message}")']
        values = ", ".join([str(s.site), *map(print_typed, s.values)])
        return [*lines, f"{pad}raise rt.Failure({values})"]

    def steps(self, s: BatchedProduct) -> list[str]:
        """The distances between the matrices of each operand."""
        operands = [a for a in s.call.args if isinstance(a, L.Subview)]
        sizes = map(self.sizes, operands)
        return [expr(L.mul(m, n)) if strided else "0" for (m, n), strided in zip(sizes, s.strided)]

    def product(self, s: L.Call) -> list[str]:
        """The arguments of a matrix product."""
        swap_a, swap_b, alpha, a, b, beta, c = s.args
        assert isinstance(a, L.Subview) and isinstance(b, L.Subview) and isinstance(c, L.Subview)
        m, n = self.sizes(c)
        rows, columns = self.sizes(a)
        assert not isinstance(swap_a, L.Subview) and not isinstance(swap_b, L.Subview)
        k = L.select(swap_a, rows, columns)
        assert not isinstance(alpha, L.Subview) and not isinstance(beta, L.Subview)
        kernel = gemm_kernel_name(self.symbols.buffers[c.buffer][0])
        args = [
            kernel, expr(swap_a), expr(swap_b), expr(m), expr(n), expr(k), print_typed(alpha),
            a.buffer, self.offset(a), b.buffer, self.offset(b), print_typed(beta),
            c.buffer, self.offset(c),
        ]  # fmt: skip
        return args

    def sizes(self, a: L.Subview) -> tuple[L.Expr, L.Expr]:
        """The sizes of a matrix."""
        rank = self.symbols.buffers[a.buffer][1]
        assert rank - len(a.index) == 2, a
        return L.Size(a.buffer, rank - 2), L.Size(a.buffer, rank - 1)

    def offset(self, a: L.Subview) -> str:
        """The position of a sub-buffer in the flat array."""
        out: L.Expr = L.ZERO
        for axis, i in enumerate(a.index):
            out = L.add(L.mul(out, L.Size(a.buffer, axis)), i) if axis else i
        for axis in range(len(a.index), self.symbols.buffers[a.buffer][1]):
            out = L.mul(out, L.Size(a.buffer, axis))
        return expr(out)


def _blocks(cells: L.Expr, block: L.Expr | None) -> str:
    return f"dev.blocks({expr(cells)}, {'BLOCK' if block is None else expr(block)})"


def _exprs_of(s: HostStmt) -> list[L.Expr]:
    if isinstance(s, Blocks):
        return [s.cells]
    if isinstance(s, Launch):
        cells = (s.cells, *(cells for cells, _ in s.others))
        return [e for e in (s.blocks, *cells) if e is not None]
    if isinstance(s, Fetch):
        return []
    if isinstance(s, HostArray):
        return list(s.sizes)
    if isinstance(s, BatchedProduct):
        return [s.count, *_exprs_of(s.call)]
    exprs: list[L.Expr] = []
    for e in L.exprs_of(s):
        exprs += e.index if isinstance(e, L.Subview) else [e]
    return exprs


def _np(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype
