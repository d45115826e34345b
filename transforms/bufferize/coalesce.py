"""Coalescing: map SSA values to variables.  Values whose live ranges do not interfere may share
one.

Values are coalesced where that saves an assignment (a phi and its inputs, a new version and the
old), and, in readable output, where they have the same user's name.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator

from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Type,
    Var,
    While,
    blocks_of,
    calls_in,
    inner_targets_of,
    targets_of,
)
from ..ir.record import field, record
from .alias_analysis import is_reference
from .copy_insertion import stem
from .live_ranges import UPDATES, Liveness, Range, merged, overlap

RESERVED = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"np", "math"}
HELPERS = (
    "stop_gradient", "strong_mul", "unbroadcast", "resize_axis", "solve_triangular", "solve_banded",
    "svd_vectors", "cofactor", "expm", "lu_compact", "lu_pivots", "pivot_order",
)  # fmt: skip

Key = tuple[tuple[str, ...], str]  # the inlined call, and the user's name


@record
class Group:
    """The values of one variable (a congruence class), in order of definition."""

    members: list[Var]
    range: Range
    key: Key | None = None
    param: bool = False
    name: str = ""
    order: int = 0


@record
class Memory:
    """The results of `alias_analysis.py` for the memory of values: the unique root, "" if there
    are several, and whether the function owns it."""

    root: dict[str, str] = field(default_factory=dict)
    fresh: dict[str, bool] = field(default_factory=dict)


def bindings(function: Function) -> Iterator[tuple[Var, Stmt | None]]:
    """All values with the statements that bind them, in program order."""
    for p in function.params:
        yield p, None
    yield from _bindings(function.body)


def _bindings(block: Block) -> Iterator[tuple[Var, Stmt]]:
    for stmt in block:
        for v in inner_targets_of(stmt):
            yield v, stmt
        for inner in blocks_of(stmt):
            yield from _bindings(inner)
        for v in targets_of(stmt):
            yield v, stmt


def key_of(v: Var, stmt: Stmt | None) -> Key | None:
    """The user's variable that a value belongs to; None for a temporary."""
    if stmt is None:
        return (), v.user or v.name
    origin = getattr(stmt, "origin", None)
    return (() if origin is None else origin.frame, v.user) if v.user else None


class Coalescer:
    def __init__(self, function: Function, memory: Memory, for_lowering: bool) -> None:
        self.function = function
        self.memory = memory
        self.for_lowering = for_lowering
        self.live = Liveness(function)
        self.groups: dict[str, Group] = {}
        for order, (v, stmt) in enumerate(bindings(function)):
            range_ = self.live.ranges.get(v.name, [])
            key = None if for_lowering else key_of(v, stmt)
            if key is not None and v.name in function.notes.get("named_by_user", ()):
                key = (), v.user
            self.groups[v.name] = Group([v], range_, key, stmt is None, order=order)

    def run(self) -> dict[str, str]:
        """By name of a value: the name of its variable."""
        candidates = list(_copies(self.function.body, 0))
        for _, a, b in sorted(candidates, key=lambda c: -c[0]):
            self.coalesce(a, b)
        if not self.for_lowering:
            self._coalesce_by_name()
        return self._names()

    def coalesce(self, a: Var, b: Operand) -> None:
        """Merge the groups of two values unless they interfere."""
        if not isinstance(b, Var):
            return
        first, second = self.groups[a.name], self.groups[b.name]
        if first is second or not self._can_merge(first, second):
            return
        if second.order < first.order:
            first, second = second, first
        first.members += second.members
        first.range = merged(first.range, second.range)
        first.key = first.key or second.key
        first.param = first.param or second.param
        for v in second.members:
            self.groups[v.name] = first

    def _can_merge(self, first: Group, second: Group) -> bool:
        if first.key and second.key and first.key != second.key:
            return False
        if self.for_lowering:
            a, b = first.members[0], second.members[0]
            if _kind(a.type) != _kind(b.type) or not self._same_memory(a, b):
                return False
        return not overlap(first.range, second.range)

    def _same_memory(self, a: Var, b: Var) -> bool:
        """True if one variable of compiled code may hold both: the same buffer, or buffers that
        the function owns."""
        if not is_reference(a.type):
            return True
        fresh, root = self.memory.fresh, self.memory.root
        if fresh.get(a.name, True) and fresh.get(b.name, True):
            return True
        return root.get(a.name, a.name) == root.get(b.name, b.name) != ""

    def _coalesce_by_name(self) -> None:
        """Coalesce values of the same user's variable, and adjoints and tangents of the same
        name."""
        leaders: dict[object, list[Var]] = {}
        preferred: dict[str, str] = self.function.notes.get("preferred_names", {})
        restored = self.function.notes.get("restored_names", {})
        for group in list(self.groups.values()):
            v = group.members[0]
            name: object = group.key
            better = preferred.get(v.name, "")
            if name is None and better.endswith(("_bar", "_dot")):
                name = better
            elif name is None and v.name in restored:
                name = "restored", restored[v.name]
            elif name is None and stem(v.name).endswith(("_bar", "_dot")):
                name = stem(v.name)
            if name is None:
                continue
            found = leaders.setdefault(name, [])
            for leader in found:
                self.coalesce(leader, v)
                if self.groups[leader.name] is self.groups[v.name]:
                    break
            else:
                found.append(v)

    # ---- names

    def _names(self) -> dict[str, str]:
        taken = set(RESERVED) | set(HELPERS) | {self.function.name}
        taken |= set(calls_in(self.function.body))
        taken |= self.function.notes.get("reserved_names", frozenset())
        unique = sorted({id(g): g for g in self.groups.values()}.values(), key=lambda g: g.order)
        results = self.function.results[: primal_results(self.function)]
        better: dict[str, str] = self.function.notes.get("preferred_names", {})
        for group in unique:
            if group.param:
                group.name = group.members[0].name
                taken.add(group.name)
        # Variables of the user's own function get their names first, then those of inlined
        # calls, then temporaries.
        for rank in (0, 1, 2):
            for group in unique:
                if group.name or rank != _rank(group):
                    continue
                first = group.members[0].name
                preferred = group.key[1] if group.key else better.get(first) or _plain(first)
                if not group.key and len(results) == 1 and results[0] in group.members:
                    preferred = "out"
                group.name = _free(_identifier(preferred), taken)
                taken.add(group.name)
        return {name: group.name for name, group in self.groups.items()}


def primal_results(function: Function) -> int:
    """The number of results of the user's function; adjoints follow them."""
    default = 1 if function.notes.get("sweeps") else len(function.results)
    return function.notes.get("primal_results", default)


def _rank(group: Group) -> int:
    return 2 if group.key is None else 1 if group.key[0] else 0


def _identifier(name: str) -> str:
    name = re.sub(r"\W", "_", name)
    return name if name.isidentifier() else f"v_{name}"


def _plain(name: str) -> str:
    """`h_L12` for `h_L12_3`: drop the SSA suffix of a name with a line number."""
    return stem(name) if re.fullmatch(r".+_L\d+_\d+", name) else name


def _free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    base, n = stem(name), 1
    while f"{base}_{n}" in taken:
        n += 1
    return f"{base}_{n}"


def _kind(type_: Type) -> tuple[object, ...]:
    if isinstance(type_, Array):
        return "array", type_.dtype, type_.ndim
    return type(type_).__name__, type_.dtype


def _copies(block: Block, depth: int) -> Iterator[tuple[int, Var, Operand]]:
    """Pairs of values whose coalescing saves an assignment, with its loop depth as priority.  A
    loop phi and its result have the highest priority."""
    for stmt in block:
        for inner in blocks_of(stmt):
            yield from _copies(inner, depth + isinstance(stmt, (For, While)))
        if isinstance(stmt, Assign):
            if stmt.op.name in UPDATES:
                yield depth, stmt.target, stmt.op.args[0]
        elif isinstance(stmt, Call):
            yield from ((depth, stmt.targets[i], stmt.args[j]) for i, j in stmt.inout)
        elif isinstance(stmt, If):
            for phi in stmt.phis:
                yield depth, phi.target, phi.then_value
                yield depth, phi.target, phi.else_value
        elif isinstance(stmt, (For, While)):
            for c in stmt.carried:
                yield 1_000_000, c.phi, c.result
                yield depth + 1, c.phi, c.next
                yield depth, c.phi, c.init


def all_names(function: Function) -> Iterable[str]:
    return [v.name for v, _ in bindings(function)]
