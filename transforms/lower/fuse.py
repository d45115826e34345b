"""Which values need not be computed where they are defined.

A definition may stay virtual if all its readers are reached before anything it depends on
changes.  `Usage` answers that for memory form, where a name is a variable with several
lives: it knows what is alive after each block, who reads a definition, and what a
statement writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .. import ir
from ..dims import Facts


def writes(stmt: ir.Stmt) -> Iterator[tuple[str, bool]]:
    """The variables a statement changes, and whether it changes their memory (True) or binds
    them anew."""
    for target in (*ir.targets_of(stmt), *ir.inner_targets_of(stmt)):
        yield target.name, False
    if isinstance(stmt, ir.Assign) and stmt.op.name == "pop":
        yield from ((a.name, False) for a in stmt.op.args if isinstance(a, ir.Var))
    if isinstance(stmt, ir.Store):
        yield stmt.array.name, True
    if isinstance(stmt, ir.Push):
        yield stmt.stack.name, True
    for block in ir.blocks_of(stmt):
        for inner in block:
            yield from writes(inner)


def reads(stmt: ir.Stmt) -> Iterator[str]:
    """Every variable read in a statement, nested blocks included, as often as it is."""
    for operand in ir.operands_of(stmt):
        if isinstance(operand, ir.Var):
            yield operand.name
    for block in ir.blocks_of(stmt):
        for inner in block:
            yield from reads(inner)


@dataclass(frozen=True)
class Uses:
    """The reads of one definition: how many directly in its own block, how many deeper;
    `written` are the variables changed between the definition and its last reader, by
    statements that run before a reader does."""

    direct: int
    nested: int
    written: frozenset[str]


class Usage:
    def __init__(self, function: ir.Function) -> None:
        results = {r.name for r in function.results if isinstance(r, ir.Var)}
        results |= {p.name for p, _ in function.effects}
        results |= {v.name for _, v in function.effects if isinstance(v, ir.Var)}
        self.sharing = _sharing(function)
        self.live_after: dict[int, frozenset[str]] = {}
        self._block(function.body, frozenset(results))

    def uses(self, block: ir.Block, position: int) -> Uses | None:
        """The uses of the definition at `position`; None if it must be a variable."""
        stmt = block[position]
        assert isinstance(stmt, ir.Assign)
        name = stmt.target.name
        direct = nested = 0
        written: set[str] = set()
        pending: set[str] = set()
        for later in block[position + 1 :]:
            own = sum(isinstance(o, ir.Var) and o.name == name for o in ir.operands_of(later))
            inside = sum(n == name for n in reads(later)) - own
            bound = {n for n, memory in writes(later)}
            changes = self.changed(later)
            if own or inside:
                written |= pending
                # A compound statement may write before its nested readers read.
                if inside or isinstance(later, (ir.For, ir.While)):
                    written |= changes
            direct += own
            nested += inside
            if isinstance(later, ir.Store) and later.array.name == name:
                return None
            if name in bound:
                if isinstance(later, ir.Assign) and later.target.name == name:
                    return Uses(direct, nested, frozenset(written))
                return None
            pending |= changes
        if name in self.live_after[id(block)]:
            return None
        return Uses(direct, nested, frozenset(written))

    def changed(self, stmt: ir.Stmt) -> set[str]:
        """The variables that may have another value after `stmt`."""
        out: set[str] = set()
        for name, memory in writes(stmt):
            out |= self.sharing.get(name, {name}) if memory else {name}
        return out

    def alive_after(self, block: ir.Block, position: int) -> frozenset[str]:
        live = self.live_after[id(block)]
        for stmt in reversed(block[position + 1 :]):
            live = self._stmt(stmt, live)
        return live

    # ---- liveness, backwards

    def _block(self, block: ir.Block, live: frozenset[str]) -> frozenset[str]:
        """What is alive before `block`, given what is alive after it."""
        self.live_after[id(block)] = self.live_after.get(id(block), frozenset()) | live
        for stmt in reversed(block):
            live = self._stmt(stmt, live)
        return live

    def _stmt(self, stmt: ir.Stmt, live: frozenset[str]) -> frozenset[str]:
        own = {o.name for o in ir.operands_of(stmt) if isinstance(o, ir.Var)}
        if isinstance(stmt, ir.Assign):
            return (live - {stmt.target.name}) | own
        if isinstance(stmt, ir.If):
            return self._block(stmt.then, live) | self._block(stmt.orelse, live) | own
        if isinstance(stmt, (ir.For, ir.While)):
            live = live | own
            while True:
                before = live
                if isinstance(stmt, ir.While):
                    head = self._block(stmt.body, live)
                    live = live | self._block(stmt.test, live | head)
                else:
                    live = live | self._block(stmt.body, live)
                if live == before:
                    return live
        return live | own


def as_values(function: ir.Function, facts: Facts) -> ir.Function:
    """`t += v` on a whole array that nobody else can see is `t = t + v`, so that it fuses with
    what computes t and what reads it; a product is better added in place."""
    sharing = _sharing(function)
    kept = {p.name for p in function.params}
    for position in function.notes.get("out_like", {}):
        result = function.results[position]
        kept |= {result.name} if isinstance(result, ir.Var) else set()
    names = {n for n, group in sharing.items() if len(group) > 1}

    def block(stmts: ir.Block) -> ir.Block:
        products: set[str] = set()
        out: ir.Block = []
        for stmt in stmts:
            if isinstance(stmt, ir.Assign):
                (products.add if stmt.op.name in PRODUCTS else products.discard)(stmt.target.name)
            if isinstance(stmt, ir.Store) and _is_sum(stmt, facts):
                array, value = stmt.array, stmt.value
                product = isinstance(value, ir.Var) and value.name in products
                if array.name not in kept and array.name not in names and not product:
                    op = ir.Op("add", (array, value))
                    stmt = ir.Assign(array, op, stmt.origin)
            if isinstance(stmt, ir.If):
                stmt = replace(stmt, then=block(stmt.then), orelse=block(stmt.orelse))
            elif isinstance(stmt, ir.For):
                stmt = replace(stmt, body=block(stmt.body))
            elif isinstance(stmt, ir.While):
                stmt = replace(stmt, test=block(stmt.test), body=block(stmt.body))
            out.append(stmt)
        return out

    return replace(function, body=block(function.body))


PRODUCTS = {"matmul", "dot", "einsum"}


def _is_sum(stmt: ir.Store, facts: Facts) -> bool:
    """Adds an array of the same shape and dtype, or a number, to a whole array."""
    array, value = stmt.array.type, stmt.value.type
    if not stmt.add or stmt.path or not isinstance(array, ir.Array):
        return False
    if isinstance(value, ir.Scalar):
        return value.dtype == array.dtype
    return (
        isinstance(value, ir.Array)
        and value.dtype == array.dtype
        and value.ndim == array.ndim
        and all(map(facts.known_equal, value.shape, array.shape))
    )


def _sharing(function: ir.Function) -> dict[str, set[str]]:
    """The variables that may share memory with each variable."""
    groups: dict[object, set[str]] = {}
    for name, number in function.notes.get("buffers", {}).items():
        groups.setdefault(number, set()).add(name)
    out = {name: group for group in groups.values() for name in group}
    for stmt in ir.walk(function.body):
        if isinstance(stmt, ir.Assign) and stmt.op.name == "alias":
            for a in stmt.op.args:
                if isinstance(a, ir.Var) and not isinstance(a.type, ir.Scalar):
                    both = out.get(a.name, {a.name}) | out.get(stmt.target.name, {stmt.target.name})
                    out.update(dict.fromkeys(both, both))
    return out
