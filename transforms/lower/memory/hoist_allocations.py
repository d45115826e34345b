"""Makes a buffer once, before a loop, that the loop makes anew in each round, on loop-level IR.

    for i in range(n):                      t = np.empty((m,), np.float64)
        t = np.empty((m,), np.float64)  →   for i in range(n):
        …                                       …

What a fresh buffer holds is nobody's business, and the old one is out of reach once its only
variable has a new one.  So both may be the same, if no other variable ever names either.
"""

from __future__ import annotations

from ..analysis.dependence import is_small
from ..analysis.liveness import defs
from ..analysis.single_assignment import single_definitions, value_before_loop
from ..loop_ir import nodes as L

# The statements around one, and itself.
Path = tuple[L.Stmt, ...]


def hoist_allocations(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    found: dict[str, list[tuple[Path, L.Alloc]]] = {}
    _find(body, (), found)
    known = single_definitions(list(L.walk(body)))
    shared = _shared(body)
    bound: dict[int, set[str]] = {}
    gone: set[int] = set()
    before: dict[int, list[L.Stmt]] = {}
    for name, allocs in found.items():
        first = allocs[0][1]
        if name in shared or is_small(first):
            continue
        if any((a.dtype, a.sizes) != (first.dtype, first.sizes) for _, a in allocs):
            continue
        place = _place([path for path, _ in allocs], first, known, bound)
        if place is not None:
            loop, sizes = place
            gone |= {id(alloc) for _, alloc in allocs}
            before.setdefault(id(loop), []).append(L.Alloc(name, first.dtype, sizes))
    if gone:
        _move(body, gone, before)


def _move(block: list[L.Stmt], gone: set[int], before: dict[int, list[L.Stmt]]) -> None:
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _move(inner, gone, before)
    block[:] = [
        new for stmt in block if id(stmt) not in gone for new in (*before.get(id(stmt), ()), stmt)
    ]


def _find(block: list[L.Stmt], path: Path, found: dict[str, list[tuple[Path, L.Alloc]]]) -> None:
    for stmt in block:
        here = (*path, stmt)
        if isinstance(stmt, L.Alloc):
            found.setdefault(stmt.name, []).append((here, stmt))
        for inner in L.blocks_of(stmt):
            _find(inner, here, found)


def _shared(body: list[L.Stmt]) -> set[str]:
    """The variables whose buffers may have another name."""
    names: set[str] = set()
    for s in L.walk(body):
        if isinstance(s, L.Rebind):
            names |= {s.name, s.other}
        elif isinstance(s, L.View):
            names |= {s.name, s.buffer}
        elif isinstance(s, (L.CallBuffers, L.CallRoutine)):
            names |= {*s.names, *(a.buffer for a in s.args if isinstance(a, L.Part))}
    return names


def _place(
    paths: list[Path], alloc: L.Alloc, known: dict[str, L.Expr], bound: dict[int, set[str]]
) -> tuple[L.Stmt, tuple[L.Expr, ...]] | None:
    """The outermost loop around all of them before which the sizes are known; and those sizes
    as they can be computed there.  `bound` remembers what loops bind."""
    for level, loop in enumerate(paths[0][:-1]):
        if not all(len(path) > level and path[level] is loop for path in paths):
            return None
        if not all(_is_way_out(path[level:-1]) for path in paths):
            continue
        if id(loop) not in bound:
            bound[id(loop)] = {name for s in L.walk([loop]) for name in defs(s)}
        sizes = [value_before_loop(size, bound[id(loop)], known) for size in alloc.sizes]
        if None not in sizes:
            return loop, tuple(L.at_least_none(size) for size in sizes if size is not None)
    return None


def _is_way_out(path: Path) -> bool:
    """Only loops, and none that runs its rounds at once: those would share what is made outside.
    Nor does what is made in one case only leave its branch: there may not be memory for it."""
    return all(
        isinstance(stmt, L.While) or (isinstance(stmt, L.Loop) and not stmt.parallel)
        for stmt in path
    )
