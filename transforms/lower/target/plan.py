"""The plan of a routine: a host function, its kernels, and their description.

    HostStmt = Let | Alloc | View | Rebind | Loop | While | If | Break | Fail | Comment | Return
             | Call("rt.gemm", …)           as in loop IR; the host runs them in order
             | BatchedProduct(call, …)      of many matrices (`batches.py`)
             | Fetch(name, slot, dtype)     the value of a slot, as a host scalar; synchronises
             | Blocks(name, cells, block)   the number of blocks for so many cells
             | Launch(kernel, blocks, cells, block)
             | HostArray(name, sizes, other)  the host's copy of a buffer, new or that of another

`Store` and `Load` access such copies.

A slot is a one-element array that holds a device scalar.  A launch without `cells` is of one
thread.  `blocks` is the number of blocks for `cells` if it has a name, and `block` the number of
cells of a block: None for one per thread.  `others` are the cells and blocks of the grids that were
merged with this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...ir.record import field, record
from ..loop_ir import nodes as L
from .batches import BatchedProduct
from .kernel_writer import Failure, KernelText
from .program import HostResult, Statistics, Verdict
from .symbols import Symbols


@record
class Fetch:
    name: str
    slot: str
    dtype: str


@record
class Blocks:
    name: str
    cells: L.Expr
    block: L.Expr | None = None


@record
class Launch:
    kernel: KernelText
    blocks: L.Expr | None = None
    cells: L.Expr | None = None
    block: L.Expr | None = None
    others: tuple[tuple[L.Expr | None, L.Expr | None], ...] = ()


@record
class HostArray:
    name: str
    sizes: tuple[L.Expr, ...] = ()
    other: str = ""


HostStmt = L.Stmt | HostArray | BatchedProduct | Fetch | Blocks | Launch


@record
class Plan:
    """A host function, of `HostStmt`, and its kernels.  `slots` are the device scalars."""

    body: list[Any] = field(default_factory=list[Any])
    kernels: list[KernelText] = field(default_factory=list[KernelText])
    failures: list[Failure] = field(default_factory=list[Failure])
    slots: set[str] = field(default_factory=set[str])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    results: list[HostResult] = field(default_factory=list[HostResult])
    syncs: int = 0
    symbols: Symbols = field(default_factory=Symbols)

    def gemm_dtypes(self) -> list[str]:
        """The dtypes of the matrix products."""
        calls = (s.call if isinstance(s, BatchedProduct) else s for s in walk(self.body))
        outs = [s.args[-1] for s in calls if isinstance(s, L.Call)]
        return sorted({self.symbols.buffers[c.buffer][0] for c in outs if isinstance(c, L.Subview)})

    def statistics(self) -> Statistics:
        """The numbers of launches, loops and synchronisations."""
        stats = Statistics(
            grids=sum(k.kind == "grid" for k in self.kernels),
            threads=sum(k.kind == "thread" for k in self.kernels),
            atomics=sum(k.atomics for k in self.kernels),
            syncs=self.syncs,
        )
        stats.in_loops = len(
            {
                id(q)
                for s in walk(self.body)
                if isinstance(s, (L.Loop, L.While))
                for q in walk(s.body)
                if isinstance(q, (Launch, *_PRODUCTS))
            }
        )
        for s in walk(self.body):
            stats.launches += isinstance(s, (Launch, *_PRODUCTS))
            stats.gemms += isinstance(s, _PRODUCTS)
            if isinstance(s, (L.Loop, L.While)):
                inside = [q for q in walk(s.body) if isinstance(q, (Launch, *_PRODUCTS))]
                stats.host_loops += bool(inside)
                stats.glue_loops += bool(inside) and all(
                    isinstance(q, Launch) and q.kernel.kind == "thread" for q in inside
                )
        return stats


_PRODUCTS = (L.Call, BatchedProduct)


def walk(body: Sequence[Any]) -> Iterator[Any]:
    """All statements of a host function, those of inner blocks included."""
    for stmt in body:
        yield stmt
        for block in L.blocks_of(stmt):
            yield from walk(block)
