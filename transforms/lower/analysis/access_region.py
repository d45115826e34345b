"""Where the elements lie that a loop comes to, on loop-level IR: whether two places are apart."""

from __future__ import annotations

from collections.abc import Callable

from ..loop_ir import nodes as L
from .dependence import Linear, combined
from .liveness import defs
from .single_assignment import value_before_loop

# An index and the loops around it, outermost first.
Place = tuple[L.Index, list[L.Loop]]


class Extents:
    """Of what is inside a loop, in terms of what is known before it; `known` are integers that have
    one value (`settled`)."""

    def __init__(self, loop: L.Loop, known: dict[str, L.Expr]) -> None:
        self.bound = {name for s in L.walk([loop]) for name in defs(s)}
        self.known = known

    def spelt(self, e: L.Expr, own: set[str]) -> L.Expr | None:
        """With the variables of loops that move along as they are."""
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
        if isinstance(e, L.Lit):
            return {None: e.value}
        if isinstance(e, L.Name) and e.name in own:
            return {e: 1}
        if isinstance(e, L.Bin) and e.op in ("+", "-"):
            left, right = self.linear(e.left, own), self.linear(e.right, own)
            return combined(left, right, 1 if e.op == "+" else -1)
        found = value_before_loop(e, self.bound, self.known)
        if found is None:
            return None
        return {found: 1} if found == e or not isinstance(found, L.Bin) else self.linear(found, own)

    def ends(self, e: L.Expr, loops: list[L.Loop]) -> tuple[Linear, Linear] | None:
        """Between what an index lies, both included."""
        own = {loop.var for loop in loops}
        low = high = self.linear(e, own)
        for loop in reversed(loops):
            span = L.span(loop)
            if low is None or high is None or span is None:
                return None
            var = L.Name(loop.var)
            if min(low.get(var, 0), high.get(var, 0)) < 0:
                return None
            ends = _chosen(span[0], min), _chosen(span[1], max)
            first, end = (self.linear(e, own - {loop.var}) for e in ends)
            low = _placed(low, var, first)
            high = _placed(high, var, combined(end, {None: 1}, -1))
        return None if low is None or high is None else (low, high)

    def apart(self, a: Place, b: Place) -> bool:
        """Whether two accesses to a buffer never come to the same element."""
        for x, y in zip(a[0], b[0]):
            p, q = self.ends(x, a[1]), self.ends(y, b[1])
            if p and q and (_less(p[1], q[0]) or _less(q[1], p[0])):
                return True
        return False


def _chosen(e: L.Expr, which: Callable[[int, int], int]) -> L.Expr:
    """One of two numbers, instead of a choice between them."""
    if isinstance(e, L.Select) and isinstance(e.x, L.Lit) and isinstance(e.y, L.Lit):
        return L.lit(which(e.x.value, e.y.value))
    return e


def _placed(form: Linear, var: L.Expr, value: Linear | None) -> Linear | None:
    if var not in form:
        return form
    rest = {term: k for term, k in form.items() if term != var}
    return combined(rest, value, form[var])


def _less(a: Linear, b: Linear) -> bool:
    gap = combined(a, b, -1)
    assert gap is not None
    return gap.pop(None, 0) < 0 and not any(gap.values())
