"""Liveness analysis on loop-level IR, with the def and use sets it needs.

The names are scalars and bindings of buffers.  The contents of buffers are not tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..loop_ir import nodes as L

Names = frozenset[str]
NO_NAMES: Names = frozenset()


def uses(stmt: L.Stmt) -> set[str]:
    """The names that a statement itself reads, nested blocks excluded."""
    names = names_in(L.exprs_of(stmt))
    if isinstance(stmt, (L.Store, L.View)):
        names.add(stmt.buffer)
    elif isinstance(stmt, L.Rebind):
        names.add(stmt.other)
    return names


def names_in(exprs: Iterable[L.Expr | L.Subview]) -> set[str]:
    """The names of scalars and buffers that occur in expressions."""
    names: set[str] = set()
    for e in exprs:
        if isinstance(e, L.Subview):
            names |= {e.buffer} | names_in(e.index)
            continue
        for part in L.walk_expr(e):
            if isinstance(part, L.Name):
                names.add(part.name)
            elif isinstance(part, (L.Load, L.Size)):
                names.add(part.buffer)
    return names


def defs(stmt: L.Stmt) -> tuple[str, ...]:
    """The names that a statement itself defines, nested blocks excluded.

    A loop defines its induction variable.
    """
    find = _DEFS.get(type(stmt))
    return find(stmt) if find else ()


_DEFS: dict[type, Callable[[Any], tuple[str, ...]]] = {
    **dict.fromkeys((L.Let, L.Alloc, L.View, L.Rebind), lambda stmt: (stmt.name,)),
    **dict.fromkeys((L.CallBuffers, L.CallRoutine), lambda stmt: stmt.names),
    L.Loop: lambda stmt: (stmt.var,),
}


def upward_exposed(body: list[L.Stmt]) -> Names:
    """The upward-exposed uses of a block: names whose values from before it may be read."""
    return Liveness().before(body, NO_NAMES, NO_NAMES)


def induction_vars_read_outside(block: list[L.Stmt], counters: set[str]) -> bool:
    """True if an induction variable in `counters` is read outside the loops that define it."""
    for s in block:
        if uses(s) & counters:
            return True
        left = counters - {s.var} if isinstance(s, L.Loop) else counters
        if any(induction_vars_read_outside(inner, left) for inner in L.blocks_of(s)):
            return True
    return False


def live_after_loops(body: list[L.Stmt]) -> dict[int, Names]:
    """The live-out names of each loop of a function, by the loop's identity."""
    live = Liveness(noting=True)
    live.before(body, NO_NAMES, NO_NAMES)
    return live.after


class Liveness:
    """Backward dataflow analysis.

    With `noting`, `after[id(loop)]` are the live-out names of each loop.

    One pass over a loop's body finds its live-in set.  The names that the next iteration reads are
    added to the live-out set of the body; the transfer function either keeps such a name or kills
    it, so no fixpoint iteration is needed.  The loops inside see the enlarged live-out set.  If
    they are noted, that takes a second pass over the body, but not one for each enclosing loop.
    """

    def __init__(self, noting: bool = False) -> None:
        self.noting = noting
        self.after: dict[int, Names] = {}

    def before(self, block: list[L.Stmt], live: Names, at_break: Names) -> Names:
        """The live-in set of a block with the live-out set `live`.

        `at_break` is the set that is live at the target of a `Break`.
        """
        for stmt in reversed(block):
            live = self._before(stmt, live, at_break)
        return live

    def _before(self, stmt: L.Stmt, live: Names, at_break: Names) -> Names:
        if isinstance(stmt, L.Break):
            return at_break
        if isinstance(stmt, (L.Fail, L.Return)):
            return frozenset(uses(stmt))
        if isinstance(stmt, L.If):
            branches = (self.before(b, live, at_break) for b in L.blocks_of(stmt))
            return frozenset[str]().union(*branches) | uses(stmt)
        if isinstance(stmt, L.Loop):
            if self.noting:
                self.after[id(stmt)] = self.after.get(id(stmt), NO_NAMES) | live
            live_in = live | (_WITHOUT_NOTING.before(stmt.body, live, live) - {stmt.var})
            if self.noting:
                self.before(stmt.body, live_in, live)
            return _with(live_in, uses(stmt))
        if isinstance(stmt, L.While):
            live_in = _WITHOUT_NOTING.before(stmt.body, NO_NAMES, live)
            if self.noting:
                self.before(stmt.body, live_in, live)
            return live_in
        bound = [name for name in defs(stmt) if name in live]
        return _with(live.difference(bound) if bound else live, uses(stmt))


_WITHOUT_NOTING = Liveness()


def _with(live: Names, names: set[str]) -> Names:
    """`live | names`, copied only if it changes: long kernels have thousands of names."""
    return live if names <= live else live | names
