"""Clone blocks under fresh names: values, slots, loop labels, and the size symbols that are
named after values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .builder import NameSupply
from .nodes import (
    Array,
    Assign,
    Block,
    Call,
    Carried,
    Custom,
    Draw,
    For,
    If,
    ListOf,
    Operand,
    Phi,
    Save,
    Scalar,
    Slot,
    Stmt,
    Type,
    Var,
    While,
    inner_targets_of,
    substitute,
    targets_of,
    walk,
)
from .symbolic_dims import Dim, Facts


def clone_block(
    block: Block,
    names: NameSupply,
    inside: dict[str, Operand],
    facts: Facts | None = None,
    symbols: dict[str, Dim] | None = None,
) -> Block:
    """A clone of a block with fresh names for all its definitions.  `inside` maps old names to
    operands of the clone; the new definitions are added to it.  `symbols` maps size symbols that
    are named after none of these values."""
    copier = _Copier(block, names, inside, facts, symbols or {})
    inside |= copier.values

    def new(x: Operand) -> Operand:
        return inside.get(x.name, x) if isinstance(x, Var) else x

    return [copier.stmt(s) for s in substitute(block, new)]


class _Copier:
    def __init__(
        self,
        block: Block,
        names: NameSupply,
        given: dict[str, Operand],
        facts: Facts | None,
        symbols: dict[str, Dim],
    ) -> None:
        self.names = names
        self.labels: dict[str, str] = {}
        self.slots: dict[str, Slot] = {}
        bound = [v for s in walk(block) for v in (*targets_of(s), *inner_targets_of(s))]
        fresh = {v.name: names.fresh(v.name) for v in bound}
        own = dict(_sizes(bound, fresh))
        self.sizes: dict[str, Dim] = {**symbols, **_sizes_given(given), **own}
        if facts is not None:
            # A size with a canonical form outside the block keeps that form in the clone.
            for symbol in own:
                known = facts.canonical(Dim.of(symbol))
                if not known.symbols & self.sizes.keys():
                    self.sizes[symbol] = known
        self.values: dict[str, Any] = {
            v.name: replace(v, name=fresh[v.name], type=self.type(v.type)) for v in bound
        }
        for stmt in walk(block):
            if isinstance(stmt, (For, While)) and stmt.label:
                self.labels[stmt.label] = names.fresh(stmt.label)

    def type(self, t: Type) -> Type:
        if isinstance(t, Scalar):
            return t if t.value is None else replace(t, value=t.value.substitute(self.sizes))
        if isinstance(t, Array):
            return replace(t, shape=tuple(d.substitute(self.sizes) for d in t.shape))
        if isinstance(t, ListOf):
            return replace(t, elem=self.type(t.elem))
        return t

    def slot(self, slot: Slot) -> Slot:
        if slot.name not in self.slots:
            self.slots[slot.name] = Slot(self.names.fresh(slot.name), self.type(slot.type))
        return self.slots[slot.name]

    def block(self, block: Block) -> Block:
        return [self.stmt(s) for s in block]

    def stmt(self, stmt: Stmt) -> Stmt:
        new = self.values.__getitem__
        if isinstance(stmt, Assign):
            op = stmt.op
            if op.name == "restore":
                op = replace(op, attrs={"slot": self.slot(op.attrs["slot"])})
            return replace(stmt, target=new(stmt.target.name), op=op)
        if isinstance(stmt, Save):
            return replace(stmt, slot=self.slot(stmt.slot))
        if isinstance(stmt, (Call, Custom, Draw)):
            return replace(stmt, targets=[new(t.name) for t in stmt.targets])
        if isinstance(stmt, If):
            phis = [Phi(new(p.target.name), p.then_value, p.else_value) for p in stmt.phis]
            then, orelse = self.block(stmt.then), self.block(stmt.orelse)
            return replace(stmt, then=then, orelse=orelse, phis=phis)
        if isinstance(stmt, (For, While)):
            return self.loop(stmt)
        return replace(stmt)

    def loop(self, stmt: For | While) -> Stmt:
        new = self.values.__getitem__
        changes: dict[str, Any] = {
            "body": self.block(stmt.body),
            "carried": [
                Carried(new(c.phi.name), c.init, c.next, new(c.result.name)) for c in stmt.carried
            ],
            "trips": None if stmt.trips is None else new(stmt.trips.name),
            "label": self.labels.get(stmt.label, ""),
        }
        if isinstance(stmt, For):
            changes["index"] = new(stmt.index.name)
            changes["mirror"] = self.labels.get(stmt.mirror, stmt.mirror)
        else:
            changes["test"] = self.block(stmt.test)
        return replace(stmt, **changes)


def _sizes(bound: list[Var], fresh: dict[str, str]) -> Iterator[tuple[str, Dim]]:
    """Pairs of a size symbol named after a bound value, and the symbol of the value's new name."""
    for v in bound:
        yield v.name, Dim.of(fresh[v.name])
        for axis in range(getattr(v.type, "ndim", 0)):
            yield f"{v.name}.{axis}", Dim.of(f"{fresh[v.name]}.{axis}")


def _sizes_given(given: dict[str, Operand]) -> dict[str, Dim]:
    """By size symbol of a substituted value: the dim of the operand that replaces the value."""
    found: dict[str, Dim] = {}
    for name, x in given.items():
        if isinstance(x.type, Scalar) and x.type.value is not None:
            found[name] = x.type.value
        elif isinstance(x.type, Array):
            found |= {f"{name}.{axis}": dim for axis, dim in enumerate(x.type.shape)}
    return found
