"""Footprints: which buffers and names a statement reads and writes, and where."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.lazy import lazy
from ...ir.record import field, record
from ..loop_ir import nodes as L
from .alias import MayAlias
from .liveness import defs

Sizes = dict[str, tuple[L.Expr, ...]]


@record
class Footprint:
    """What a statement touches.  Variables are scalars and the buffers' bindings; accesses are
    (buffer, index) of elements, None for all of it."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    loops: set[str] = field(default_factory=set)
    loads: list[tuple[str, L.Index | None]] = field(default_factory=list)
    stores: list[tuple[str, L.Index | None]] = field(default_factory=list)
    fails: bool = False
    fixed: bool = False  # may not be moved, nor anything across it
    size: int = 0
    ranges: list[tuple[L.Expr, ...]] | None = None  # of a nest, once somebody has asked

    @lazy
    def written(self) -> set[str]:
        return {name for name, _ in self.stores}

    @lazy
    def touched(self) -> set[str]:
        return self.written.union([name for name, _ in self.loads])

    @lazy
    def names(self) -> set[str]:
        """What it leaves to others, variables of loops not counted."""
        return self.writes - self.loops

    @lazy
    def mentioned(self) -> set[str]:
        return self.reads | self.writes

    @lazy
    def outer(self) -> set[str]:
        """What it reads, variables of its loops not counted."""
        return self.reads - self.loops

    def add(self, other: Footprint) -> None:
        """Of a statement that stands inside; to be called before it is asked what it touches."""
        self.reads |= other.reads
        self.writes |= other.writes
        self.loops |= other.loops
        self.loads += other.loads
        self.stores += other.stores
        self.fails |= other.fails
        self.fixed |= other.fixed
        self.size += other.size


def footprint(stmt: L.Stmt, known: Callable[[L.Stmt], Footprint] | None = None) -> Footprint:
    """`known` tells those of statements inside."""
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
    elif isinstance(stmt, L.Call) and stmt.function in L.PRODUCTS:
        c = stmt.args[-1]
        assert isinstance(c, L.Part)
        f.stores.append((c.buffer, None))
    elif isinstance(stmt, L.Fail):
        f.fails = True
    elif not isinstance(stmt, (L.If, L.Comment)):
        f.fixed = True
    for block in L.blocks_of(stmt):
        for inner in block:
            f.add((known or footprint)(inner))
    return f


def _read(e: L.Expr | L.Part, f: Footprint) -> None:
    if isinstance(e, L.Part):
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


def touches(stmt: L.Stmt, buffer: str, may_alias: MayAlias) -> bool:
    for s in L.walk([stmt]):
        names = {s.buffer} if isinstance(s, (L.Store, L.View)) else {*defs(s)}
        if isinstance(s, L.Rebind):
            names.add(s.other)
        for e in L.exprs_of(s):
            parts = e.index if isinstance(e, L.Part) else (e,)
            names |= {e.buffer} if isinstance(e, L.Part) else set()
            names |= {p.buffer for i in parts for p in L.walk_expr(i) if isinstance(p, L.Load)}
        if any(may_alias(name, buffer) for name in names):
            return True
    return False


def changed_by(stmt: L.Stmt) -> set[str]:
    """Buffers that it may write to, or give another name."""
    names = {e.buffer for e in L.exprs_of(stmt) if isinstance(e, L.Part)}
    if isinstance(stmt, (L.Store, L.View)):
        names.add(stmt.buffer)
    if isinstance(stmt, L.Rebind):
        names.add(stmt.other)
    return names
