"""Hoist constant fills out of loops, on loop-level IR.

    t = np.empty((n + 2,), np.float64)      t = np.empty((n + 2,), np.float64)
    for k in range(steps):                  if 0 < steps:
        for i in range(n):                      t[0] = 0.0
            t[i + 1] = x[i]             →       t[n + 1] = 0.0
        t[0] = 0.0                          for k in range(steps):
        t[n + 1] = 0.0                          for i in range(n):
        …                                           t[i + 1] = x[i]
                                                …

`lower/loops/scatter_to_gather.py` gives a buffer a border of zeros.  Once `hoist_allocations.py`
has hoisted the allocation out of the loop, the border is loop-invariant, because nothing else
stores to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.record import field, record
from ..analysis.access_region import AccessRegions
from ..analysis.buffer_uses import Uses, collect_uses, depth_in_path
from ..analysis.single_assignment import single_definitions
from ..loop_ir import nodes as L


@record
class _Writes:
    """The stores of a loop to a buffer.

    `fills` are statements that every iteration executes and that only store literals, each with its
    block and its enclosing loops.  `other` are all other stores with their enclosing loops.
    """

    fills: list[tuple[list[L.Stmt], L.Stmt, list[L.Loop]]] = field(default_factory=list)
    other: list[tuple[L.Store, list[L.Loop]]] = field(default_factory=list)


def hoist_fills(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place."""
    names = set(_candidates(body, False))
    if not names:
        return
    known = single_definitions(list(L.walk(body)))
    uses = {name: use for name, use in collect_uses(body).items() if name in names}
    # Determined for all buffers first: the positions in `collect_uses` are valid only until a
    # rewrite.
    loops = {name: _first_access_loop(use) for name, use in uses.items()}
    for name, loop in loops.items():
        if loop is None:
            continue
        found = _Writes()
        _collect_stores(name, loop.body, [loop], not loop.parallel, found)
        inside = list(L.walk(loop.body))
        if found.fills and not any(isinstance(s, (L.Break, L.Return, L.Fail)) for s in inside):
            _hoist(uses[name].allocs[0][0], loop, found, AccessRegions(loop, known))


# ---------------------------------------------------------------- analysis


def _first_access_loop(use: Uses) -> L.Loop | None:
    """The loop with the first accesses to a buffer, in the block of its allocation, or None."""
    if use.has_other_uses or len(use.allocs) != 1:
        return None
    block, alloc = use.allocs[0]
    levels = [(path, depth_in_path(path, block)) for path, _, _ in use.accesses]
    places = [path[level][1] for path, level in levels if level is not None]
    if len(places) < len(levels):
        return None
    first = min(places)
    stmt = block[first]
    made = L.position_of(block, alloc)
    return stmt if made < first and isinstance(stmt, L.Loop) else None


def _candidates(block: list[L.Stmt], inside: bool) -> Iterator[str]:
    """The buffers that are filled with literals in a loop.  `inside`: the block is in a loop."""
    for stmt in block:
        name = _fill_target(stmt)
        if name is not None:
            yield from [name] if inside else []
        else:
            for inner in L.blocks_of(stmt):
                yield from _candidates(inner, inside or isinstance(stmt, L.Loop))


def _fill_target(stmt: L.Stmt) -> str | None:
    """The buffer of a fill: a statement that only stores literals to one buffer.  Or None."""
    if isinstance(stmt, L.Store) and not stmt.add and isinstance(stmt.expr, L.Lit):
        return stmt.buffer
    if not isinstance(stmt, L.Loop) or stmt.parallel or not L.is_lit(stmt.step, 1):
        return None
    names = {_fill_target(s) for s in stmt.body if not isinstance(s, L.Comment)}
    return names.pop() if len(names) == 1 else None


def _collect_stores(
    name: str, block: list[L.Stmt], loops: list[L.Loop], unconditional: bool, found: _Writes
) -> None:
    """Collect the stores to a buffer.

    `unconditional`: every iteration of `loops` executes the block.
    """
    for stmt in block:
        if unconditional and _fill_target(stmt) == name:
            found.fills.append((block, stmt, loops))
        elif isinstance(stmt, L.Store) and stmt.buffer == name:
            found.other.append((stmt, loops))
        elif isinstance(stmt, L.Loop):
            _collect_stores(
                name, stmt.body, [*loops, stmt], unconditional and not stmt.parallel, found
            )
        else:
            for inner in L.blocks_of(stmt):
                _collect_stores(name, inner, loops, False, found)


def _stores_of(stmt: L.Stmt, loops: list[L.Loop]) -> Iterator[tuple[L.Store, list[L.Loop]]]:
    """The stores of a fill, each with its enclosing loops."""
    if isinstance(stmt, L.Store):
        yield stmt, loops
    elif isinstance(stmt, L.Loop):
        for inner in stmt.body:
            yield from _stores_of(inner, [*loops, stmt])


# ---------------------------------------------------------------- rewriting


def _hoist(block: list[L.Stmt], loop: L.Loop, found: _Writes, before: AccessRegions) -> None:
    """Move the fills before the loop if they are disjoint from all other stores of the loop."""
    fills = [put for _, stmt, loops in found.fills for put in _stores_of(stmt, loops)]
    if len({put.expr for put, _ in fills}) != 1:
        return
    if not all(
        before.disjoint((a.index, around), (b.index, others))
        for a, around in fills
        for b, others in found.other
    ):
        return
    hoisted: list[L.Stmt] = []
    for _, stmt, loops in found.fills:
        new = _guarded(_before_loop(stmt, set(), before), loops, before)
        if new is None:
            return
        if new not in hoisted:
            hoisted.append(new)
    for inside, stmt, _ in found.fills:
        inside[:] = [s for s in inside if s is not stmt]
    at = L.position_of(block, loop)
    block[at:at] = _merge_branches(hoisted)


def _merge_branches(stmts: list[L.Stmt]) -> list[L.Stmt]:
    """Statements with adjacent branches on the same condition merged."""
    out: list[L.Stmt] = []
    for stmt in stmts:
        last = out[-1] if out else None
        if isinstance(stmt, L.If) and isinstance(last, L.If) and last.cond == stmt.cond:
            last.then += stmt.then
        else:
            out.append(stmt)
    return out


def _before_loop(stmt: L.Stmt, own: set[str], before: AccessRegions) -> L.Stmt | None:
    """A fill in terms of values available before the loop, or None.

    `own` are the variables of the loops of the fill itself.
    """
    if isinstance(stmt, L.Store):
        index = [before.before_loop(e, own) for e in stmt.index]
        if None in index:
            return None
        return L.Store(stmt.buffer, tuple(e for e in index if e is not None), stmt.expr)
    assert isinstance(stmt, L.Loop)
    start, stop = before.before_loop(stmt.start, own), before.before_loop(stmt.stop, own)
    body = [
        _before_loop(s, {*own, stmt.var}, before) for s in stmt.body if not isinstance(s, L.Comment)
    ]
    if start is None or stop is None or None in body:
        return None
    return L.Loop(stmt.var, start, stop, stmt.step, [s for s in body if s is not None])


def _guarded(stmt: L.Stmt | None, loops: list[L.Loop], before: AccessRegions) -> L.Stmt | None:
    """A fill guarded by conditions that `loops` run: otherwise the element may not exist."""
    for loop in reversed(loops):
        outermost = loop is loops[0]
        span = L.index_range(loop)
        ends = [e if outermost else before.before_loop(e, set()) for e in span or ()]
        if stmt is None or len(ends) != 2 or ends[0] is None or ends[1] is None:
            return None
        runs = L.compare("<", ends[0], ends[1])
        if runs != L.TRUE:
            stmt = L.If(runs, [stmt])
    return stmt
