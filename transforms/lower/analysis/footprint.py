"""Footprints: which names and which buffer elements a statement reads and writes."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.lazy import lazy_property
from ...ir.record import field, record
from ..loop_ir import nodes as L
from ..loop_ir.operations import OPS, shared_buffers, written_buffers
from .alias import MayAlias
from .liveness import defs

Sizes = dict[str, tuple[L.Expr, ...]]


@record
class Footprint:
    """The reads, writes and effects of a statement, nested blocks included.

    `reads` and `writes` are names: scalars and bindings of buffers.  `loops` are the variables of
    its loops.  `loads` and `stores` are accesses to elements as (buffer, index); an index of None
    stands for the whole buffer.  `size` is the number of statements.
    """

    reads: set[str] = field(default_factory=set[str])
    writes: set[str] = field(default_factory=set[str])
    loops: set[str] = field(default_factory=set[str])
    loads: list[tuple[str, L.Index | None]] = field(
        default_factory=list[tuple[str, L.Index | None]]
    )
    stores: list[tuple[str, L.Index | None]] = field(
        default_factory=list[tuple[str, L.Index | None]]
    )
    fails: bool = False
    is_barrier: bool = False  # a barrier: it may not be moved, nor may anything be moved across it
    size: int = 0
    ranges: list[tuple[L.Expr, ...]] | None = None  # of a loop nest, set on demand

    @lazy_property
    def written(self) -> set[str]:
        """The buffers that it stores to."""
        return {name for name, _ in self.stores}

    @lazy_property
    def touched(self) -> set[str]:
        """The buffers that it loads from or stores to."""
        return self.written.union([name for name, _ in self.loads])

    @lazy_property
    def defined(self) -> set[str]:
        """The names that it defines, variables of its loops excluded."""
        return self.writes - self.loops

    @lazy_property
    def mentioned(self) -> set[str]:
        """The names that it reads or defines."""
        return self.reads | self.writes

    @lazy_property
    def free_reads(self) -> set[str]:
        """The names that it reads, variables of its loops excluded."""
        return self.reads - self.loops

    def add(self, other: Footprint) -> None:
        """Include the footprint of a nested statement.

        Must be called before the first use of a lazy property.
        """
        self.reads |= other.reads
        self.writes |= other.writes
        self.loops |= other.loops
        self.loads += other.loads
        self.stores += other.stores
        self.fails |= other.fails
        self.is_barrier |= other.is_barrier
        self.size += other.size


def footprint(stmt: L.Stmt, known: Callable[[L.Stmt], Footprint] | None = None) -> Footprint:
    """The footprint of a statement.  `known`, if given, computes those of nested statements."""
    f = Footprint(size=1)
    for e in L.exprs_of(stmt):
        _read(e, f)
    if isinstance(stmt, (L.Let, L.View)):
        f.writes.add(stmt.name)
        if isinstance(stmt, L.View):
            f.reads.add(stmt.buffer)
    elif isinstance(stmt, L.Alloc):
        f.writes.add(stmt.name)
        f.stores.append((stmt.name, None))
    elif isinstance(stmt, L.Store):
        f.reads.add(stmt.buffer)
        f.stores.append((stmt.buffer, stmt.index))
        if stmt.add:
            f.loads.append((stmt.buffer, stmt.index))
    elif isinstance(stmt, L.Loop):
        f.writes.add(stmt.var)
        f.loops.add(stmt.var)
    elif isinstance(stmt, L.Call) and OPS[stmt.function].is_silent:
        f.stores += [(buffer, None) for buffer in written_buffers(stmt)]
    elif isinstance(stmt, L.Fail):
        f.fails = True
    elif not isinstance(stmt, (L.If, L.Comment)):
        f.is_barrier = True
    for block in L.blocks_of(stmt):
        for inner in block:
            f.add((known or footprint)(inner))
    return f


def _read(e: L.Expr | L.Subview, f: Footprint) -> None:
    if isinstance(e, L.Subview):
        f.reads.add(e.buffer)
        f.loads.append((e.buffer, None))
        for i in e.index:
            _read(i, f)
        return
    for part in L.walk_expr(e):
        if isinstance(part, L.Name):
            f.reads.add(part.name)
        elif isinstance(part, L.Size):
            f.reads.add(part.buffer)
        elif isinstance(part, L.Load):
            f.reads.add(part.buffer)
            f.loads.append((part.buffer, part.index))


def may_access(stmt: L.Stmt, buffer: str, may_alias: MayAlias) -> bool:
    """True if a statement may load, store, bind or pass on a buffer that may alias `buffer`."""
    for s in L.walk([stmt]):
        names = {s.buffer} if isinstance(s, (L.Store, L.View)) else {*defs(s)}
        if isinstance(s, L.Rebind):
            names.add(s.other)
        for e in L.exprs_of(s):
            parts = e.index if isinstance(e, L.Subview) else (e,)
            names |= {e.buffer} if isinstance(e, L.Subview) else set()
            names |= {p.buffer for i in parts for p in L.walk_expr(i) if isinstance(p, L.Load)}
        if any(may_alias(name, buffer) for name in names):
            return True
    return False


def may_modify(stmt: L.Stmt) -> set[str]:
    """The buffers that a statement itself may write to or give another name."""
    return written_buffers(stmt) | shared_buffers(stmt)
