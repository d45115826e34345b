"""Producer fusion: which definitions may be computed by their readers instead.

A definition may stay virtual if every reader is reached before any variable that the definition
depends on changes.  `Usage` decides that for memory form, where a name is a variable with several
live ranges.  It computes the live variables after each block, the readers of a definition, and the
variables that a statement writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from sys import maxsize

from ...ir import nodes
from ...ir.record import record, replace
from ...ir.symbolic_dims import Facts
from ...rules.promotion import join_dtypes


def writes(stmt: nodes.Stmt) -> Iterator[tuple[str, bool]]:
    """The variables that a statement changes, nested blocks included.

    Each comes with True if the statement writes to its memory, False if it rebinds the variable.
    """
    for target in (*nodes.targets_of(stmt), *nodes.inner_targets_of(stmt)):
        yield target.name, False
    if isinstance(stmt, nodes.Assign) and stmt.op.name == "pop":
        yield from ((a.name, False) for a in stmt.op.args if isinstance(a, nodes.Var))
    if isinstance(stmt, nodes.Store):
        yield stmt.array.name, True
    if isinstance(stmt, nodes.Push):
        yield stmt.stack.name, True
    for block in nodes.blocks_of(stmt):
        for inner in block:
            yield from writes(inner)


def reads(stmt: nodes.Stmt) -> Iterator[str]:
    """The variables that a statement reads, nested blocks included, once per read."""
    for operand in nodes.operands_of(stmt):
        if isinstance(operand, nodes.Var):
            yield operand.name
    for block in nodes.blocks_of(stmt):
        for inner in block:
            yield from reads(inner)


@record(frozen=True)
class Uses:
    """The reads of one definition.

    `direct` counts the reads by statements of the definition's own block, `nested` those in inner
    blocks.  `first` is the position of the definition, `last` that of the last reader.  `compound`
    are the positions of readers that may write before they read.  `changes` are the positions at
    which each variable changes.
    """

    direct: int
    nested: int
    first: int
    last: int
    compound: tuple[int, ...]
    changes: dict[str, list[int]]

    def is_clobbered_by(self, names: Iterable[str]) -> bool:
        """True if one of these variables may change between the definition and a reader."""
        for name in names:
            positions = self.changes.get(name, ())
            i = bisect_right(positions, self.first)
            if i < len(positions) and (
                positions[i] < self.last or any(c in self.compound for c in positions[i:])
            ):
                return True
        return False


@record
class _Index:
    """The positions in a block at which each variable is read, bound and changed, in order."""

    readers: dict[str, list[tuple[int, int, int]]]  # position, direct reads, nested reads
    binds: dict[str, list[int]]
    changes: dict[str, list[int]]


class Usage:
    """Liveness and uses of the variables of a function.

    With `elements`, only reads of array elements count.  Size queries, stores, and a parameter that
    holds a result at the end do not.
    """

    def __init__(self, function: nodes.Function, elements: bool = False) -> None:
        results = {r.name for r in function.results if isinstance(r, nodes.Var)}
        results |= {v.name for _, v in function.effects if isinstance(v, nodes.Var)}
        if not elements:
            results |= {p.name for p, _ in function.effects}
        self.elements = elements
        self.aliases = _sharing(function)
        self.live_after: dict[int, frozenset[str]] = {}
        self.indices: dict[int, tuple[nodes.Block, _Index]] = {}
        self.alive: dict[int, list[frozenset[str]]] = {}
        self._block(function.body, frozenset(results))

    def uses(self, block: nodes.Block, position: int) -> Uses | None:
        """The uses of the definition at `position`; None if it must be materialised.

        It must be materialised if it is live after the block, or if the next binding of its
        variable is not a plain assignment.
        """
        stmt = block[position]
        assert isinstance(stmt, nodes.Assign)
        name = stmt.target.name
        index = self._index(block)
        end = _after(index.binds.get(name, []), position)
        if end is not None:
            binder = block[end]
            if not (isinstance(binder, nodes.Assign) and binder.target.name == name):
                return None
        elif name in self.live_after[id(block)]:
            return None
        readers = index.readers.get(name, [])
        start = bisect_right(readers, (position, maxsize, 0))
        own = inside = 0
        last = position
        compound: list[int] = []
        for at, direct, nested in readers[start:]:
            if end is not None and at > end:
                break
            own, inside, last = own + direct, inside + nested, at
            if nested or isinstance(block[at], (nodes.For, nodes.While)):
                compound.append(at)
        return Uses(own, inside, position, last, tuple(compound), index.changes)

    def _index(self, block: nodes.Block) -> _Index:
        """The index of a block, computed once."""
        known = self.indices.get(id(block))
        if known is not None and known[0] is block:
            return known[1]
        index = _Index({}, {}, {})
        for position, stmt in enumerate(block):
            own: dict[str, int] = {}
            for operand in nodes.operands_of(stmt):
                if isinstance(operand, nodes.Var):
                    own[operand.name] = own.get(operand.name, 0) + 1
            total: dict[str, int] = {}
            for name in reads(stmt):
                total[name] = total.get(name, 0) + 1
            for name, count in total.items():
                direct = own.get(name, 0)
                index.readers.setdefault(name, []).append((position, direct, count - direct))
            for name in dict.fromkeys(n for n, _ in writes(stmt)):
                index.binds.setdefault(name, []).append(position)
            for name in self.changed(stmt):
                index.changes.setdefault(name, []).append(position)
        self.indices[id(block)] = block, index
        return index

    def changed(self, stmt: nodes.Stmt) -> set[str]:
        """The variables whose value `stmt` may change, aliases included."""
        out: set[str] = set()
        for name, memory in writes(stmt):
            out |= self.aliases.get(name, {name}) if memory else {name}
        return out

    def alive_after(self, block: nodes.Block, position: int) -> frozenset[str]:
        """The live variables after the statement at `position`."""
        known = self.alive.get(id(block))
        if known is None:
            live = self.live_after[id(block)]
            known = [live]
            for stmt in reversed(block):
                live = self._stmt(stmt, live)
                known.append(live)
            known.reverse()
            self.alive[id(block)] = known
        return known[position + 1]

    # ---- liveness: backward data-flow analysis

    def _operands(self, stmt: nodes.Stmt) -> tuple[nodes.Operand, ...]:
        """The operands that count as reads."""
        if self.elements:
            if isinstance(stmt, nodes.Store):
                return (stmt.value, *stmt.operands)
            if isinstance(stmt, nodes.Assign) and stmt.op.name in ("shape", "alias"):
                return ()
        return tuple(nodes.operands_of(stmt))

    def _block(self, block: nodes.Block, live: frozenset[str]) -> frozenset[str]:
        """The live variables before `block`, given those after it."""
        self.live_after[id(block)] = self.live_after.get(id(block), frozenset()) | live
        for stmt in reversed(block):
            live = self._stmt(stmt, live)
        return live

    def _stmt(self, stmt: nodes.Stmt, live: frozenset[str]) -> frozenset[str]:
        """Transfer function: the live variables before `stmt`, given those after it."""
        own = {o.name for o in self._operands(stmt) if isinstance(o, nodes.Var)}
        if isinstance(stmt, (nodes.Assign, nodes.Call, nodes.Draw)):
            return (live - {v.name for v in nodes.targets_of(stmt)}) | own
        if isinstance(stmt, nodes.If):
            return self._block(stmt.then, live) | self._block(stmt.orelse, live) | own
        if isinstance(stmt, (nodes.For, nodes.While)):
            live = live | own
            while True:
                before = live
                if isinstance(stmt, nodes.While):
                    head = self._block(stmt.body, live)
                    live = live | self._block(stmt.test, live | head)
                else:
                    live = live | self._block(stmt.body, live)
                if live == before:
                    return live
        if self.elements and isinstance(stmt, nodes.Store) and not stmt.path and not stmt.add:
            live = live - {stmt.array.name}
        return live | own


def _after(positions: list[int], position: int) -> int | None:
    """The first of the sorted `positions` that is greater than `position`."""
    i = bisect_right(positions, position)
    return positions[i] if i < len(positions) else None


def accumulate_to_value(function: nodes.Function, facts: Facts) -> nodes.Function:
    """Rewrite `t += v` on a whole, unaliased local array to `t = t + v`.

    The addition then fuses with the producer and the readers of t.  Matrix products are excluded:
    adding them in place is cheaper.
    """
    sharing = _sharing(function)
    kept = {p.name for p in function.params}
    for position in function.notes.get("out_like", {}):
        result = function.results[position]
        kept |= {result.name} if isinstance(result, nodes.Var) else set()
    names = {n for n, group in sharing.items() if len(group) > 1}

    def block(stmts: nodes.Block) -> nodes.Block:
        products: set[str] = set()
        out: nodes.Block = []
        for stmt in stmts:
            if isinstance(stmt, nodes.Assign):
                (products.add if stmt.op.name in PRODUCTS else products.discard)(stmt.target.name)
            if isinstance(stmt, nodes.Store) and _is_whole_array_add(stmt, facts):
                array, value = stmt.array, stmt.value
                product = isinstance(value, nodes.Var) and value.name in products
                if array.name not in kept and array.name not in names and not product:
                    op = nodes.Op("add", (array, value))
                    stmt = nodes.Assign(array, op, stmt.origin)
            if isinstance(stmt, nodes.If):
                stmt = replace(stmt, then=block(stmt.then), orelse=block(stmt.orelse))
            elif isinstance(stmt, nodes.For):
                stmt = replace(stmt, body=block(stmt.body))
            elif isinstance(stmt, nodes.While):
                stmt = replace(stmt, test=block(stmt.test), body=block(stmt.body))
            out.append(stmt)
        return out

    return replace(function, body=block(function.body))


PRODUCTS = {"matmul", "dot", "einsum"}


def _is_whole_array_add(stmt: nodes.Store, facts: Facts) -> bool:
    """True if `stmt` adds a scalar, or an array of the same shape, to a whole array.

    The promoted dtype must be that of the array.
    """
    array, value = stmt.array.type, stmt.value.type
    if not stmt.add or stmt.path or not isinstance(array, nodes.Array):
        return False
    if join_dtypes((array, value)) != array.dtype:
        return False
    return isinstance(value, nodes.Scalar) or (
        isinstance(value, nodes.Array)
        and value.ndim == array.ndim
        and all(map(facts.known_equal, value.shape, array.shape))
    )


def _sharing(function: nodes.Function) -> dict[str, set[str]]:
    """The variables that may share memory with each variable."""
    groups: dict[object, set[str]] = {}
    for name, buffer in function.notes.get("buffers", {}).items():
        groups.setdefault(buffer, set()).add(name)
    out = {name: group for group in groups.values() for name in group}
    for stmt in nodes.walk(function.body):
        if isinstance(stmt, nodes.Assign) and stmt.op.name == "alias":
            for a in stmt.op.args:
                if isinstance(a, nodes.Var) and not isinstance(a.type, nodes.Scalar):
                    both = out.get(a.name, {a.name}) | out.get(stmt.target.name, {stmt.target.name})
                    out.update(dict.fromkeys(both, both))
    return out
