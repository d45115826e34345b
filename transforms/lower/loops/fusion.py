"""Loop fusion: merge neighbouring loops over the same range, on loop-level IR.

Two loops are fused if all dependences between them are within one iteration: every access to a
buffer that one of them writes and the other accesses has the index `variable + c`, with one
constant c, at one and the same axis.  The statements between the loops must be independent of the
move.  Allocations, scalars, checks and fills with zeros that the second loop needs are moved before
the first.  If one of the loops may fail, the caller must not be able to observe the fusion.

A reverse sweep runs backwards.  If its iterations are independent, as in a sum over samples, it is
reversed to run forwards where it can then be fused with the loop that it is the adjoint of.  Values
pass from one to the other within an iteration then.  Loop nests are not reversed: with reversed and
fused nests, k-means and logistic regression took longer.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TypeGuard

from ..analysis.alias import MayAlias
from ..analysis.footprint import Footprint, Sizes, footprint
from ..analysis.fusion_profit import is_fusion_unprofitable, loop_nest
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L

# The maximal number of statements of a fused loop.  Larger loops no longer compile quickly.
MAX_FUSED_STATEMENTS = 60
# The maximal number of statements before a loop that are searched for a loop to fuse it with.
MAX_LOOKBACK = 60


class LoopFusion:
    """Fuses the loops of a function's body.

    - `may_alias(a, b)`: two buffer variables may share memory.
    - `escaping`: the buffers whose contents the caller sees even if the call fails.
    - `any_order`: loops that run backwards but whose iterations are independent.
    - `integers`: the definitions of the integers that are assigned once.
    - `sizes`: the sizes of the parameters.
    - `accepts(first, second, fused)`: the profitability test of a target, instead of that for
      vector units.
    """

    def __init__(
        self,
        may_alias: MayAlias,
        escaping: set[str],
        any_order: Iterable[L.Loop] = (),
        integers: dict[str, L.Expr] | None = None,
        sizes: Sizes | None = None,
        accepts: Callable[[L.Loop, L.Loop, L.Loop], bool] | None = None,
    ) -> None:
        self.may_alias = may_alias
        self.escaping = escaping
        self.integers = integers or {}
        self.sizes = dict(sizes or {})
        self.accepts = accepts
        self.any_order = {id(loop): loop for loop in any_order}
        self.footprints: dict[int, tuple[L.Stmt, Footprint]] = {}
        # Cached results of `may_alias`.
        self._alias_cache: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        self.fused = 0  # the number of loops fused so far
        self.nests_first = False

    def run(self, stmts: list[L.Stmt]) -> list[L.Stmt]:
        """Return the fused statements.

        Loop nests are fused first, and the statements between them are moved.  Otherwise a single
        loop, or a fill with zeros that starts a sum, would be fused with one nest and would
        separate it from the next.
        """
        self.sizes |= _single_allocations(stmts)
        self.nests_first = True
        stmts = self.block(stmts)
        self.nests_first = False
        return self.block(stmts)

    def footprint(self, stmt: L.Stmt) -> Footprint:
        """Return the cached footprint of a statement."""
        cached = self.footprints.get(id(stmt))
        if cached is None or cached[0] is not stmt:
            cached = self.footprints[id(stmt)] = stmt, footprint(stmt, self.footprint)
        return cached[1]

    def block(self, stmts: list[L.Stmt]) -> list[L.Stmt]:
        """Return a block with its loops fused.  Of successive comments only the last is kept."""
        out: list[L.Stmt] = []
        for stmt in stmts:
            self._inside(stmt)
            if not (isinstance(stmt, L.Loop) and self._fuse_either_direction(out, stmt)):
                out.append(stmt)
        follow = [*out, L.Comment("")][1:]
        return [
            s
            for s, after in zip(out, follow, strict=True)
            if not (isinstance(s, L.Comment) and isinstance(after, L.Comment))
        ]

    def _inside(self, stmt: L.Stmt) -> None:
        """Fuse the loops in the blocks of a statement."""
        before = self.fused
        if isinstance(stmt, (L.Loop, L.While)):
            stmt.body = self.block(stmt.body)
        elif isinstance(stmt, L.If):
            stmt.then, stmt.orelse = self.block(stmt.then), self.block(stmt.orelse)
        if self.fused > before:
            self.footprints.pop(id(stmt), None)

    def _fuse_either_direction(self, out: list[L.Stmt], loop: L.Loop) -> bool:
        """Fuse `loop` as it is, or reversed if its iterations are independent."""
        if self._fuse(out, loop):
            return True
        if id(loop) not in self.any_order or len(loop_nest(loop)) > 1:
            return False
        backwards = loop.start, loop.stop, loop.step
        forwards = L.index_range(loop)
        assert forwards is not None
        (loop.start, loop.stop), loop.step = forwards, L.ONE
        self.footprints.pop(id(loop), None)
        if self._fuse(out, loop):
            return True
        loop.start, loop.stop, loop.step = backwards
        self.footprints.pop(id(loop), None)
        return False

    def _fuse(self, out: list[L.Stmt], loop: L.Loop) -> bool:
        """Fuse `loop`, which follows `out`, with the nearest loop for which that is legal."""
        foot = self.footprint(loop)
        if foot.is_barrier or not self._is_fusible(loop):
            return False
        seen: dict[int, Footprint] = {}
        needed: list[int] = []  # statements to move before the earlier loop, latest first
        moving = foot
        for position in range(len(out) - 1, max(-1, len(out) - 1 - MAX_LOOKBACK), -1):
            stmt = out[position]
            if isinstance(stmt, L.Comment):
                continue
            here = seen[position] = self.footprint(stmt)
            if self._is_fusible(stmt, loop) and self._can_fuse(stmt, here, loop, foot):
                if all(self._may_precede(out[n], seen[n], here) for n in needed):
                    self._fuse_at(out, position, needed, loop)
                    return True
            if here.is_barrier or (here.fails and not _is_setup(stmt)):
                return False
            if foot.fails and (here.fails or not self._stores_locally(here)):
                return False  # the error would precede another error or an escaping store
            may_move = self.nests_first or self.accepts is not None
            if (may_move or _is_setup(stmt) or _is_fill(stmt)) and (
                here.fails or not self._independent(here, moving)
            ):
                needed.append(position)
                moving = _union(moving, here)
            elif not self._independent(here, moving):
                return False
            elif any(seen[n].fails for n in needed) and not self._stores_locally(here):
                return False  # a check would precede an escaping store
        return False

    def _fuse_at(self, out: list[L.Stmt], position: int, needed: list[int], loop: L.Loop) -> None:
        """Append the body of `loop` to the loop at `position`, and move the statements `needed`
        before that."""
        first = out[position]
        assert isinstance(first, L.Loop)
        moved = [out[n] for n in reversed(needed)]
        rest = [out[n] for n in range(position + 1, len(out)) if n not in needed]
        # The comment before the loop moves with it, unless a statement between them stays.
        remark = [rest.pop()] if rest and isinstance(rest[-1], L.Comment) else []
        out[position:] = [*moved, first, *rest]
        if loop.var != first.var:
            _rename(loop, first.var)
            for stmt in L.walk(loop.body):
                self.footprints.pop(id(stmt), None)
        first.body = self.block([*first.body, *remark, *loop.body])
        self.footprints.pop(id(first), None)
        if id(loop) not in self.any_order:
            self.any_order.pop(id(first), None)
        self.fused += 1

    # ---- independence

    def _may_precede(self, stmt: L.Stmt, moved: Footprint, loop: Footprint) -> bool:
        """True if a statement may run before an earlier loop.

        If the loop may fail, it may contain a bounds check that the statement relies on and does
        not repeat (`lower/checks/redundant.py`).
        """
        if loop.fails and not self._needs_no_check(stmt, moved):
            return False
        return self._independent(moved, loop) and self._same_after_error(moved, loop)

    def _needs_no_check(self, stmt: L.Stmt, f: Footprint) -> bool:
        """True if a statement needs no bounds check: it accesses no elements, or it stores all
        elements of a buffer and loads none."""
        if all(index is None for _, index in (*f.loads, *f.stores)):
            return True
        nest = L.perfect_nest(stmt)
        if nest is None or f.loads:
            return False
        loops, store = nest
        if store.index != tuple(L.Name(loop.var) for loop in loops):
            return False
        return self._resolved(loop.stop for loop in loops) == self._resolved(
            self.sizes.get(store.buffer, ())
        )

    def _independent(self, a: Footprint, b: Footprint) -> bool:
        """True if two statements are independent, so that they may be exchanged."""
        if not (a.defined.isdisjoint(b.mentioned) and b.defined.isdisjoint(a.mentioned)):
            return False
        if not (a.loops.isdisjoint(b.free_reads) and b.loops.isdisjoint(a.free_reads)):
            return False
        if not (a.written.isdisjoint(b.touched) and b.written.isdisjoint(a.touched)):
            return False
        for _ in self._conflicts(a, b):
            return False
        return True

    def _conflicts(self, a: Footprint, b: Footprint) -> Iterator[tuple[str, str]]:
        """Yield the pairs of buffers that may alias, of which at least one is written."""
        cache = self._alias_cache
        for p in a.touched:
            others = cache[p]
            for q in b.touched if p in a.written else b.written:
                if q not in others:
                    others[q] = p == q or self.may_alias(p, q)
                if others[q]:
                    yield p, q

    def _can_fuse(self, first: L.Loop, a: Footprint, second: L.Loop, b: Footprint) -> bool:
        """True if the fusion of two loops is legal and profitable."""
        if self._range(first) != self._range(second):
            return False
        if (
            a.is_barrier
            or a.size + b.size > MAX_FUSED_STATEMENTS
            or not self._same_after_error(a, b)
        ):
            return False
        if self.accepts is None and is_fusion_unprofitable(
            first, a.fails, second, b.fails, self._was_reversed(second)
        ):
            return False
        if any(isinstance(s, L.Call) for loop in (first, second) for s in L.walk(loop.body)):
            return False
        if first.var != second.var and first.var in b.mentioned:
            return False
        if not (a.defined.isdisjoint(b.mentioned) and b.defined.isdisjoint(a.mentioned)):
            return False
        if not (a.loops.isdisjoint(b.defined) and b.loops.isdisjoint(a.defined)):
            return False
        for p, q in self._conflicts(a, b):
            if p != q or not _same_iteration(p, first.var, a, second.var, b):
                return False
        return self.accepts is None or self.accepts(first, second, self._fused(first, second))

    def _fused(self, first: L.Loop, second: L.Loop) -> L.Loop:
        """The fusion of copies of two loops, with the loops in them."""
        first, second = copy.deepcopy(first), copy.deepcopy(second)
        if second.var != first.var:
            _rename(second, first.var)
        inside = LoopFusion(self.may_alias, self.escaping, (), self.integers, self.sizes)
        first.body = inside.block([*first.body, *second.body])
        return first

    def _range(self, loop: L.Loop) -> tuple[L.Expr, ...]:
        """Return the range of a loop, with the definitions of integers substituted."""
        return self._resolved((loop.start, loop.stop, loop.step))

    def _resolved(self, exprs: Iterable[L.Expr]) -> tuple[L.Expr, ...]:
        """Return expressions with the definitions of integers substituted."""
        return tuple(resolve(e, self.integers) for e in exprs)

    def _ranges(self, loop: L.Loop) -> list[tuple[L.Expr, ...]]:
        """Return the ranges of the loops of a nest, outermost first."""
        foot = self.footprint(loop)
        if foot.ranges is None:
            foot.ranges = [self._range(inner) for inner in loop_nest(loop)]
        return foot.ranges

    def _was_reversed(self, loop: L.Loop) -> bool:
        """True for a loop of the reverse sweep that has been reversed to run forwards."""
        return id(loop) in self.any_order and L.is_lit(loop.step, 1)

    def _same_after_error(self, a: Footprint, b: Footprint) -> bool:
        """True if the caller sees the same after an error in one of two statements that are fused
        or exchanged.

        If the second fails, iterations of the first are missing.  If the first fails, iterations of
        the second have run.  If both may fail, the other error may come first.
        """
        if a.fails and b.fails:
            return False
        return not (a.fails or b.fails) or self._stores_locally(a if b.fails else b)

    def _is_fusible(self, stmt: L.Stmt, loop: L.Loop | None = None) -> TypeGuard[L.Loop]:
        """True if a statement is a loop that is considered for fusion, with `loop` if given."""
        if not isinstance(stmt, L.Loop):
            return False
        if not self.nests_first:
            return True
        ranges = self._ranges(stmt)
        return len(ranges) > 1 and not _is_fill(stmt) and (not loop or ranges == self._ranges(loop))

    def _stores_locally(self, f: Footprint) -> bool:
        """True if all stores of a statement go to non-escaping buffers.

        Then the caller cannot observe whether it ran before an error.
        """
        return not any(
            name in self.escaping or any(self.may_alias(name, v) for v in self.escaping)
            for name, _ in f.stores
        )


def _single_allocations(stmts: list[L.Stmt]) -> Sizes:
    """Return the sizes of the buffers that are allocated once, if the names in the sizes are
    assigned at most once."""
    times = Counter(name for s in L.walk(stmts) for name in defs(s))
    made = {s.name: s.sizes for s in L.walk(stmts) if isinstance(s, L.Alloc)}
    return {
        name: sizes
        for name, sizes in made.items()
        if all(times[n] <= 1 for n in (name, *names_in(sizes)))
    }


def _same_iteration(buffer: str, var_a: str, a: Footprint, var_b: str, b: Footprint) -> bool:
    """True if iteration i accesses only elements whose index is i + c at some fixed axis."""
    common: set[tuple[int, int]] | None = None
    for var, f in ((var_a, a), (var_b, b)):
        for name, index in (*f.loads, *f.stores):
            if name != buffer:
                continue
            if index is None:
                return False
            found = {(k, L.constant_offset(i, var)) for k, i in enumerate(index)}
            at = {(k, c) for k, c in found if c is not None}
            common = at if common is None else common & at
    return bool(common)


def _is_setup(stmt: L.Stmt) -> bool:
    """True for an allocation, a view, an assignment of a scalar, or a check."""
    return isinstance(stmt, (L.Let, L.Alloc, L.View)) or L.is_check(stmt)


def _is_fill(stmt: L.Stmt) -> bool:
    """True for a loop nest that only stores literals."""
    if isinstance(stmt, L.Loop):
        return all(_is_fill(s) or isinstance(s, L.Comment) for s in stmt.body)
    return isinstance(stmt, L.Store) and not stmt.add and isinstance(stmt.expr, L.Lit)


def _union(a: Footprint, b: Footprint) -> Footprint:
    """Return the footprint of both, with the parts that `_independent` compares."""
    both = Footprint(a.reads | b.reads, a.writes | b.writes, a.loops | b.loops)
    vars(both).update(written=a.written | b.written, touched=a.touched | b.touched)
    return both


def _rename(loop: L.Loop, var: str) -> None:
    """Rename the variable of a loop."""
    old = L.Name(loop.var)

    def new(e: L.Expr) -> L.Expr | None:
        return L.Name(var) if e == old else None

    L.map_stmts(loop.body, new)
    loop.var = var
