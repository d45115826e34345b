"""Static memory planning: assign the arrays of a kernel to the caller's workspace.

An array whose size is computable on entry of the kernel gets a fixed slot.  Arrays with disjoint
live ranges share a slot.  Arrays that loops allocate repeatedly, and that have several names, are
taken from a pool of equal blocks.  Arrays whose size is known only during the run come from the
heap in the rest of the workspace (`workspace_heap.py`).  A slice of the kernel, in lowered source,
computes the sizes.  It also serves the caller's workspace size query.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .. import kernels
from ..codegen.type_inference import Types
from ..codegen.value_types import Array
from ..kernels.operations import operation

ALIGNMENT = 64
HEADER_BYTES = 64
MAX_BYTES = 1 << 48  # bytes; a larger size counts as an overflow

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


@dataclass(eq=False)
class Site:
    """An allocation site: a statement `name = np.empty(sizes, …)`."""

    stmt: ast.Assign
    name: str
    itemsize: int
    sizes: list[ast.expr]  # as written
    repeated: bool  # True inside a loop
    known: list[ast.expr] | None = None  # sizes as expressions of values available on entry
    first: int = 0  # live range: positions of the first and last top-level statement that uses it
    last: int = 0


@dataclass
class Pool:
    """Arrays of one alias set, of which at most `count` are live at a time."""

    sites: list[Site]
    count: int


@dataclass
class Growth:
    """A call of `kernels.reserve` that grows an array by `more` elements."""

    itemsize: int
    more: ast.expr


@dataclass
class Memory:
    """The workspace plan of a kernel.  Each of `slots` holds sites with disjoint live ranges.
    `heap` is True if arrays are allocated from the heap.  `counted` are the names of
    reference-counted arrays: those from pools and the heap."""

    slots: list[list[Site]] = field(default_factory=list)
    pools: list[Pool] = field(default_factory=list)
    slot_of: dict[ast.Assign, int] = field(default_factory=dict)
    pool_of: dict[ast.Assign, int] = field(default_factory=dict)
    heap: bool = False
    counted: set[str] = field(default_factory=set)
    # growth of lists and saved values, which `max_trips` bounds; empty without `max_trips`
    growth: list[Growth] = field(default_factory=list)
    trips: int = 0
    sizes: ast.FunctionDef | None = None  # returns the sizes of all planned sites, in order

    def groups(self) -> list[tuple[list[Site], int]]:
        """The sites of each slot and pool, and its number of blocks."""
        return [(sites, 1) for sites in self.slots] + [(p.sites, p.count) for p in self.pools]


def plan(
    function: ast.FunctionDef,
    known: Types,
    private: set[str],
    trips: int | None = None,
    calls: bool = False,
) -> Memory:
    """Assign each allocation site of a function to a slot, a pool or the heap.

    `private` are the arrays without aliases that are bound by one statement.  `trips` bounds the
    trip count of loops whose trip count is known only at run time.  With `calls`, a heap is needed
    for the callees."""
    shared = alias_sets(function, known)
    sites = list(_sites(function, known))
    entry = _EntryExpressions(function, known)
    for site in sites:
        found = [entry.known(e) for e in site.sizes]
        site.known = None if None in found else found  # type: ignore[assignment]
    spans = _live_ranges(function, shared)
    memory = Memory(trips=trips or 0)
    pools: dict[str, Pool] = {}
    planned: list[Site] = []
    for site in sites:
        family = shared[site.name]
        site.first, site.last = spans[family]
        if site.known is not None and (not site.repeated or site.name in private):
            planned.append(site)
        elif site.known is not None:
            members = [n for n, f in shared.items() if f == family]
            pool = pools.setdefault(family, Pool([], len(members) + 1))
            pool.sites.append(site)
        else:
            memory.heap = True
    memory.slots = _share_slots(planned)
    memory.pools = list(pools.values())
    memory.slot_of = {s.stmt: i for i, group in enumerate(memory.slots) for s in group}
    memory.pool_of = {s.stmt: i for i, p in enumerate(memory.pools) for s in p.sites}
    placed = memory.slot_of.keys()
    unplanned = {shared[s.name] for s in sites if s.stmt not in placed}
    grown_or_returned = _grown(function, known) | _returned_by_calls(function, shared)
    unplanned |= {shared[n] for n in grown_or_returned}
    memory.heap = memory.heap or bool(grown_or_returned) or calls
    memory.counted = {n for n, f in shared.items() if f in unplanned}
    if trips is not None:
        memory.growth = list(_growth(function, known, entry))
    wanted = [e for group, _ in memory.groups() for s in group for e in s.known or ()]
    memory.sizes = entry.function([*wanted, *(g.more for g in memory.growth)])
    return memory


# ---------------------------------------------------------------- allocation sites and aliases


def _sites(function: ast.FunctionDef, known: Types) -> Iterator[Site]:
    """All allocation sites, in program order."""

    def walk(stmts: list[ast.stmt], repeated: bool) -> Iterator[Site]:
        for s in stmts:
            if isinstance(s, ast.Assign) and _is_allocation(s, known):
                (target,) = s.targets
                assert isinstance(target, ast.Name) and isinstance(s.value, ast.Call)
                sizes = s.value.args[0]
                assert isinstance(sizes, ast.Tuple)
                item = known.names[target.id].dtype.bytes
                yield Site(s, target.id, item, list(sizes.elts), repeated)
            inner = repeated or isinstance(s, (ast.For, ast.While))
            yield from walk(getattr(s, "body", []), inner)
            yield from walk(getattr(s, "orelse", []), inner)

    return walk(function.body, False)


def _is_allocation(s: ast.Assign, known: Types) -> bool:
    """True for `name = np.empty(…)`."""
    if not isinstance(s.value, ast.Call) or not isinstance(s.targets[0], ast.Name):
        return False
    return not is_reshape(s.value) and known.value(s.value.func) is np.empty


def is_reshape(call: ast.Call) -> bool:
    """Whether a call in the lowered source makes a view of an array in another shape."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "reshape"


def _grown(function: ast.FunctionDef, known: Types) -> set[str]:
    """The arrays that `kernels.reserve` grows."""
    names = set()
    for s in ast.walk(function):
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call):
            target = s.targets[0]
            if not is_reshape(s.value) and known.value(s.value.func) is kernels.reserve:
                assert isinstance(target, ast.Name)
                names.add(target.id)
    return names


def _returned_by_calls(function: ast.FunctionDef, families: dict[str, str]) -> set[str]:
    """The arrays that are bound by a tuple assignment: results of calls that are not inlined; and
    those that are passed to such calls to be returned, which `rt.lent` does not mark."""
    calls = [
        s for s in ast.walk(function)
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Tuple)
    ]  # fmt: skip
    names = {n.id for s in calls for n in ast.walk(s.targets[0]) if isinstance(n, ast.Name)}
    given = (a for s in calls if isinstance(s.value, ast.Call) for a in s.value.args)
    names |= {a.id for a in given if isinstance(a, ast.Name)}
    return names & families.keys()


def _growth(function: ast.FunctionDef, known: Types, entry: _EntryExpressions) -> Iterator[Growth]:
    """The `kernels.reserve` calls whose growth is computable on entry."""
    for s in ast.walk(function):
        if not isinstance(s, ast.Assign) or not isinstance(s.value, ast.Call):
            continue
        if is_reshape(s.value) or known.value(s.value.func) is not kernels.reserve:
            continue
        assert isinstance(s.targets[0], ast.Name)
        more = entry.known(s.value.args[2])
        if more is not None:
            yield Growth(known.names[s.targets[0].id].dtype.bytes, more)


def alias_sets(function: ast.FunctionDef, known: Types) -> dict[str, str]:
    """The alias sets of array variables: each name mapped to the representative of the set of
    names that may share memory with it."""
    parent = {n: n for n, t in known.names.items() if isinstance(t, Array)}

    def find(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for s in ast.walk(function):
        if not isinstance(s, ast.Assign) or isinstance(s.targets[0], ast.Subscript):
            continue
        mentioned = [n.id for n in ast.walk(s) if isinstance(n, ast.Name) and n.id in parent]
        targets = {n.id for n in ast.walk(s.targets[0]) if isinstance(n, ast.Name)}
        if _is_allocation(s, known) or not targets & parent.keys():
            continue
        for name in mentioned[1:]:
            parent[find(name)] = find(mentioned[0])
    return {n: find(n) for n in parent}


def _live_ranges(function: ast.FunctionDef, families: dict[str, str]) -> dict[str, tuple[int, int]]:
    """The live range of each alias set: positions of the first and last top-level statement that
    mention it."""
    spans: dict[str, tuple[int, int]] = {}
    for position, s in enumerate(function.body):
        for node in ast.walk(s):
            if isinstance(node, ast.Name) and node.id in families:
                family = families[node.id]
                spans[family] = spans.get(family, (position, position))[0], position
    return spans


def _share_slots(sites: list[Site]) -> list[list[Site]]:
    """Group sites with disjoint live ranges, preferably sites of equal size."""
    groups: list[list[Site]] = []
    for site in sorted(sites, key=lambda s: s.first):
        free = [g for g in groups if g[-1].last < site.first]
        alike = [g for g in free if _extent(g[-1]) == _extent(site)]
        if free:
            (alike or free)[0].append(site)
        else:
            groups.append([site])
    return groups


def _extent(site: Site) -> tuple[int, list[str]]:
    return site.itemsize, [ast.dump(e) for e in site.known or ()]


# ---------------------------------------------------------------- sizes computable on entry


def _assignments(stmts: list[ast.stmt]) -> Iterator[ast.Assign]:
    """All assignments in program order, including those in loops and branches."""
    for s in stmts:
        if isinstance(s, ast.Assign):
            yield s
        yield from _assignments(getattr(s, "body", []))
        yield from _assignments(getattr(s, "orelse", []))


def _may_divide_by_zero(node: ast.expr) -> bool:
    """True if an expression is unsafe to speculate: it may divide by zero, and the program may
    never execute it."""
    for n in ast.walk(node):
        if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod)):
            if not (isinstance(n.right, ast.Constant) and n.right.value):
                return True
        if isinstance(n, ast.Attribute) and n.attr in ("floor_divide", "remainder"):
            return True
    return False


class _EntryExpressions:
    """Rewrites expressions in terms of parameters and of scalars with a single definition.
    `definitions` are the scalars that may be computed on entry, `needed` those that are used."""

    def __init__(self, function: ast.FunctionDef, known: Types) -> None:
        self.types = known
        self.parameters = [a.arg for a in function.args.args]
        self.definitions: dict[str, ast.expr] = {}
        outermost = {id(s) for s in function.body}
        for s in _assignments(function.body):
            if isinstance(s.targets[0], ast.Name):
                name = s.targets[0].id
                nested = id(s) not in outermost
                if name not in known.slots and name not in self.parameters:
                    if not (nested and _may_divide_by_zero(s.value)):
                        self.definitions[name] = s.value
        self.order = list(self.definitions)
        self.needed: dict[str, ast.expr] = {}

    def known(self, node: ast.expr) -> ast.expr | None:
        """The expression in terms of values available on entry, or None."""
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Subscript):
            return self._size(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            parts = self._known_all([node.left, node.right])
            return ast.BinOp(parts[0], node.op, parts[1]) if parts else None
        if isinstance(node, ast.UnaryOp):
            inner = self.known(node.operand)
            return ast.UnaryOp(node.op, inner) if inner else None
        if isinstance(node, ast.Compare):
            parts = self._known_all([node.left, *node.comparators])
            return ast.Compare(parts[0], node.ops, parts[1:]) if parts else None
        if isinstance(node, ast.BoolOp):
            parts = self._known_all(node.values)
            return ast.BoolOp(node.op, parts) if parts else None
        if isinstance(node, ast.IfExp):
            parts = self._known_all([node.test, node.body, node.orelse])
            return ast.IfExp(*parts) if parts else None
        if isinstance(node, ast.Call) and not is_reshape(node):
            function = self.types.value(node.func)
            op = operation(function)
            if (op is not None and op.is_index) or function in (np.int64, np.float64):
                parts = self._known_all(node.args)
                return ast.Call(node.func, parts, []) if parts else None
        return None

    def _known_all(self, nodes: list[ast.expr]) -> list[ast.expr]:
        """All expressions rewritten, or [] if one is not computable on entry."""
        parts = [self.known(n) for n in nodes]
        return [] if None in parts else parts  # type: ignore[return-value]

    def _name(self, node: ast.Name) -> ast.expr | None:
        name = node.id
        if isinstance(self.types.names.get(name), Array):
            return None
        if name in self.needed or (name in self.parameters and name not in self.types.slots):
            return node
        if name not in self.definitions:
            return None
        value = self.known(self.definitions[name])
        if value is None:
            return None
        self.needed[name] = value
        return node

    def _size(self, node: ast.Subscript) -> ast.expr | None:
        """Rewrite `x.shape[k]` of a parameter, or of an array with a single definition."""
        if not isinstance(node.value, ast.Attribute) or not isinstance(node.slice, ast.Constant):
            return None
        array = node.value.value
        assert isinstance(array, ast.Name)
        while isinstance(other := self.definitions.get(array.id), ast.Name):
            array = other  # an alias
        if array.id in self.parameters and array.id not in self.types.slots:
            return ast.Subscript(ast.Attribute(array, "shape", ast.Load()), node.slice, ast.Load())
        made, axis = self.definitions.get(array.id), node.slice.value
        if isinstance(made, ast.Call) and made.args and isinstance(made.args[0], ast.Tuple):
            assert isinstance(axis, int)
            return self.known(made.args[0].elts[axis])
        return None

    def function(self, sizes: list[ast.expr]) -> ast.FunctionDef:
        """A function of the same parameters that returns the given sizes."""
        body: list[ast.stmt] = []
        for name in self.order:
            if name in self.needed:
                body.append(ast.Assign([ast.Name(name, ast.Store())], self.needed[name]))
        body.append(ast.Return(ast.Tuple(sizes, ast.Load())))
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(p) for p in self.parameters], kwonlyargs=[],
            kw_defaults=[], defaults=[],
        )  # fmt: skip
        made = ast.FunctionDef("sizes", arguments, body, [])
        return ast.fix_missing_locations(made)


# ---------------------------------------------------------------- sizes in bytes


def align_up(n: int) -> int:
    """The size rounded up to the alignment."""
    return -(-n // ALIGNMENT) * ALIGNMENT


def workspace_bytes(memory: Memory, sizes: list[int]) -> int:
    """The bytes of workspace for planned arrays, given the result of `memory.sizes`."""
    total = HEADER_BYTES
    rest = iter(sizes)
    for sites, count in memory.groups():
        largest = 0
        for site in sites:
            size = site.itemsize
            for _ in site.known or ():
                size *= max(next(rest), 0)
            largest = max(largest, min(size, MAX_BYTES))
        total += align_up(largest) if count == 1 else count * (align_up(largest) + HEADER_BYTES)
    for growth in memory.growth:
        total += (
            growth_bytes_per_element(growth.itemsize, memory.trips) * max(next(rest), 0)
            + GROWTH_OVERHEAD_BYTES
        )
    return total


# Bytes reserved for each growing array in addition to its elements.
GROWTH_OVERHEAD_BYTES = 4096


def growth_bytes_per_element(itemsize: int, trips: int) -> int:
    """Bytes to reserve per element that each of `trips` iterations appends.  A full array is
    reallocated at twice its length, and the freed shorter blocks leave gaps that it may not fit
    into, hence the factor 4."""
    return align_up(4 * itemsize * trips)
