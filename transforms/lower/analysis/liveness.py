"""Which variables are still read later, on loop-level IR.

Variables are scalars and the bindings of buffers, not what buffers hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..loop_ir import nodes as L

Names = frozenset[str]
NONE: Names = frozenset()


def uses(stmt: L.Stmt) -> set[str]:
    """What a statement itself reads, nested blocks not counted."""
    names = names_in(L.exprs_of(stmt))
    if isinstance(stmt, (L.Store, L.View)):
        names.add(stmt.buffer)
    elif isinstance(stmt, L.Rebind):
        names.add(stmt.other)
    return names


def names_in(exprs: Iterable[L.Expr | L.Part]) -> set[str]:
    names: set[str] = set()
    for e in exprs:
        if isinstance(e, L.Part):
            names |= {e.buffer} | names_in(e.index)
            continue
        for part in L.walk_expr(e):
            if isinstance(part, L.Name):
                names.add(part.name)
            elif isinstance(part, (L.Load, L.Size)):
                names.add(part.buffer)
    return names


def defs(stmt: L.Stmt) -> tuple[str, ...]:
    """The variables that a statement itself sets; a loop sets its own."""
    find = _BOUND.get(type(stmt))
    return find(stmt) if find else ()


_BOUND: dict[type, Callable[[Any], tuple[str, ...]]] = {
    **dict.fromkeys((L.Let, L.Alloc, L.View, L.Rebind), lambda stmt: (stmt.name,)),
    **dict.fromkeys((L.CallBuffers, L.CallRoutine), lambda stmt: stmt.names),
    L.Loop: lambda stmt: (stmt.var,),
}


def exposed(body: list[L.Stmt]) -> Names:
    """The variables whose values from before a block it may read."""
    return Liveness().before(body, NONE, NONE)


def counters_read(block: list[L.Stmt], counters: set[str]) -> bool:
    """Whether one is read outside of the loops that count it."""
    for s in block:
        if uses(s) & counters:
            return True
        left = counters - {s.var} if isinstance(s, L.Loop) else counters
        if any(counters_read(inner, left) for inner in L.blocks_of(s)):
            return True
    return False


def after_loops(body: list[L.Stmt]) -> dict[int, Names]:
    """The variables that may be read after each loop of a function, by its identity."""
    live = Liveness(noting=True)
    live.before(body, NONE, NONE)
    return live.after


class Liveness:
    """`after[id(loop)]` are the variables that may be read after a loop which they outlive, if it
    is to be noted.

    What is live before a loop's body follows from one pass over it: what the next round reads is
    added behind the body, and comes out unchanged or not at all.  The loops inside see it, which
    takes another pass if they are noted, though not one for each loop around."""

    def __init__(self, noting: bool = False) -> None:
        self.noting = noting
        self.after: dict[int, Names] = {}

    def before(self, block: list[L.Stmt], live: Names, at_break: Names) -> Names:
        """What is live before a block, if `live` is after it and `at_break` where a `Break`
        leads."""
        for stmt in reversed(block):
            live = self._before(stmt, live, at_break)
        return live

    def _before(self, stmt: L.Stmt, live: Names, at_break: Names) -> Names:
        if isinstance(stmt, L.Break):
            return at_break
        if isinstance(stmt, (L.Fail, L.Return)):
            return frozenset(uses(stmt))
        if isinstance(stmt, L.If):
            ways = (self.before(b, live, at_break) for b in L.blocks_of(stmt))
            return frozenset().union(*ways) | uses(stmt)
        if isinstance(stmt, L.Loop):
            if self.noting:
                self.after[id(stmt)] = self.after.get(id(stmt), NONE) | live
            again = live | (_UNNOTED.before(stmt.body, live, live) - {stmt.var})
            if self.noting:
                self.before(stmt.body, again, live)
            return _with(again, uses(stmt))
        if isinstance(stmt, L.While):
            again = _UNNOTED.before(stmt.body, NONE, live)
            if self.noting:
                self.before(stmt.body, again, live)
            return again
        bound = [name for name in defs(stmt) if name in live]
        return _with(live.difference(bound) if bound else live, uses(stmt))


_UNNOTED = Liveness()


def _with(live: Names, names: set[str]) -> Names:
    """Long kernels have thousands of names: sets of them are copied only if they change."""
    return live if names <= live else live | names
