"""The statements of a host function: those of loop IR, and a few more.

    HostStmt = Let | Alloc | View | Rebind | Loop | While | If | Break | Fail | Comment | Return
             | Call("rt.gemm", …)
             | Slot(name, value, dtype)     a one-element array for a device scalar
             | Fetch(name, slot, dtype)     the value of a slot, as a host scalar; synchronises
             | Blocks(name, cells)          the number of blocks for so many cells
             | Launch(kernel, blocks, cells)

A launch without `blocks` and `cells` is of one thread; `blocks` is the number of blocks for `cells`
if it has a name.  In loop IR, a `Loop` runs its iterations in order; here the host does.
"""

from __future__ import annotations

from ...ir.record import record
from ..loop_ir import nodes as L
from .kernel_writer import KernelText


@record
class Slot:
    name: str
    value: L.Expr
    dtype: str


@record
class Fetch:
    name: str
    slot: str
    dtype: str


@record
class Blocks:
    name: str
    cells: L.Expr


@record
class Launch:
    kernel: KernelText
    blocks: L.Expr | None = None
    cells: L.Expr | None = None


HostStmt = L.Stmt | Slot | Fetch | Blocks | Launch
