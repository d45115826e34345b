"""Final values: dependence analysis for array elements that are not overwritten before a loop
nest ends.

The sweep may need elements that a loop read from an array which it also writes.  If these elements
are never written again, the array still holds them after the loop, and no copy is saved.  An
example are the finished rows of a factorisation.

Array indices and loop bounds have the form `symbol + constant`, where the symbol is a loop index
or a size.  The condition that a later write touches an element that was read is then a system of
difference constraints `a - b <= c`.  It is infeasible if and only if its constraint graph has a
negative cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Op,
    Operand,
    Scalar,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    symbolic_value,
    targets_of,
    walk,
)
from ..ir.record import record
from ..ir.symbolic_dims import Atom, Dim, Facts, symbol_is_size

# The difference constraint a - b <= c.  a and b are variables, or "" for the constant 0.
Bound = tuple[str, str, int]
# The minimum and maximum index along one axis; None where there is no bound.
Span = tuple[Dim | None, Dim | None]


@record(frozen=True)
class Definition:
    """The program point that defines a version of an array: the enclosing loops, outermost first,
    and the number of statements before it."""

    loops: tuple[For, ...]
    order: int


@record(frozen=True)
class Access:
    """A read or write: its elements, the enclosing loops, outermost first, and the definition of
    the version that it reads or writes."""

    spans: tuple[Span, ...]
    loops: tuple[For, ...]
    since: Definition


@record(frozen=True)
class SymbolNames:
    """The variables of symbols in the constraints.  Loop indices have names of their own; `mark`
    is appended to symbols that may differ between the read and the write."""

    indices: dict[str, str]
    fixed: set[str]
    mark: str = ""

    def changes(self, symbol: str) -> bool:
        """True if a symbol is not invariant in the outermost loop."""
        return symbol in self.indices or symbol.split(".")[0] not in self.fixed

    def name(self, symbol: str) -> str:
        if symbol in self.indices or not self.changes(symbol):
            return self.indices.get(symbol, symbol)
        return symbol + self.mark


class FinalValues:
    """Finds final values for the tape slots of one function."""

    def __init__(self, function: Function, facts: Facts, order: dict[int, int]) -> None:
        self.function = function
        self.facts = facts
        self.order = order  # by id of a statement: the number of statements before it
        self.fixed: set[str] = set()  # the names that are invariant in the outermost loop
        self.known: dict[int, tuple[set[str], list[tuple[Var, dict[str, Definition]]]]] = {}

    def final(self, value: Var, block: Block, loops: Sequence[For | While]) -> Op | None:
        """An operation that reads the value of a slot from the version of an array after the
        outermost loop; None if the element may be overwritten.  `block` holds the `Save`; `loops`
        enclose it, outermost first."""
        nest = [loop for loop in loops if isinstance(loop, For)]
        if len(nest) < len(loops) or not nest or not _distinct(nest):
            return None
        self.fixed, arrays = self._carried(nest[0])
        for stmt in block:
            found = _access(stmt, value)
            if found is None:
                continue
            array, spans, op = found
            for result, versions in arrays:
                if array.name in versions:
                    read = Access(spans, tuple(nest), versions[array.name])
                    if self._is_never_overwritten(read, nest[0], versions):
                        return Op("index", (result, *op.args), op.attrs)
        return None

    def _carried(self, loop: For) -> tuple[set[str], list[tuple[Var, dict[str, Definition]]]]:
        """The names that are invariant in a loop, and the arrays it carries: for each, its result
        and the definitions of its versions."""
        if id(loop) not in self.known:
            arrays = [
                (c.result, self._versions(loop, c.phi, c.next))
                for c in loop.carried
                if isinstance(c.phi.type, Array)
            ]
            self.known[id(loop)] = _bound_before(self.function, loop), arrays
        return self.known[id(loop)]

    def _versions(self, loop: For, phi: Var, last: Operand) -> dict[str, Definition]:
        """The versions of a carried array in a loop, by name.  Empty if a version is defined by
        anything but a write into the previous one."""
        found = {phi.name: Definition((loop,), self.order[id(loop)])}
        return found if self._trace(loop.body, last, (loop,), found) == phi else {}

    def _trace(
        self, block: Block, x: Operand, loops: tuple[For, ...], found: dict[str, Definition]
    ) -> Var | None:
        """The version of an array before a block, if its version at the end is `x`; None if it is
        not only written into.  The versions in between are added to `found`."""
        makers = {t.name: s for s in block for t in targets_of(s)}
        while isinstance(x, Var) and x.name in makers:
            stmt = makers[x.name]
            found[x.name] = Definition(loops, max(self.order[id(s)] for s in walk([stmt])))
            if isinstance(stmt, Assign) and stmt.op.name in ("update", "update_add"):
                x = stmt.op.args[0]
            elif isinstance(stmt, For):
                c = next((c for c in stmt.carried if c.result == x), None)
                if c is None:
                    return None
                inner = (*loops, stmt)
                found[c.phi.name] = Definition(inner, self.order[id(stmt)])
                if self._trace(stmt.body, c.next, inner, found) != c.phi:
                    return None
                x = c.init
            elif isinstance(stmt, If):
                phi = next(p for p in stmt.phis if p.target == x)
                first = self._trace(stmt.then, phi.then_value, loops, found)
                if first is None or self._trace(stmt.orelse, phi.else_value, loops, found) != first:
                    return None
                x = first
            else:
                return None
        return x if isinstance(x, Var) else None

    def _is_never_overwritten(
        self, read: Access, loop: For, versions: dict[str, Definition]
    ) -> bool:
        """True if no later write of the loop touches an element of the read."""
        if not self._has_nonnegative_indices(read):
            return False
        for write in self._writes(loop.body, (loop,), versions):
            if write is None or not _distinct(write.loops):
                return False
            if not self._has_nonnegative_indices(write):
                return False
            if any(map(_is_feasible, self._overlap_constraints(read, write))):
                return False
        return True

    def _writes(
        self, block: Block, loops: tuple[For, ...], versions: dict[str, Definition]
    ) -> Iterator[Access | None]:
        """All writes into the array in a loop; None for a write of unknown elements."""
        for stmt in block:
            if isinstance(stmt, For):
                yield from self._writes(stmt.body, (*loops, stmt), versions)
            elif isinstance(stmt, If):
                for inner in blocks_of(stmt):
                    yield from self._writes(inner, loops, versions)
            elif isinstance(stmt, Assign) and stmt.target.name in versions:
                spans = _written(stmt.op)
                since = versions[stmt.target.name]
                yield None if spans is None else Access(spans, loops, since)

    # ---- difference constraints

    def _overlap_constraints(self, read: Access, write: Access) -> Iterator[list[Bound]]:
        """For each loop level at which the write can follow the read: the constraints under which
        they touch the same element."""
        shared = 0
        for a, b in zip(read.since.loops, write.loops):
            shared += a is b
        for level in range(shared + 1):
            if level == shared and write.since.order <= read.since.order:
                continue
            ours, theirs = self._names(read.loops, "'"), self._names(write.loops, '"')
            for loop in read.loops[:level]:
                theirs.indices[_symbol(loop)] = ours.indices[_symbol(loop)]
            bounds = [*self._domain(read.loops, ours), *self._domain(write.loops, theirs)]
            if level < shared:
                loop = read.loops[level]
                now, later = ours.name(_symbol(loop)), theirs.name(_symbol(loop))
                up = _direction(loop)
                if up is None:
                    yield []
                    continue
                bounds.append((now, later, -1) if up else (later, now, -1))
            for (a, b), (c, d) in zip(read.spans, write.spans):
                bounds += self._at_most(a, ours, d, theirs)
                bounds += self._at_most(c, theirs, b, ours)
                bounds += self._at_most(a, ours, b, ours)
                bounds += self._at_most(c, theirs, d, theirs)
            yield bounds

    def _names(self, loops: tuple[For, ...], mark: str) -> SymbolNames:
        indices = {_symbol(loop): _symbol(loop) + mark for loop in loops}
        return SymbolNames(indices, self.fixed, mark)

    def _domain(self, loops: tuple[For, ...], names: SymbolNames) -> Iterator[Bound]:
        """The constraints of the iteration domain."""
        for loop in loops:
            index, start = Dim.of(_symbol(loop)), _value(loop.start)
            stop = None if loop.count is not None else _value(loop.stop)
            up = _upwards(loop)
            if up is None:
                continue
            last = None if stop is None else stop + (-1 if up else 1)
            low, high = (start, last) if up else (last, start)
            yield from self._at_most(low, names, index, names)
            yield from self._at_most(index, names, high, names)

    def _at_most(
        self, a: Dim | None, names_a: SymbolNames, b: Dim | None, names_b: SymbolNames
    ) -> list[Bound]:
        """The constraint a <= b; empty if it is not a difference constraint."""
        left, right = self._variable(a, names_a), self._variable(b, names_b)
        if left is None or right is None:
            return []
        return [(left[0], right[0], right[1] - left[1])]

    def _variable(self, dim: Dim | None, names: SymbolNames) -> tuple[str, int] | None:
        """A dim as a variable and a constant to be added; None if it has another form."""
        if dim is None:
            return None
        dim = self.facts.canonical(dim)
        if dim.is_const:
            return "", dim.const
        ((monomial, k), *more) = dim.terms
        if more or k != 1 or len(monomial) != 1:
            return None
        (symbol,) = monomial
        if isinstance(symbol, Atom):
            if any(map(names.changes, Dim.of(symbol).symbols)):
                return None
            return symbol, dim.const
        return names.name(symbol), dim.const

    def _has_nonnegative_indices(self, access: Access) -> bool:
        """True if no index is negative.  A negative index would wrap around."""
        names = self._names(access.loops, "")
        domain = list(self._domain(access.loops, names))
        for low, high in access.spans:
            for dim, least in ((low, 0), (high, -1)):
                if dim is None:
                    continue
                negative = self._at_most(dim, names, Dim.of(least - 1), names)
                if not negative or _is_feasible([*domain, *negative]):
                    return False
        return True


def _is_feasible(bounds: list[Bound]) -> bool:
    """True if the constraints are feasible in integers (Bellman and Ford)."""
    names = {n for a, b, _ in bounds for n in (a, b)}
    bounds = bounds + [("", n, 0) for n in names if n and symbol_is_size(n)]
    reach = dict.fromkeys(names | {""}, 0)
    for _ in range(len(reach) + 1):
        changed = False
        for a, b, c in bounds:
            # a <= b + c
            if reach[b] + c < reach[a]:
                reach[a] = reach[b] + c
                changed = True
        if not changed:
            return True
    return False


# ---------------------------------------------------------------- accesses of statements


def _access(stmt: object, value: Var) -> tuple[Var, tuple[Span, ...], Op] | None:
    """The access by which a statement reads `value` from an array or stores it in one: the version
    of the array that holds it then, the elements, and the read as an operation without the array
    operand.  None for other statements."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.op.args[0] if stmt.op.args else 0, Var):
        return None
    op = stmt.op
    if op.name == "index" and stmt.target == value:
        spans = _spans(op.attrs["items"], op.args)
        array = op.args[0]
        if spans is None or not isinstance(array, Var):
            return None
        return array, spans, Op("index", op.args[1:], op.attrs)
    if op.name == "update" and op.args[1] == value and isinstance(value.type, Scalar):
        spans = _written(op)
        if spans is None:
            return None
        ((_, items),) = op.attrs["path"]
        if any(kind != "int" for kind, *_ in items):
            return None
        read = tuple(("int", p - 1) for _, p in items)
        return stmt.target, spans, Op("index", op.args[2:], {"items": read})
    return None


def _written(op: Op) -> tuple[Span, ...] | None:
    """The elements that an operation writes; None if they are unknown."""
    if op.name not in ("update", "update_add") or len(op.attrs["path"]) != 1:
        return None
    ((kind, items),) = op.attrs["path"]
    return _spans(items, op.args) if kind == "index" else None


def _spans(
    items: tuple[tuple[Any, ...], ...], args: tuple[Operand, ...]
) -> tuple[Span, ...] | None:
    spans: list[Span] = []
    for kind, *positions in items:
        given = [None if p is None else args[p] for p in positions]
        if kind == "all":
            spans.append((Dim.of(0), None))
        elif kind == "int" and given[0] is not None and _value(given[0]) is not None:
            at = _value(given[0])
            spans.append((at, at))
        elif kind == "slice" and (given[2] is None or _value(given[2]) == Dim.of(1)):
            bounds = [None if x is None else _value(x) for x in given[:2]]
            if any(x is not None and b is None for x, b in zip(given, bounds)):
                return None
            low, high = bounds
            spans.append((low or Dim.of(0), None if high is None else high - 1))
        else:
            return None
    return tuple(spans)


def _bound_before(function: Function, loop: For) -> set[str]:
    """The names that are bound before a loop."""

    def scan(block: Block, names: set[str]) -> set[str] | None:
        for stmt in block:
            if stmt is loop:
                return names
            around = names | {v.name for v in inner_targets_of(stmt)}
            for inner in blocks_of(stmt):
                found = scan(inner, around)
                if found is not None:
                    return found
            names = names | {v.name for v in targets_of(stmt)}
        return None

    return scan(function.body, {p.name for p in function.params}) or set()


def _value(operand: Operand) -> Dim | None:
    if isinstance(operand, Const):
        return Dim.of(operand.value) if isinstance(operand.value, int) else None
    return symbolic_value(operand)


def _symbol(loop: For) -> str:
    """The symbol of a loop's index in dims; "" if it has no symbol of its own."""
    value = _value(loop.index)
    if value is None or value.const or len(value.terms) != 1:
        return ""
    ((monomial, k),) = value.terms
    return monomial[0] if k == 1 and len(monomial) == 1 else ""


def _distinct(loops: Sequence[For]) -> bool:
    """True if all loop indices have distinct symbols."""
    symbols = {_symbol(loop) for loop in loops}
    return len(symbols) == len(loops) and "" not in symbols


def _upwards(loop: For) -> bool | None:
    """True if the step is 1, False if it is -1; None for other steps."""
    step = _value(loop.step)
    return None if step is None or step.const not in (1, -1) or step.terms else step.const > 0


def _direction(loop: For) -> bool | None:
    """True if later iterations have larger indices, False if smaller; None if unknown."""
    up = _upwards(loop)
    return None if up is None else up != loop.reverse
