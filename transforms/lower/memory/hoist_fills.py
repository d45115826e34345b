"""What every round of a loop writes alike is written once, before the loop, on loop-level IR.

    t = np.empty((n + 2,), np.float64)      t = np.empty((n + 2,), np.float64)
    for k in range(steps):                  if 0 < steps:
        for i in range(n):                      t[0] = 0.0
            t[i + 1] = x[i]             →       t[n + 1] = 0.0
        t[0] = 0.0                          for k in range(steps):
        t[n + 1] = 0.0                          for i in range(n):
        …                                           t[i + 1] = x[i]
                                                …

`lower/loops/scatter_to_gather.py` gives a buffer a border of zeros.  Once `hoist_allocations.py`
has made the buffer before the loop, the border stays as it is, for nothing else is written there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.record import field, record
from ..analysis.access_region import Extents
from ..analysis.buffer_uses import Uses, level_of, survey
from ..analysis.single_assignment import single_definitions
from ..loop_ir import nodes as L


@record
class _Writes:
    """What a loop writes to a buffer: statements that every round comes to and that write nothing
    but a number, with the block they stand in; and others.  Each has the loops around it."""

    alike: list[tuple[list[L.Stmt], L.Stmt, list[L.Loop]]] = field(default_factory=list)
    other: list[tuple[L.Store, list[L.Loop]]] = field(default_factory=list)


def hoist_fills(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    names = set(_candidates(body, False))
    if not names:
        return
    known = single_definitions(list(L.walk(body)))
    uses = {name: use for name, use in survey(body).items() if name in names}
    # Positions must stay as they were surveyed until all are known.
    loops = {name: _first(use) for name, use in uses.items()}
    for name, loop in loops.items():
        if loop is None:
            continue
        found = _Writes()
        _find(name, loop.body, [loop], not loop.parallel, found)
        inside = list(L.walk(loop.body))
        if found.alike and not any(isinstance(s, (L.Break, L.Return, L.Fail)) for s in inside):
            _write_once(uses[name].allocs[0][0], loop, found, Extents(loop, known))


# ---------------------------------------------------------------- finding


def _first(use: Uses) -> L.Loop | None:
    """The loop, in the block in which a buffer is made, before which nobody has touched it."""
    if use.odd or len(use.allocs) != 1:
        return None
    block, alloc = use.allocs[0]
    levels = [(path, level_of(path, block)) for path, _, _ in use.accesses]
    places = [path[level][1] for path, level in levels if level is not None]
    if len(places) < len(levels):
        return None
    first = min(places)
    stmt = block[first]
    made = L.place_in(block, alloc)
    return stmt if made < first and isinstance(stmt, L.Loop) else None


def _candidates(block: list[L.Stmt], inside: bool) -> Iterator[str]:
    for stmt in block:
        name = _filled(stmt)
        if name is not None:
            yield from [name] if inside else []
        else:
            for inner in L.blocks_of(stmt):
                yield from _candidates(inner, inside or isinstance(stmt, L.Loop))


def _filled(stmt: L.Stmt) -> str | None:
    """The buffer to which a statement writes numbers of the text, and does nothing else."""
    if isinstance(stmt, L.Store) and not stmt.add and isinstance(stmt.expr, L.Lit):
        return stmt.buffer
    if not isinstance(stmt, L.Loop) or stmt.parallel or not L.is_lit(stmt.step, 1):
        return None
    names = {_filled(s) for s in stmt.body if not isinstance(s, L.Comment)}
    return names.pop() if len(names) == 1 else None


def _find(
    name: str, block: list[L.Stmt], loops: list[L.Loop], always: bool, found: _Writes
) -> None:
    """`always`: every round of the loops comes to the block."""
    for stmt in block:
        if always and _filled(stmt) == name:
            found.alike.append((block, stmt, loops))
        elif isinstance(stmt, L.Store) and stmt.buffer == name:
            found.other.append((stmt, loops))
        elif isinstance(stmt, L.Loop):
            _find(name, stmt.body, [*loops, stmt], always and not stmt.parallel, found)
        else:
            for inner in L.blocks_of(stmt):
                _find(name, inner, loops, False, found)


def _puts(stmt: L.Stmt, loops: list[L.Loop]) -> Iterator[tuple[L.Store, list[L.Loop]]]:
    if isinstance(stmt, L.Store):
        yield stmt, loops
    elif isinstance(stmt, L.Loop):
        for inner in stmt.body:
            yield from _puts(inner, [*loops, stmt])


# ---------------------------------------------------------------- moving


def _write_once(block: list[L.Stmt], loop: L.Loop, found: _Writes, before: Extents) -> None:
    alike = [put for _, stmt, loops in found.alike for put in _puts(stmt, loops)]
    if len({put.expr for put, _ in alike}) != 1:
        return
    if not all(
        before.apart((a.index, around), (b.index, others))
        for a, around in alike
        for b, others in found.other
    ):
        return
    moved: list[L.Stmt] = []
    for _, stmt, loops in found.alike:
        new = _guarded(_spelt(stmt, set(), before), loops, before)
        if new is None:
            return
        if new not in moved:
            moved.append(new)
    for inside, stmt, _ in found.alike:
        inside[:] = [s for s in inside if s is not stmt]
    at = L.place_in(block, loop)
    block[at:at] = _together(moved)


def _together(stmts: list[L.Stmt]) -> list[L.Stmt]:
    """With what is done in the same case in one branch."""
    out: list[L.Stmt] = []
    for stmt in stmts:
        last = out[-1] if out else None
        if isinstance(stmt, L.If) and isinstance(last, L.If) and last.cond == stmt.cond:
            last.then += stmt.then
        else:
            out.append(stmt)
    return out


def _spelt(stmt: L.Stmt, own: set[str], before: Extents) -> L.Stmt | None:
    if isinstance(stmt, L.Store):
        index = [before.spelt(e, own) for e in stmt.index]
        if None in index:
            return None
        return L.Store(stmt.buffer, tuple(e for e in index if e is not None), stmt.expr)
    assert isinstance(stmt, L.Loop)
    start, stop = before.spelt(stmt.start, own), before.spelt(stmt.stop, own)
    body = [_spelt(s, {*own, stmt.var}, before) for s in stmt.body if not isinstance(s, L.Comment)]
    if start is None or stop is None or None in body:
        return None
    return L.Loop(stmt.var, start, stop, stmt.step, [s for s in body if s is not None])


def _guarded(stmt: L.Stmt | None, loops: list[L.Loop], before: Extents) -> L.Stmt | None:
    """What is written only if the loops run: otherwise there may be no such element."""
    for loop in reversed(loops):
        outermost = loop is loops[0]
        span = L.span(loop)
        ends = [e if outermost else before.spelt(e, set()) for e in span or ()]
        if stmt is None or len(ends) != 2 or ends[0] is None or ends[1] is None:
            return None
        runs = L.compare("<", ends[0], ends[1])
        if runs != L.TRUE:
            stmt = L.If(runs, [stmt])
    return stmt
