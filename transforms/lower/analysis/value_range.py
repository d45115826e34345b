"""Value-range analysis of integers at a program point, on loop-level IR.

A loop's variable lies in the loop's range; `j & 63` and `j % 64` lie between 0 and 63.  Clearing a
set bit of a non-negative integer gives a smaller non-negative integer.  In

    if c & 1 << j != 0:
        … c ^ 1 << j …

the latter is less than c and non-negative, if c is non-negative.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..loop_ir import nodes as L
from ..ops.bit_shift import split_guarded_shift
from .liveness import defs, names_in
from .single_assignment import resolve

# Definitions with more nodes than this are not substituted.
MAX_DEFINITION_NODES = 30

_Pair = tuple[L.Expr, L.Expr]


class ValueRanges:
    """The facts that hold at one program point; `walk` moves the point through a body.

    Only names with one definition count, and only if that was executed earlier in the current
    iteration of all enclosing loops.  So a name has one value as long as facts about it are held.
    """

    def __init__(self, body: list[L.Stmt], params: Iterable[str]) -> None:
        self.definition_counts = Counter(name for s in L.walk(body) for name in defs(s))
        self.definition_counts.update(params)
        self.integers: dict[str, L.Expr] = {}
        self._defined = {name: None for name in params if self.definition_counts[name] == 1}
        # Exclusive upper bounds.
        self._ends: dict[str, L.Expr] = {}
        self._nonnegative: dict[str, None] = {}
        # Pairs of an integer and a bit that is set in it.
        self._set_bits: dict[_Pair, None] = {}

    # ---- queries

    def resolve(self, e: L.Expr) -> L.Expr:
        """`e` with names substituted by their definitions."""
        return resolve(e, self.integers)

    def is_fixed(self, e: L.Expr) -> bool:
        """True if `e` has a single value as long as the current facts hold."""
        loads = any(isinstance(part, (L.Load, L.Field, L.Apply)) for part in L.walk_expr(e))
        return not loads and all(name in self._defined for name in names_in([e]))

    def is_nonnegative(self, e: L.Expr) -> bool:
        """True if e >= 0 is proven, for `e` with definitions substituted."""
        if e.dtype != "int64":
            return False
        if isinstance(e, L.Lit):
            return e.value >= 0
        if isinstance(e, L.Size):
            return True
        if isinstance(e, L.Name):
            return e.name in self._nonnegative
        whole = self.before_clearing_bit(e)
        if whole is not None:
            return self.is_nonnegative(whole)
        if not isinstance(e, L.Bin):
            return False
        if e.op == "%":
            return isinstance(e.right, L.Lit) and e.right.value > 0
        if e.op == "-" and isinstance(e.left, L.Lit):
            return self.is_nonnegative(e.right) and self.is_less(e.right, L.lit(e.left.value + 1))
        sides = [self.is_nonnegative(side) for side in (e.left, e.right)]
        return any(sides) if e.op == "&" else e.op in ("|", "^") and all(sides)

    def is_less(self, e: L.Expr, end: L.Expr) -> bool:
        """True if e < end is proven, for operands with definitions substituted."""
        if isinstance(end, L.Lit):
            most = self.most(e)
            return most is not None and most < end.value
        if isinstance(e, L.Name):
            return self._ends.get(e.name) == end
        whole = self.before_clearing_bit(e)
        return whole is not None and self.is_nonnegative(whole) and self.is_less(whole, end)

    def most(self, e: L.Expr) -> int | None:
        """A proven inclusive upper bound of `e`, with definitions substituted, or None."""
        if isinstance(e, L.Lit):
            return e.value
        if isinstance(e, L.Name):
            end = self._ends.get(e.name)
            return end.value - 1 if isinstance(end, L.Lit) else None
        whole = self.before_clearing_bit(e)
        if whole is not None and self.is_nonnegative(whole):
            return self.most(whole)
        if not isinstance(e, L.Bin):
            return None
        if e.op == "%" and isinstance(e.right, L.Lit) and e.right.value > 0:
            return e.right.value - 1
        if e.op == "-" and isinstance(e.left, L.Lit) and e.left.value >= 0:
            return e.left.value if self.is_nonnegative(e.right) else None
        # x & y <= y for non-negative y.
        natural = [side for side in (e.left, e.right) if e.op == "&" and self.is_nonnegative(side)]
        found = [most for side in natural if (most := self.most(side)) is not None]
        return min(found, default=None)

    def is_false(self, cond: L.Expr) -> bool:
        """True if a condition is proven false."""
        if isinstance(cond, L.Lit):
            return not cond.value
        if not isinstance(cond, L.Bin):
            return False
        if cond.op == "or":
            return self.is_false(cond.left) and self.is_false(cond.right)
        if cond.op == "and":
            return self.is_false(cond.left) or self.is_false(cond.right)
        left, right = self.resolve(cond.left), self.resolve(cond.right)
        if cond.op == "<" and L.is_lit(right, 0):
            return self.is_nonnegative(left)
        return cond.op == ">=" and self.is_less(left, right)

    def before_clearing_bit(self, e: L.Expr) -> L.Expr | None:
        """The integer n, if `e`, with definitions substituted, is n with one set bit cleared.

        If n is non-negative, then 0 <= e < n.
        """
        if isinstance(e, L.Bin) and e.op in ("^", "-") and (e.left, e.right) in self._set_bits:
            return e.left
        return None

    # ---- facts

    def after(self, stmt: L.Stmt) -> None:
        """Add the facts that hold after a statement."""
        names = [name for name in defs(stmt) if self.definition_counts[name] == 1]
        if isinstance(stmt, L.Let) and names and stmt.expr.dtype == "int64":
            whole = self.resolve(stmt.expr)
            if self.is_fixed(whole) and len(L.walk_expr(whole)) <= MAX_DEFINITION_NODES:
                self.integers[stmt.name] = whole
        if not isinstance(stmt, L.Loop):
            self._defined.update(dict.fromkeys(names))

    def enter_loop(self, loop: L.Loop) -> None:
        """Add the facts about a loop's variable that hold in its body."""
        if self.definition_counts[loop.var] != 1:
            return
        self._defined[loop.var] = None
        span = L.index_range(loop)
        if span is None:
            return
        least, end = map(self.resolve, span)
        if self.is_nonnegative(least):
            self._nonnegative[loop.var] = None
        if self.is_fixed(end):
            self._ends[loop.var] = end

    def assume(self, cond: L.Expr) -> None:
        """Add the facts that hold where a condition is true."""
        if not isinstance(cond, L.Bin):
            return
        if cond.op == "and":
            self.assume(cond.left)
            self.assume(cond.right)
        elif cond.op == "!=" and L.is_lit(cond.right, 0):
            whole = self.resolve(cond.left)
            if isinstance(whole, L.Bin) and whole.op == "&" and self.is_fixed(whole):
                for integer, bit in ((whole.left, whole.right), (whole.right, whole.left)):
                    if _is_bit(bit):
                        self._set_bits[integer, bit] = None

    # ---- traversal

    def walk(self, body: list[L.Stmt]) -> Iterator[L.Stmt]:
        """The statements of a block and its nested blocks, each while the facts before it hold."""
        for stmt in body:
            yield stmt
            for block in L.blocks_of(stmt):
                counts = [len(facts) for facts in self._facts()]
                if isinstance(stmt, L.Loop):
                    self.enter_loop(stmt)
                elif isinstance(stmt, L.If) and block is stmt.then:
                    self.assume(stmt.cond)
                yield from self.walk(block)
                for facts, count in zip(self._facts(), counts):
                    while len(facts) > count:
                        facts.popitem()
            self.after(stmt)

    def _facts(self) -> tuple[dict[str, L.Expr] | dict[str, None] | dict[_Pair, None], ...]:
        return self.integers, self._defined, self._ends, self._nonnegative, self._set_bits


def _is_bit(e: L.Expr) -> bool:
    """True if at most one bit of `e` is set."""
    if (shift := split_guarded_shift(e)) is not None:
        e = shift[1]  # or 0, if the shift amount is out of range
    if isinstance(e, L.Lit):
        return e.value > 0 and e.value & (e.value - 1) == 0
    return isinstance(e, L.Bin) and e.op == "<<" and L.is_lit(e.left, 1) and e.dtype == "int64"
