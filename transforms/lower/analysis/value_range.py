"""What is known of integers where they are read, on loop-level IR.

A loop's variable lies in the loop's range, and `j & 63` and `j % 64` between 0 and 63.  A number
that is not negative is greater than what is left of it without one of its bits: in

    if c & 1 << j != 0:
        … c ^ 1 << j …

the latter is less than c and not negative, if c is not negative.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..loop_ir import nodes as L
from ..ops.bit_shift import asked
from .liveness import defs, names_in
from .single_assignment import resolve

# What an integer is made from is not written out if it is longer than this.
LONG = 30


class Known:
    """At one place.  Names count only if they are bound once, and earlier in this very round of all
    loops around: so each stands for one number as long as it is known."""

    def __init__(self, body: list[L.Stmt], params: Iterable[str]) -> None:
        self.times = Counter(name for s in L.walk(body) for name in defs(s))
        self.times.update(params)
        self.integers: dict[str, L.Expr] = {}
        self._bound = {name: None for name in params if self.times[name] == 1}
        self._ends: dict[str, L.Expr] = {}
        self._positive: dict[str, None] = {}  # or zero
        self._bits: dict[tuple[L.Expr, L.Expr], None] = {}

    # ---- what is asked

    def spelt(self, e: L.Expr) -> L.Expr:
        return resolve(e, self.integers)

    def is_fixed(self, e: L.Expr) -> bool:
        """Has one value as long as anything here is known."""
        loads = any(isinstance(part, (L.Load, L.Field, L.Apply)) for part in L.walk_expr(e))
        return not loads and all(name in self._bound for name in names_in([e]))

    def is_natural(self, e: L.Expr) -> bool:
        """Certainly >= 0, of an integer spelt out."""
        if e.dtype != "int64":
            return False
        if isinstance(e, L.Lit):
            return e.value >= 0
        if isinstance(e, L.Size):
            return True
        if isinstance(e, L.Name):
            return e.name in self._positive
        whole = self.without_bit(e)
        if whole is not None:
            return self.is_natural(whole)
        if not isinstance(e, L.Bin):
            return False
        if e.op == "%":
            return isinstance(e.right, L.Lit) and e.right.value > 0
        if e.op == "-" and isinstance(e.left, L.Lit):
            return self.is_natural(e.right) and self.is_below(e.right, L.lit(e.left.value + 1))
        sides = [self.is_natural(side) for side in (e.left, e.right)]
        return any(sides) if e.op == "&" else e.op in ("|", "^") and all(sides)

    def is_below(self, e: L.Expr, end: L.Expr) -> bool:
        """Certainly e < end, of integers spelt out."""
        if isinstance(end, L.Lit):
            most = self.most(e)
            return most is not None and most < end.value
        if isinstance(e, L.Name):
            return self._ends.get(e.name) == end
        whole = self.without_bit(e)
        return whole is not None and self.is_natural(whole) and self.is_below(whole, end)

    def most(self, e: L.Expr) -> int | None:
        """A number that an integer spelt out certainly does not exceed."""
        if isinstance(e, L.Lit):
            return e.value
        if isinstance(e, L.Name):
            end = self._ends.get(e.name)
            return end.value - 1 if isinstance(end, L.Lit) else None
        whole = self.without_bit(e)
        if whole is not None and self.is_natural(whole):
            return self.most(whole)
        if not isinstance(e, L.Bin):
            return None
        if e.op == "%" and isinstance(e.right, L.Lit) and e.right.value > 0:
            return e.right.value - 1
        if e.op == "-" and isinstance(e.left, L.Lit) and e.left.value >= 0:
            return e.left.value if self.is_natural(e.right) else None
        # What is common with a natural number is no greater than it.
        natural = [side for side in (e.left, e.right) if e.op == "&" and self.is_natural(side)]
        found = [most for side in natural if (most := self.most(side)) is not None]
        return min(found, default=None)

    def never(self, cond: L.Expr) -> bool:
        """Certainly does not hold."""
        if isinstance(cond, L.Lit):
            return not cond.value
        if not isinstance(cond, L.Bin):
            return False
        if cond.op == "or":
            return self.never(cond.left) and self.never(cond.right)
        if cond.op == "and":
            return self.never(cond.left) or self.never(cond.right)
        left, right = self.spelt(cond.left), self.spelt(cond.right)
        if cond.op == "<" and L.is_lit(right, 0):
            return self.is_natural(left)
        return cond.op == ">=" and self.is_below(left, right)

    def without_bit(self, e: L.Expr) -> L.Expr | None:
        """The number of which `e`, spelt out, is all but one of its bits.  If it is natural, it is
        the greater of the two."""
        if isinstance(e, L.Bin) and e.op in ("^", "-") and (e.left, e.right) in self._bits:
            return e.left
        return None

    # ---- what is found out

    def after(self, stmt: L.Stmt) -> None:
        names = [name for name in defs(stmt) if self.times[name] == 1]
        if isinstance(stmt, L.Let) and names and stmt.expr.dtype == "int64":
            whole = self.spelt(stmt.expr)
            if self.is_fixed(whole) and len(L.walk_expr(whole)) <= LONG:
                self.integers[stmt.name] = whole
        if not isinstance(stmt, L.Loop):
            self._bound.update(dict.fromkeys(names))

    def in_round(self, loop: L.Loop) -> None:
        if self.times[loop.var] != 1:
            return
        self._bound[loop.var] = None
        span = L.span(loop)
        if span is None:
            return
        least, end = map(self.spelt, span)
        if self.is_natural(least):
            self._positive[loop.var] = None
        if self.is_fixed(end):
            self._ends[loop.var] = end

    def given(self, cond: L.Expr) -> None:
        """Where a condition holds."""
        if not isinstance(cond, L.Bin):
            return
        if cond.op == "and":
            self.given(cond.left)
            self.given(cond.right)
        elif cond.op == "!=" and L.is_lit(cond.right, 0):
            whole = self.spelt(cond.left)
            if isinstance(whole, L.Bin) and whole.op == "&" and self.is_fixed(whole):
                for number, bit in ((whole.left, whole.right), (whole.right, whole.left)):
                    if _is_bit(bit):
                        self._bits[number, bit] = None

    # ---- blocks

    def walk(self, body: list[L.Stmt]) -> Iterator[L.Stmt]:
        """The statements of a block and those inside, each when all is known that is before it."""
        for stmt in body:
            yield stmt
            for block in L.blocks_of(stmt):
                kept = [len(facts) for facts in self._facts()]
                if isinstance(stmt, L.Loop):
                    self.in_round(stmt)
                elif isinstance(stmt, L.If) and block is stmt.then:
                    self.given(stmt.cond)
                yield from self.walk(block)
                for facts, count in zip(self._facts(), kept):
                    while len(facts) > count:
                        facts.popitem()
            self.after(stmt)

    def _facts(self) -> tuple[dict, ...]:
        return self.integers, self._bound, self._ends, self._positive, self._bits


def _is_bit(e: L.Expr) -> bool:
    """No more than one bit is set."""
    if (shift := asked(e)) is not None:
        e = shift[1]  # or 0
    if isinstance(e, L.Lit):
        return e.value > 0 and e.value & (e.value - 1) == 0
    return isinstance(e, L.Bin) and e.op == "<<" and L.is_lit(e.left, 1) and e.dtype == "int64"
