"""Which loops of a nest become dimensions of a grid, and which run inside of a thread.

for i in range(n):                  grid over j, and each thread runs
    for j in range(m):          →       for i in range(n):
        b[j] += d[i, j]                     b[j] += d[i, j]
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.record import field, record
from ..analysis.alias import MayAlias
from ..analysis.dependence import LoopReductions, explain_dependence
from ..analysis.liveness import Names, names_in
from ..loop_ir import nodes as L

# The reductions of a loop with otherwise independent iterations, or why there are none.
Explain = Callable[[L.Loop, Names], "LoopReductions | str"]


def explain_in_any_order(may_alias: MayAlias) -> Explain:
    """The dependences of a loop.  Errors are no obstacle: the contents of written arguments are
    unspecified after one."""

    def explain(loop: L.Loop, after: Names) -> LoopReductions | str:
        return explain_dependence(loop, after, may_alias, set())

    return explain


@record
class Nest:
    """A loop nest as a grid: its dimensions, outermost first, the loops `inside` of a thread, the
    statements of the innermost loop, and what threads reduce into together."""

    grid: list[L.Loop]
    inside: list[L.Loop]
    body: list[L.Stmt]
    reductions: LoopReductions = field(default_factory=LoopReductions)

    @property
    def is_clean(self) -> bool:
        r = self.reductions
        return not (r.scalar_reductions or r.array_reductions or r.private_buffers)


def as_nest(loop: L.Loop, after: Callable[[L.Loop], Names], explain: Explain) -> Nest | str:
    """A loop as a grid, or the reason why it cannot be one.

    `after` gives the live-out names of a loop.
    """
    chain = _rectangular_chain(loop)
    found = explain(loop, after(loop))
    if isinstance(found, str):
        columns = _interchanged(chain, after(loop), explain, chain[1:])
        return found if columns is None else columns
    levels = [(loop, found)]
    for inner in chain[1:] if not found.private_buffers else []:
        reductions = explain(inner, after(inner))
        if isinstance(reductions, str) or reductions.private_buffers:
            break
        levels.append((inner, reductions))
    loops = [level for level, _ in levels]
    if any(r.array_reductions for _, r in levels):
        clean = [level for level, r in levels if not _reduces(r)]
        columns = _interchanged(loops, after(loop), explain, clean)
        if columns is not None:
            return columns
    return Nest(loops, [], loops[-1].body, _union([r for _, r in levels]))


def _rectangular_chain(loop: L.Loop) -> list[L.Loop]:
    """A loop and the loops of the perfect nest inside, as far as their bounds can be computed
    before the nest."""
    chain = [loop]
    while True:
        inside = [s for s in chain[-1].body if not isinstance(s, L.Comment)]
        inner = inside[0] if len(inside) == 1 else None
        if not isinstance(inner, L.Loop):
            return chain
        bounds = L.exprs_of(inner)
        if names_in(bounds) & {outer.var for outer in chain}:
            return chain
        if not all(is_speculatable(p) for e in bounds for p in L.walk_expr(e)):
            return chain
        if any(inner.var == outer.var for outer in chain):
            return chain
        chain.append(inner)


def is_speculatable(e: L.Expr) -> bool:
    """True if a node cannot fail and reads no memory, so that it may be evaluated before a loop
    that has no iterations."""
    if isinstance(e, L.Bin):
        return e.op in ("+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "and", "or")
    return isinstance(e, (L.Lit, L.Name, L.Size, L.Un, L.Select, L.Cast))


def _interchanged(
    chain: list[L.Loop], after: Names, explain: Explain, candidates: list[L.Loop]
) -> Nest | None:
    """A nest with those candidates as grid whose iterations are independent once they are the
    outermost loops, or None if there are none.

    Then iterations with different values of their variables never access the same elements, and
    those with equal values run in the order of the program.
    """
    body = chain[-1].body
    if any(L.has_break(inner.body) for inner in chain):
        return None
    grid: list[L.Loop] = []
    for candidate in candidates:
        trial = [*grid, candidate]
        rest = [inner for inner in chain if all(inner is not level for level in trial)]
        if _is_independent(trial, rest, body, after, explain):
            grid = trial
    if not grid:
        return None
    rest = [inner for inner in chain if all(inner is not level for level in grid)]
    return Nest(grid, rest, body)


def _is_independent(
    grid: list[L.Loop], inside: list[L.Loop], body: list[L.Stmt], after: Names, explain: Explain
) -> bool:
    """True if all iterations of the loops `grid`, around those `inside`, are independent."""
    for level in range(len(grid)):
        found = explain(nested([*grid[level:], *inside], body), after)
        if isinstance(found, str) or _reduces(found) or found.private_buffers:
            return False
    return True


def nested(loops: list[L.Loop], body: list[L.Stmt]) -> L.Loop:
    """New loops around a body."""
    for loop in reversed(loops):
        body = [L.Loop(loop.var, loop.start, loop.stop, loop.step, body)]
    return body[0]  # type: ignore[return-value]


def _reduces(r: LoopReductions) -> bool:
    return bool(r.scalar_reductions or r.array_reductions)


def _union(levels: list[LoopReductions]) -> LoopReductions:
    out = LoopReductions()
    for r in levels:
        out.scalar_reductions.update(r.scalar_reductions)
        out.array_reductions.update(r.array_reductions)
        out.private_buffers.update(r.private_buffers)
    return out
