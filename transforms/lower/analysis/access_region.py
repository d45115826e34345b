"""Access regions: symbolic index ranges of accesses inside a loop, and a disjointness test on them.

Indices are linear forms (`dependence.py`) in terms of values that are available before the loop.
Two accesses are disjoint if their index ranges along one axis do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable

from ..loop_ir import nodes as L
from .dependence import Linear, add_scaled
from .liveness import defs
from .single_assignment import value_before_loop

# An index and the loops that enclose it, outermost first.
IndexInLoops = tuple[L.Index, list[L.Loop]]


class AccessRegions:
    """Index ranges inside a loop, in terms of values available before it.

    `known` are the integers with a single definition (`single_assignment.single_definitions`).
    """

    def __init__(self, loop: L.Loop, known: dict[str, L.Expr]) -> None:
        self.bound = {name for s in L.walk([loop]) for name in defs(s)}
        self.known = known

    def before_loop(self, e: L.Expr, own: set[str]) -> L.Expr | None:
        """`e` in terms of values available before the loop, or None if that is impossible.

        The names in `own` stay: they are variables of loops that are moved together with `e`.
        """
        failed: list[L.Expr] = []

        def new(part: L.Expr) -> L.Expr | None:
            if isinstance(part, L.Name) and part.name in own:
                return part
            if isinstance(part, (L.Lit, L.Bin)):
                return None
            found = value_before_loop(part, self.bound, self.known)
            return failed.append(part) if found is None else found

        e = L.map_expr(e, new)
        return None if failed else e

    def linear(self, e: L.Expr, own: set[str]) -> Linear | None:
        """`e` as a linear form of `own` names and values available before the loop, or None."""
        if isinstance(e, L.Lit):
            return {None: e.value}
        if isinstance(e, L.Name) and e.name in own:
            return {e: 1}
        if isinstance(e, L.Bin) and e.op in ("+", "-"):
            left, right = self.linear(e.left, own), self.linear(e.right, own)
            return add_scaled(left, right, 1 if e.op == "+" else -1)
        found = value_before_loop(e, self.bound, self.known)
        if found is None:
            return None
        return {found: 1} if found == e or not isinstance(found, L.Bin) else self.linear(found, own)

    def index_bounds(self, e: L.Expr, loops: list[L.Loop]) -> tuple[Linear, Linear] | None:
        """The least and the greatest value of an index over its `loops`, both inclusive, or None.

        The loops are eliminated from the innermost out.  Each variable must have a coefficient that
        is not negative.
        """
        own = {loop.var for loop in loops}
        low = high = self.linear(e, own)
        for loop in reversed(loops):
            span = L.index_range(loop)
            if low is None or high is None or span is None:
                return None
            var = L.Name(loop.var)
            if min(low.get(var, 0), high.get(var, 0)) < 0:
                return None
            ends = _fold_select(span[0], min), _fold_select(span[1], max)
            first, end = (self.linear(e, own - {loop.var}) for e in ends)
            low = _substitute(low, var, first)
            high = _substitute(high, var, add_scaled(end, {None: 1}, -1))
        return None if low is None or high is None else (low, high)

    def disjoint(self, a: IndexInLoops, b: IndexInLoops) -> bool:
        """True if two accesses to a buffer are provably disjoint."""
        for x, y in zip(a[0], b[0]):
            p, q = self.index_bounds(x, a[1]), self.index_bounds(y, b[1])
            if p and q and (_is_less(p[1], q[0]) or _is_less(q[1], p[0])):
                return True
        return False


def _fold_select(e: L.Expr, which: Callable[[int, int], int]) -> L.Expr:
    """The min or max, given as `which`, of a select between two literals; any other `e` as is."""
    if isinstance(e, L.Select) and isinstance(e.x, L.Lit) and isinstance(e.y, L.Lit):
        return L.lit(which(e.x.value, e.y.value))
    return e


def _substitute(form: Linear, var: L.Expr, value: Linear | None) -> Linear | None:
    """`form` with `value` substituted for `var`."""
    if var not in form:
        return form
    rest = {term: k for term, k in form.items() if term != var}
    return add_scaled(rest, value, form[var])


def _is_less(a: Linear, b: Linear) -> bool:
    """True if a < b for all values of the terms."""
    gap = add_scaled(a, b, -1)
    assert gap is not None
    return gap.pop(None, 0) < 0 and not any(gap.values())
