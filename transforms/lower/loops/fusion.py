"""Merges neighbouring loops over the same range, on loop-level IR.

Two loops become one if what either writes the other touches only in the same iteration: every
access to such a buffer has the loop's own variable, at one distance from it, at one and the same
axis.  What stands between them must not care; allocations, numbers, checks and zeros that the
second loop needs are moved before the first.  If one may fail, the caller sees no difference.

A sweep runs backwards.  Where its rounds may come in any order, as in a sum over samples, it runs
forwards if it can join the loop that it is the adjoint of: what one leaves to the other is then
what a single round does.  Nests stay: joined, k-means and logistic regression took longer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from ..analysis.alias import MayAlias
from ..analysis.footprint import Footprint, Sizes, footprint
from ..analysis.fusion_profit import is_slower, nested
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L

# A merged body beyond this many statements no longer compiles quickly.
LARGE = 60
# How many statements back a loop looks for one to join.
FAR = 60


class LoopFusion:
    """`shares(a, b)`: two buffer variables may share memory.  `visible` are the variables
    whose contents the caller sees even if the call fails; `any_order` loops that run backwards and
    need not; `integers` what those that never change are made from; `sizes` those of parameters."""

    def __init__(
        self,
        may_alias: MayAlias,
        escaping: set[str],
        any_order: Iterable[L.Loop] = (),
        integers: dict[str, L.Expr] | None = None,
        sizes: Sizes | None = None,
    ) -> None:
        self.may_alias = may_alias
        self.escaping = escaping
        self.integers = integers or {}
        self.sizes = dict(sizes or {})
        self.any_order = {id(loop): loop for loop in any_order}
        self.known: dict[int, tuple[L.Stmt, Footprint]] = {}
        # What is asked of each pair again and again.
        self._sharing: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        self.joined = 0  # how many loops
        self.nests_first = False

    def run(self, stmts: list[L.Stmt]) -> list[L.Stmt]:
        """Nests join first, and what stands between them makes way.  A single loop, or zeros
        from which a sum starts, would otherwise join one nest and so part it from the next."""
        self.sizes |= _made_once(stmts)
        self.nests_first = True
        stmts = self.block(stmts)
        self.nests_first = False
        return self.block(stmts)

    def footprint(self, stmt: L.Stmt) -> Footprint:
        held = self.known.get(id(stmt))
        if held is None or held[0] is not stmt:
            held = self.known[id(stmt)] = stmt, footprint(stmt, self.footprint)
        return held[1]

    def block(self, stmts: list[L.Stmt]) -> list[L.Stmt]:
        out: list[L.Stmt] = []
        for stmt in stmts:
            self._inside(stmt)
            if not (isinstance(stmt, L.Loop) and self._merge_either_way(out, stmt)):
                out.append(stmt)
        follow = [*out, L.Comment("")][1:]
        return [
            s
            for s, after in zip(out, follow, strict=True)
            if not (isinstance(s, L.Comment) and isinstance(after, L.Comment))
        ]

    def _inside(self, stmt: L.Stmt) -> None:
        before = self.joined
        if isinstance(stmt, (L.Loop, L.While)):
            stmt.body = self.block(stmt.body)
        elif isinstance(stmt, L.If):
            stmt.then, stmt.orelse = self.block(stmt.then), self.block(stmt.orelse)
        if self.joined > before:
            self.known.pop(id(stmt), None)

    def _merge_either_way(self, out: list[L.Stmt], loop: L.Loop) -> bool:
        if self._merge(out, loop):
            return True
        if id(loop) not in self.any_order or len(nested(loop)) > 1:
            return False
        backwards = loop.start, loop.stop, loop.step
        forwards = L.span(loop)
        assert forwards is not None
        (loop.start, loop.stop), loop.step = forwards, L.ONE
        self.known.pop(id(loop), None)
        if self._merge(out, loop):
            return True
        loop.start, loop.stop, loop.step = backwards
        self.known.pop(id(loop), None)
        return False

    def _merge(self, out: list[L.Stmt], loop: L.Loop) -> bool:
        """Merges `loop`, which is to follow `out`, into the nearest loop it can join."""
        foot = self.footprint(loop)
        if foot.fixed or not self._may_join(loop):
            return False
        prints: dict[int, Footprint] = {}
        needed: list[int] = []  # what must move before the earlier loop, latest first
        wanted = foot
        for position in range(len(out) - 1, max(-1, len(out) - 1 - FAR), -1):
            stmt = out[position]
            if isinstance(stmt, L.Comment):
                continue
            here = prints[position] = self.footprint(stmt)
            if self._may_join(stmt, loop) and self._joins(stmt, here, loop, foot):
                if all(self._may_overtake(out[n], prints[n], here) for n in needed):
                    self._join(out, position, needed, loop)
                    return True
            if here.fixed or (here.fails and not _is_preparation(stmt)):
                return False
            if foot.fails and (here.fails or not self._private(here)):
                return False  # an error would overtake another, or what the caller sees
            if (self.nests_first or _is_preparation(stmt) or _is_fill(stmt)) and (
                here.fails or not self._apart(here, wanted)
            ):
                needed.append(position)
                wanted = _union(wanted, here)
            elif not self._apart(here, wanted):
                return False
            elif any(prints[n].fails for n in needed) and not self._private(here):
                return False  # a check would overtake what the caller sees
        return False

    def _join(self, out: list[L.Stmt], position: int, needed: list[int], loop: L.Loop) -> None:
        first = out[position]
        assert isinstance(first, L.Loop)
        moved = [out[n] for n in reversed(needed)]
        rest = [out[n] for n in range(position + 1, len(out)) if n not in needed]
        # The comment goes with the loop it speaks of, unless something else stays with it.
        remark = [rest.pop()] if rest and isinstance(rest[-1], L.Comment) else []
        out[position:] = [*moved, first, *rest]
        if loop.var != first.var:
            _rename(loop, first.var)
            for stmt in L.walk(loop.body):
                self.known.pop(id(stmt), None)
        first.body = self.block([*first.body, *remark, *loop.body])
        self.known.pop(id(first), None)
        if id(loop) not in self.any_order:
            self.any_order.pop(id(first), None)
        self.joined += 1

    # ---- independence

    def _may_overtake(self, stmt: L.Stmt, moved: Footprint, loop: Footprint) -> bool:
        """Whether a statement may run before an earlier loop.  If that may fail, it may have asked
        whether elements are there that the statement does not ask for again
        (`lower/checks/redundant.py`)."""
        if loop.fails and not self._has_all_it_needs(stmt, moved):
            return False
        return self._apart(moved, loop) and self._same_after_errors(moved, loop)

    def _has_all_it_needs(self, stmt: L.Stmt, f: Footprint) -> bool:
        """Whether it touches no elements, or each one of a buffer that it fills."""
        if all(index is None for _, index in (*f.loads, *f.stores)):
            return True
        nest = L.perfect_nest(stmt)
        if nest is None or f.loads:
            return False
        loops, put = nest
        if put.index != tuple(L.Name(loop.var) for loop in loops):
            return False
        return self._spelt(loop.stop for loop in loops) == self._spelt(
            self.sizes.get(put.buffer, ())
        )

    def _apart(self, a: Footprint, b: Footprint) -> bool:
        """Whether two statements may change places."""
        if not (a.names.isdisjoint(b.mentioned) and b.names.isdisjoint(a.mentioned)):
            return False
        if not (a.loops.isdisjoint(b.outer) and b.loops.isdisjoint(a.outer)):
            return False
        if not (a.written.isdisjoint(b.touched) and b.written.isdisjoint(a.touched)):
            return False
        for _ in self._clashes(a, b):
            return False
        return True

    def _clashes(self, a: Footprint, b: Footprint) -> Iterator[tuple[str, str]]:
        """Pairs of buffers, one of which is written, that may be the same memory."""
        sharing = self._sharing
        for p in a.touched:
            others = sharing[p]
            for q in b.touched if p in a.written else b.written:
                if q not in others:
                    others[q] = p == q or self.may_alias(p, q)
                if others[q]:
                    yield p, q

    def _joins(self, first: L.Loop, a: Footprint, second: L.Loop, b: Footprint) -> bool:
        if self._range(first) != self._range(second):
            return False
        if a.fixed or a.size + b.size > LARGE or not self._same_after_errors(a, b):
            return False
        if is_slower(first, a.fails, second, b.fails, self._turned(second)):
            return False
        if any(isinstance(s, L.Call) for loop in (first, second) for s in L.walk(loop.body)):
            return False
        if first.var != second.var and first.var in b.mentioned:
            return False
        if not (a.names.isdisjoint(b.mentioned) and b.names.isdisjoint(a.mentioned)):
            return False
        if not (a.loops.isdisjoint(b.names) and b.loops.isdisjoint(a.names)):
            return False
        for p, q in self._clashes(a, b):
            if p != q or not _in_step(p, first.var, a, second.var, b):
                return False
        return True

    def _range(self, loop: L.Loop) -> tuple[L.Expr, ...]:
        """What a loop counts through, in terms of what does not change."""
        return self._spelt((loop.start, loop.stop, loop.step))

    def _spelt(self, exprs: Iterable[L.Expr]) -> tuple[L.Expr, ...]:
        return tuple(resolve(e, self.integers) for e in exprs)

    def _ranges(self, loop: L.Loop) -> list[tuple[L.Expr, ...]]:
        foot = self.footprint(loop)
        if foot.ranges is None:
            foot.ranges = [self._range(inner) for inner in nested(loop)]
        return foot.ranges

    def _turned(self, loop: L.Loop) -> bool:
        return id(loop) in self.any_order and L.is_lit(loop.step, 1)

    def _same_after_errors(self, a: Footprint, b: Footprint) -> bool:
        """Whether the caller sees the same if one of two statements fails that are joined or change
        places: rounds of the first are missing if the second does, rounds of the second have run
        if the first does, and of two errors the other one may come first."""
        if a.fails and b.fails:
            return False
        return not (a.fails or b.fails) or self._private(a if b.fails else b)

    def _may_join(self, stmt: L.Stmt, loop: L.Loop | None = None) -> TypeGuard[L.Loop]:
        if not isinstance(stmt, L.Loop):
            return False
        if not self.nests_first:
            return True
        ranges = self._ranges(stmt)
        return len(ranges) > 1 and not _is_fill(stmt) and (not loop or ranges == self._ranges(loop))

    def _private(self, f: Footprint) -> bool:
        """Whether nobody would notice that the statement did not run before an error."""
        return not any(
            name in self.escaping or any(self.may_alias(name, v) for v in self.escaping)
            for name, _ in f.stores
        )


def _made_once(stmts: list[L.Stmt]) -> Sizes:
    """The sizes of buffers that are made once, of what is bound once."""
    times = Counter(name for s in L.walk(stmts) for name in defs(s))
    made = {s.name: s.sizes for s in L.walk(stmts) if isinstance(s, L.Alloc)}
    return {
        name: sizes
        for name, sizes in made.items()
        if all(times[n] <= 1 for n in (name, *names_in(sizes)))
    }


def _in_step(buffer: str, var_a: str, a: Footprint, var_b: str, b: Footprint) -> bool:
    """Whether iteration i touches only elements whose index is i + c at some fixed axis."""
    places: set[tuple[int, int]] | None = None
    for var, f in ((var_a, a), (var_b, b)):
        for name, index in (*f.loads, *f.stores):
            if name != buffer:
                continue
            if index is None:
                return False
            found = {(k, L.offset(i, var)) for k, i in enumerate(index)}
            at = {(k, c) for k, c in found if c is not None}
            places = at if places is None else places & at
    return bool(places)


def _is_preparation(stmt: L.Stmt) -> bool:
    """An allocation, a number, or a check."""
    return isinstance(stmt, (L.Let, L.Alloc, L.View)) or L.is_check(stmt)


def _is_fill(stmt: L.Stmt) -> bool:
    """A nest that writes constants and does nothing else."""
    if isinstance(stmt, L.Loop):
        return all(_is_fill(s) or isinstance(s, L.Comment) for s in stmt.body)
    return isinstance(stmt, L.Store) and not stmt.add and isinstance(stmt.expr, L.Lit)


def _union(a: Footprint, b: Footprint) -> Footprint:
    """Of both, as far as it decides what may change places with them."""
    both = Footprint(a.reads | b.reads, a.writes | b.writes, a.loops | b.loops)
    vars(both).update(written=a.written | b.written, touched=a.touched | b.touched)
    return both


def _rename(loop: L.Loop, var: str) -> None:
    old = L.Name(loop.var)

    def new(e: L.Expr) -> L.Expr | None:
        return L.Name(var) if e == old else None

    L.map_stmts(loop.body, new)
    loop.var = var
