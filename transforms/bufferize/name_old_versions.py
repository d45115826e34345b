"""Name old versions: versions of the user's variables that are read after the name is rebound.

Such a version gets a second name, after the line that defines it, before the user's statement
rebinds the first one: `h_L12 = h`.  So the user's statements stay unchanged.
"""

from __future__ import annotations

from bisect import bisect_right

from ..ir.builder import NameSupply
from ..ir.nodes import (
    Assign,
    Block,
    For,
    Function,
    If,
    Op,
    Operand,
    Stmt,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    targets_of,
    walk,
)
from .coalesce import bindings, key_of
from .copy_insertion import group_start, line_of, stem
from .live_ranges import Liveness, overlap, rewrite_reads


def name_old_versions(function: Function, names: NameSupply) -> None:
    """Insert the second names and redirect later reads to them, in place."""
    live = Liveness(function)
    sites = _BindingSites(function, live)
    versions: dict[object, list[tuple[Var, Stmt | None]]] = {}
    for v, stmt in bindings(function):
        origin = getattr(stmt, "origin", None)
        if key_of(v, stmt) is not None and (origin is None or origin.sweep == 0):
            versions.setdefault(key_of(v, stmt), []).append((v, stmt))
    kept: dict[str, tuple[Var, list[int]]] = {}
    insertions: dict[int, tuple[Block, list[tuple[int, Assign]]]] = {}
    for group in versions.values():
        for i, (v, stmt) in enumerate(group):
            later = _interfering_versions(sites, v, group[i + 1 :])
            if not later:
                continue
            bound = [sites.bound(w, v) for w in later]
            block = sites.home.get(v.name, function.body)
            at = sites.holder(block, min(bound))
            if at is None or v in list(targets_of(block[at])) or not _binds_any(block[at], later):
                continue
            origin = getattr(stmt, "origin", None)
            line = "in" if origin is None else f"L{line_of(origin)}"
            copy = Var(names.fresh(f"{v.user or stem(v.name)}_{line}"), v.type)
            kept[v.name] = copy, bound
            assign = Assign(copy, Op("alias", (v,)), None)
            into = insertions.setdefault(id(block), (block, []))[1]
            into.append((group_start(block, at, v), assign))
    if kept:
        _redirect_reads(function, live, sites, kept)
    for block, new in insertions.values():
        for at, assign in sorted(new, key=lambda pair: pair[0], reverse=True):
            block.insert(at, assign)
    before = function.notes.get("kept", ())
    function.notes["kept"] = (*before, *(copy.name for copy, _ in kept.values()))


def _interfering_versions(
    sites: _BindingSites, v: Var, group: list[tuple[Var, Stmt | None]]
) -> list[Var]:
    """The versions that are bound while `v` is live, up to one in the same block as `v`, which
    every path passes."""
    ranges = sites.live.ranges
    alive = ranges.get(v.name, [])
    home = sites.home.get(v.name, sites.function.body)
    found = []
    for w, _ in group:
        if alive and ranges.get(w.name, [(0, 0)])[0][0] > alive[-1][1]:
            break
        if overlap(alive, ranges.get(w.name, [])):
            found.append(w)
            if sites.home.get(w.name) is home:
                break
    return found


def _redirect_reads(
    function: Function, live: Liveness, sites: _BindingSites, kept: dict[str, tuple[Var, list[int]]]
) -> None:
    def swap(operand: Operand, point: int) -> Operand:
        if isinstance(operand, Var) and operand.name in kept:
            copy, bound = kept[operand.name]
            if any(p <= point and not sites.in_other_branch(p, point) for p in bound):
                return copy
        return operand

    def at_end(operand: Operand) -> Operand:
        return swap(operand, live.last)

    rewrite_reads(function.body, live, swap)
    function.results = [at_end(r) for r in function.results]
    function.effects = [(p, at_end(e)) for p, e in function.effects]


def _binds_any(stmt: Stmt, values: list[Var]) -> bool:
    names = {v.name for v in values}
    return any(
        v.name in names for s in walk([stmt]) for v in (*targets_of(s), *inner_targets_of(s))
    )


class _BindingSites:
    """The binding site of each value: its block and the enclosing loops; and the branches of the
    function, as program points."""

    def __init__(self, function: Function, live: Liveness) -> None:
        self.function = function
        self.live = live
        self.home: dict[str, Block] = {}
        self.loops: dict[str, tuple[Stmt, ...]] = {}
        self.branches: list[tuple[int, int, int]] = []
        self.starts: dict[int, list[int]] = {}
        self._visit(function.body, ())

    def _visit(self, block: Block, loops: tuple[Stmt, ...]) -> None:
        self.starts[id(block)] = [2 * self.live.points(stmt).begin for stmt in block]
        for stmt in block:
            place = self.live.points(stmt)
            for v in targets_of(stmt):
                self.home[v.name], self.loops[v.name] = block, loops
                if isinstance(stmt, (For, While)):
                    self.loops[v.name] = (*loops, stmt)
            inner = (*loops, stmt) if isinstance(stmt, (For, While)) else loops
            for v in inner_targets_of(stmt):
                assert isinstance(stmt, (For, While))
                self.home[v.name], self.loops[v.name] = stmt.body, inner
            if isinstance(stmt, If):
                ends = place.tail * 2 + 1, place.else_tail * 2 + 1
                self.branches.append((place.begin * 2, *ends))
            for nested in blocks_of(stmt):
                self._visit(nested, inner)

    def bound(self, w: Var, v: Var) -> int:
        """The first point at which `w` may be bound while `v` is visible.  Because of the back
        edge, a value bound in a loop counts as bound from the start of the loop."""
        point = self.live.ranges[w.name][0][0]
        outside = {id(loop) for loop in self.loops.get(v.name, ())}
        loops = [loop for loop in self.loops.get(w.name, ()) if id(loop) not in outside]
        return min([point, *(self.live.points(loop).begin * 2 + 1 for loop in loops)])

    def holder(self, block: Block, point: int) -> int | None:
        """The index of the statement of `block` that contains `point`."""
        at = bisect_right(self.starts[id(block)], point) - 1
        return at if at >= 0 else None

    def in_other_branch(self, bound: int, point: int) -> bool:
        """True if `bound` is in the then-block and `point` in the else-block of one branch."""
        return any(lo < bound < mid < point <= hi for lo, mid, hi in self.branches)
