"""Liveness analysis: the live range of each value of a function in value form.

Statements are numbered in program order.  A statement with number p reads at program point 2p
and binds its targets at 2p + 1.  An `update` reads all operands but its base at 2p + 1: they must
be live until the new version exists.  A value's *range* is the sorted list of the closed
intervals of points in which it is live or being bound.

Loops and branches have additional points, because values are copied there:

    loop    begin   reads the bounds and inits, binds the phis
            head    binds the index; the loop may exit here
            tail    (end of the body) reads the nexts, binds the phis again
            until   reads `until`
            end     binds the results
    branch  begin   reads the condition
            tails   (one per block) read the phis' values and bind the targets
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from ..ir.nodes import (
    Assign,
    Block,
    For,
    Function,
    If,
    Op,
    Operand,
    Stmt,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    operands_of,
    substitute,
    targets_of,
)
from ..ir.record import record, replace

Range = list[tuple[int, int]]

UPDATES = ("update", "update_add", "list_append", "list_set", "list_drop")


@record
class ProgramPoints:
    """The program points of one statement, halved; a simple statement has only `begin`."""

    begin: int
    head: int = 0
    tail: int = 0
    else_tail: int = 0
    until: int = 0
    end: int = 0


def overlap(a: Range, b: Range) -> bool:
    """True if two ranges interfere."""
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][1] < b[j][0]:
            i += 1
        elif b[j][1] < a[i][0]:
            j += 1
        else:
            return True
    return False


def merged(a: Range, b: Range) -> Range:
    """The union of two ranges."""
    out: Range = []
    for lo, hi in sorted(a + b):
        if out and lo <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(hi, out[-1][1]))
        else:
            out.append((lo, hi))
    return out


class Liveness:
    """The ranges of all values of `function`; those named in `always` are live until the end.

    A `final` update overwrites its base, a parameter, as a whole.  It needs the parameter's
    variable, but not its contents: with `variables` it counts as a read of the base, without it
    does not."""

    def __init__(
        self, function: Function, always: Iterable[str] = (), variables: bool = True
    ) -> None:
        self._variables = variables
        self.points_of: dict[int, ProgramPoints] = {}
        self._free: dict[int, dict[str, None]] = {}
        self._pieces: dict[str, Range] = {}
        self._open: dict[str, int] = {}
        self._next = 1
        self._number(function.body)
        self.last = 2 * self._next
        outputs = [*function.results, *(value for _, value in function.effects)]
        for name in [v.name for v in outputs if isinstance(v, Var)] + list(always):
            self._open.setdefault(name, self.last)
        self._block(function.body, 1)
        for param in function.params:
            self._piece(param.name, 0, self._open.pop(param.name, 0))
        # Values that are read on a path without a binding are live from the start.
        for name, hi in self._open.items():
            self._piece(name, 0, hi)
        self.ranges = {
            name: pieces if len(pieces) == 1 else merged(pieces, [])
            for name, pieces in self._pieces.items()
        }
        self._starts = {name: [lo for lo, _ in r] for name, r in self.ranges.items()}

    def points(self, stmt: Stmt) -> ProgramPoints:
        return self.points_of[id(stmt)]

    def alive(self, name: str, point: int) -> bool:
        starts = self._starts.get(name)
        if not starts:
            return False
        i = bisect_right(starts, point) - 1
        return i >= 0 and point <= self.ranges[name][i][1]

    # ---- numbering, and the free variables of each loop

    def _take(self) -> int:
        self._next += 1
        return self._next - 1

    def _number(self, block: Block) -> dict[str, None]:
        """Number a block; returns its free variables (read but not bound), in order."""
        reads: dict[str, None] = {}
        bound: set[str] = set()
        for stmt in block:
            place = self.points_of[id(stmt)] = ProgramPoints(self._take())
            if not isinstance(stmt, (If, While, For)):
                for operand in operands_of(stmt):
                    if isinstance(operand, Var) and operand.name not in bound:
                        reads[operand.name] = None
                bound.update(v.name for v in targets_of(stmt))
                continue
            inside: dict[str, None] = {}
            if isinstance(stmt, If):
                inside.update(self._number(stmt.then))
                place.tail = self._take()
                inside.update(self._number(stmt.orelse))
                place.else_tail = self._take()
                place.end = self._take()
                values = [v for p in stmt.phis for v in (p.then_value, p.else_value)]
            elif isinstance(stmt, While):
                inside.update(self._number(stmt.test))
                place.head = self._take()
                inside.update(self._number(stmt.body))
                values = [stmt.cond, *(c.next for c in stmt.carried)]
            else:
                place.head = self._take()
                inside.update(self._number(stmt.body))
                values = [c.next for c in stmt.carried]
            if isinstance(stmt, (For, While)):
                place.tail, place.until, place.end = self._take(), self._take(), self._take()
                values += [] if stmt.until is None else [stmt.until]
            inside.update((v.name, None) for v in values if isinstance(v, Var))
            own = {v.name for inner in blocks_of(stmt) for s in inner for v in targets_of(s)}
            own |= {v.name for v in inner_targets_of(stmt)}
            self._free[id(stmt)] = {name: None for name in inside if name not in own}
            used = {o.name: None for o in operands_of(stmt) if isinstance(o, Var)}
            used.update(inside)
            reads.update((n, None) for n in used if n not in own and n not in bound)
            bound |= {v.name for v in targets_of(stmt)}
        return reads

    # ---- ranges, from the last statement to the first

    def _piece(self, name: str, lo: int, hi: int) -> None:
        self._pieces.setdefault(name, []).append((lo, max(lo, hi)))

    def _read(self, name: str, point: int, opened: list[str]) -> None:
        if name not in self._open:
            self._open[name] = point
            opened.append(name)

    def _bind(self, name: str, point: int) -> None:
        self._piece(name, point, self._open.pop(name, point))

    def _block(self, block: Block, lo: int, opened: list[str] | None = None) -> list[str]:
        """Walk a block that begins at point `lo` backwards; returns the names that are live on
        entry, without those that were already live at its end."""
        opened = [] if opened is None else opened
        for stmt in reversed(block):
            place = self.points(stmt)
            if isinstance(stmt, If):
                self._branch(stmt, place, opened)
            elif isinstance(stmt, (For, While)):
                self._loop(stmt, place, opened)
            else:
                for target in targets_of(stmt):
                    self._bind(target.name, 2 * place.begin + 1)
                if isinstance(stmt, Assign) and stmt.op.name in UPDATES:
                    self._update(stmt.op, 2 * place.begin, opened)
                    continue
                for operand in operands_of(stmt):
                    if isinstance(operand, Var):
                        self._read(operand.name, 2 * place.begin, opened)
        entering = [name for name in opened if name in self._open]
        for name in entering:
            self._piece(name, lo, self._open.pop(name))
        return entering

    def _update(self, op: Op, point: int, opened: list[str]) -> None:
        base, *others = op.args
        for operand in others:
            if isinstance(operand, Var):
                self._read(operand.name, point + 1, opened)
        if isinstance(base, Var) and (self._variables or not op.attrs.get("final")):
            self._read(base.name, point, opened)

    def _branch(self, stmt: If, place: ProgramPoints, opened: list[str]) -> None:
        for phi in stmt.phis:
            self._bind(phi.target.name, 2 * place.else_tail + 1)
            self._piece(phi.target.name, 2 * place.tail + 1, 2 * place.tail + 1)
        entering: list[str] = []
        tails = (
            (stmt.orelse, 2 * place.tail + 2, place.else_tail, [p.else_value for p in stmt.phis]),
            (stmt.then, 2 * place.begin + 1, place.tail, [p.then_value for p in stmt.phis]),
        )
        for block, lo, tail, values in tails:
            inside = self._copies(values, 2 * tail)
            entering += self._block(block, lo, inside)
        for name in entering:
            self._read(name, 2 * place.begin, opened)
        if isinstance(stmt.cond, Var):
            self._read(stmt.cond.name, 2 * place.begin, opened)

    def _copies(self, values: Iterable[Operand], point: int) -> list[str]:
        inside: list[str] = []
        for value in values:
            if isinstance(value, Var):
                self._read(value.name, point, inside)
        return inside

    def _loop(self, stmt: For | While, place: ProgramPoints, opened: list[str]) -> None:
        after = 2 * place.end + 1
        for target in targets_of(stmt):
            self._bind(target.name, after)
        if stmt.trips is not None:
            self._piece(stmt.trips.name, 2 * place.begin + 1, after)
        for name in self._free[id(stmt)]:
            self._read(name, after, opened)
        if stmt.until is not None:
            inside = self._copies([stmt.until], 2 * place.until)
        else:
            inside = []
        inside += self._copies([c.next for c in stmt.carried], 2 * place.tail)
        entering = self._block(stmt.body, 2 * place.head + 1, inside)
        # A carried variable is live from the tail to the head, where the loop may exit, even if
        # the body does not read it.
        if isinstance(stmt, While):
            inside = self._copies([stmt.cond], 2 * place.head)
            for name in entering:
                self._read(name, 2 * place.head, inside)
            self._block(stmt.test, 2 * place.begin + 1, inside)
        for c in stmt.carried:
            self._piece(c.phi.name, 2 * place.begin + 1, 2 * place.head)
            self._piece(c.phi.name, 2 * place.tail + 1, after - 1)
        if isinstance(stmt, For):
            self._piece(stmt.index.name, 2 * place.head + 1, 2 * place.head + 1)
        self._before(stmt, place, opened)

    def _before(self, stmt: For | While, place: ProgramPoints, opened: list[str]) -> None:
        reads: list[Operand] = [c.init for c in stmt.carried]
        if isinstance(stmt, For):
            reads += [stmt.start, stmt.stop, stmt.step]
            reads += [] if stmt.count is None else [stmt.count]
        for operand in reads:
            if isinstance(operand, Var):
                self._read(operand.name, 2 * place.begin, opened)


def rewrite_reads(block: Block, live: Liveness, f: Callable[[Operand, int], Operand]) -> None:
    """Replace, in place, every operand read in `block` by f(operand, program point of the read)."""
    for stmt in block:
        place = live.points_of.get(id(stmt))
        if place is not None:
            _rewrite(stmt, place, f)
        for inner in blocks_of(stmt):
            rewrite_reads(inner, live, f)


def _rewrite(stmt: Stmt, place: ProgramPoints, f: Callable[[Operand, int], Operand]) -> None:
    begin, tail = 2 * place.begin, 2 * place.tail
    if isinstance(stmt, Assign):
        late = stmt.op.name in UPDATES
        args = tuple(f(a, begin + (late and i > 0)) for i, a in enumerate(stmt.op.args))
        stmt.op = replace(stmt.op, args=args)
    elif isinstance(stmt, If):
        stmt.cond = f(stmt.cond, begin)
        for phi in stmt.phis:
            phi.then_value = f(phi.then_value, tail)
            phi.else_value = f(phi.else_value, 2 * place.else_tail)
    elif isinstance(stmt, (For, While)):
        for c in stmt.carried:
            c.init = f(c.init, begin)
            c.next = f(c.next, tail)
        if stmt.until is not None:
            stmt.until = f(stmt.until, 2 * place.until)
        if isinstance(stmt, While):
            stmt.cond = f(stmt.cond, 2 * place.head)
        else:
            stmt.start, stmt.stop = f(stmt.start, begin), f(stmt.stop, begin)
            stmt.step = f(stmt.step, begin)
            stmt.count = None if stmt.count is None else f(stmt.count, begin)
    else:
        (new,) = substitute([stmt], lambda o: f(o, begin))
        stmt.__dict__.update(new.__dict__)
