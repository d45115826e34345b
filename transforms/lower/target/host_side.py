"""The statements of the host function: the state of a plan, and the host's copies of buffers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ir.errors import UnsupportedError
from ...ir.nodes import Span
from ..analysis.alias import MayAlias, with_bindings
from ..analysis.dependence import LoopReductions
from ..analysis.liveness import live_after_loops
from ..loop_ir import nodes as L
from .batches import single_allocations
from .nests import Nest
from .place import Placement
from .plan import HostArray, HostStmt, Launch, Plan, walk
from .program import LoopKind, Verdict
from .symbols import Symbols


class HostSide:
    """The state of a plan of one routine.  `placement` is as known so far; the plan extends it."""

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
        # The buffers with memory of their own at the current statement.
        self.fresh: frozenset[str] = frozenset()
        # The loops seen as grids, by identity and `fresh`.
        self.nests: dict[tuple[int, frozenset[str]], Nest | str] = {}
        self.locals: dict[str, L.Name] = {}
        # The statements that combine the results of blocks, by identity.
        self.combining: dict[int, L.Stmt] = {}
        # What the loops among them compute.
        self.combined: dict[int, LoopReductions] = {}

    def needed_copies(self) -> set[str]:
        """The buffers whose copies the host reads for anything but stores to other copies that it
        does not read."""
        needed = set(self.read_copies)
        while True:
            more = {b for name, read in self.copied if name in needed for b in read} - needed
            if not more:
                return needed
            needed |= more

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

    def verdict(self, kind: LoopKind, why: str) -> None:
        self.plan.verdicts.append(Verdict(self.line, kind, why))

    def local(self, hint: str) -> L.Name:
        """A name for a variable of kernels: the same in all of them."""
        if hint not in self.locals:
            self.locals[hint] = self.symbols.new_scalar(hint)
        return self.locals[hint]

    def comment(self) -> None:
        if self.line != self.host_line:
            self.out.append(L.Comment(self.line))
            self.host_line = self.line

    def named(self, e: L.Expr, hint: str) -> L.Expr:
        """A host expression as a name, a size or a literal."""
        if L.is_simple(e):
            return e
        name = self.symbols.new_scalar(hint)
        self.emit(L.Let(name.name, e))
        return name

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
        return lines
