"""Hoist allocations out of loops, on loop-level IR.

    for i in range(n):                      k = m - 1
        k = m - 1                           t = np.empty((k,), np.float64)
        t = np.empty((k,), np.float64)  →   for i in range(n):
        …                                       …

A new buffer has undefined contents, and the old one is unreachable once its only variable is bound
to a new one.  So both may be the same buffer, if no other variable is ever bound to either.  The
definitions that the sizes are computed from move with the allocation.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.dependence import is_small
from ..analysis.liveness import defs
from ..analysis.single_assignment import definitions_before_loop, resolve_name, single_definitions
from ..loop_ir import nodes as L
from ..loop_ir.operations import shared_buffers

# The statements that enclose a statement, outermost first, and the statement itself.
Path = tuple[L.Stmt, ...]


def hoist_allocations(
    body: list[L.Stmt], is_parallel: Callable[[L.Loop], bool] = lambda loop: loop.parallel
) -> None:
    """Rewrite `body` in place.  Allocations stay in the loops that `is_parallel` accepts."""
    found: dict[str, list[tuple[Path, L.Alloc]]] = {}
    _collect_allocations(body, (), found)
    known = single_definitions(list(L.walk(body)))
    aliased = _aliased(body)
    bound: dict[int, set[str]] = {}
    removed: set[int] = set()
    before: dict[int, list[L.Stmt]] = {}
    moved: dict[str, tuple[int, L.Stmt]] = {}
    for name, allocs in found.items():
        first = allocs[0][1]
        if name in aliased or is_small(first):
            continue
        if any((a.dtype, a.sizes) != (first.dtype, first.sizes) for _, a in allocs):
            continue
        target = _hoist_target([path for path, _ in allocs], first, known, bound, is_parallel)
        if target is not None:
            level, needed = target
            loop = allocs[0][0][level]
            removed |= {id(alloc) for _, alloc in allocs}
            sizes = tuple(_clamped(size, known) for size in first.sizes)
            before.setdefault(id(loop), []).append(L.Alloc(name, first.dtype, sizes))
            for size in needed:  # before the outermost of the loops that it is needed before
                moved[size] = min((level, loop), moved.get(size, (level, loop)), key=lambda x: x[0])
    if removed:
        lets: dict[int, list[L.Stmt]] = {}
        for stmt in L.walk(body):
            if isinstance(stmt, L.Let) and stmt.name in moved:
                lets.setdefault(id(moved[stmt.name][1]), []).append(stmt)
                removed.add(id(stmt))
        for loop, stmts in lets.items():
            before[loop] = stmts + before.get(loop, [])
        _move(body, removed, before)


def _clamped(size: L.Expr, known: dict[str, L.Expr]) -> L.Expr:
    """`size`, or 0 where it is negative: then the loop does not run."""
    value = resolve_name(size, known)
    at_least_zero = isinstance(value, L.Select) and L.clamp_to_zero(value.x) == value
    return size if at_least_zero else L.clamp_to_zero(size)


def _move(block: list[L.Stmt], removed: set[int], before: dict[int, list[L.Stmt]]) -> None:
    """Remove the statements in `removed` and insert those in `before`, both keyed by identity."""
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _move(inner, removed, before)
    block[:] = [
        new
        for stmt in block
        if id(stmt) not in removed
        for new in (*before.get(id(stmt), ()), stmt)
    ]


def _collect_allocations(
    block: list[L.Stmt], path: Path, found: dict[str, list[tuple[Path, L.Alloc]]]
) -> None:
    """Collect the allocations of each name, with their paths."""
    for stmt in block:
        here = (*path, stmt)
        if isinstance(stmt, L.Alloc):
            found.setdefault(stmt.name, []).append((here, stmt))
        for inner in L.blocks_of(stmt):
            _collect_allocations(inner, here, found)


def _aliased(body: list[L.Stmt]) -> set[str]:
    """The variables whose buffers may be bound to another variable."""
    names: set[str] = set()
    for s in L.walk(body):
        if isinstance(s, (L.Rebind, L.View, L.CallBuffers, L.CallRoutine)):
            names |= {*defs(s), *shared_buffers(s)}
    return names


def _hoist_target(
    paths: list[Path],
    alloc: L.Alloc,
    known: dict[str, L.Expr],
    bound: dict[int, set[str]],
    is_parallel: Callable[[L.Loop], bool],
) -> tuple[int, set[str]] | None:
    """The outermost loop that the allocations can be hoisted out of, and the names that move.

    The loop is given by its level in the paths.  The sizes must be computable before it: the names
    that they are computed from and that the loop defines move before it.  `bound` caches the names
    that each loop defines.
    """
    for level, loop in enumerate(paths[0][:-1]):
        if not all(len(path) > level and path[level] is loop for path in paths):
            return None
        if not all(_is_hoistable(path[level:-1], is_parallel) for path in paths):
            continue
        if id(loop) not in bound:
            bound[id(loop)] = {name for s in L.walk([loop]) for name in defs(s)}
        needed = definitions_before_loop(alloc.sizes, bound[id(loop)], known)
        if needed is not None:
            return level, needed
    return None


def _is_hoistable(path: Path, is_parallel: Callable[[L.Loop], bool]) -> bool:
    """True if a path has only sequential loops.

    The iterations of a parallel loop would share a buffer that is allocated outside.  An allocation
    does not leave a branch: it may be for a case that does not occur, and exhaust the memory.
    """
    return all(
        isinstance(stmt, L.While) or (isinstance(stmt, L.Loop) and not is_parallel(stmt))
        for stmt in path
    )
