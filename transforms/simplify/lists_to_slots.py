"""Turn the stacks of pairs of functions back into tape slots, after inlining.

Where both halves of a pair are inlined into one function (`inline_calls.py`), the list that carried
values from one to the other (`autodiff/tape_stacks.py`) is created, appended to, passed through
loops and branches, and read from its end, all in that function.  A slot does the same, and
`plan_tape` decides how it is stored.

A stack is a connected set of versions of one list, from `list_new` with the attribute `tape`.
It becomes a slot if it has one append, one place where the last element is read and dropped, and no
other use; the loops and branches around both are then those of one callee and their mirrors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.builder import int_const
from ..ir.nodes import (
    Assign,
    Block,
    For,
    Function,
    If,
    ListOf,
    Op,
    Operand,
    Save,
    Scalar,
    Slot,
    Stmt,
    Type,
    Var,
    While,
    map_blocks,
    operands_of,
    targets_of,
    walk,
)
from ..ir.record import field, record, replace
from ..ir.symbolic_dims import Dim, Facts


@record(eq=False)
class _Stack:
    """The operations on the versions of one list."""

    created: int = 0
    appends: list[Assign] = field(default_factory=list)
    reads: list[Assign] = field(default_factory=list)
    drops: list[Assign] = field(default_factory=list)
    others: int = 0

    @property
    def is_slot(self) -> bool:
        once = len(self.appends) == len(self.reads) == 1 and len(self.drops) <= 1
        return self.created > 0 and not self.others and once


class _Versions:
    """Union-find over the versions of lists."""

    def __init__(self, block: Block) -> None:
        self.parent: dict[str, str] = {}
        self.stacks: dict[str, _Stack] = {}
        self.new: set[str] = set()  # the versions that are created
        for stmt in walk(block):
            self.join(stmt)
        for stmt in walk(block):
            self.record(stmt)

    def find(self, name: str) -> str:
        while self.parent.setdefault(name, name) != name:
            self.parent[name] = self.parent[self.parent[name]]
            name = self.parent[name]
        return name

    def of(self, x: Operand) -> _Stack:
        assert isinstance(x, Var)
        return self.of_name(x.name)

    def of_name(self, name: str) -> _Stack:
        return self.stacks.setdefault(self.find(name), _Stack())

    def union(self, *versions: Operand) -> None:
        names = [self.find(x.name) for x in versions if isinstance(x, Var)]
        for name in names[1:]:
            self.parent[name] = names[0]

    def join(self, stmt: Stmt) -> None:
        if isinstance(stmt, If):
            for p in stmt.phis:
                if _is_list(p.target):
                    self.union(p.target, p.then_value, p.else_value)
        elif isinstance(stmt, (For, While)):
            for c in stmt.carried:
                if _is_list(c.phi):
                    self.union(c.phi, c.init, c.next, c.result)
        elif isinstance(stmt, Assign) and stmt.op.name in ("list_append", "list_drop"):
            self.union(stmt.target, stmt.op.args[0])

    def record(self, stmt: Stmt) -> None:
        if isinstance(stmt, Assign):
            op = stmt.op
            if self.creates(stmt):
                self.of(stmt.target).created += 1
                self.new.add(stmt.target.name)
            elif op.name == "list_append":
                self.of(op.args[0]).appends.append(stmt)
            elif op.name == "list_get" and op.args[1] == int_const(-1):
                self.of(op.args[0]).reads.append(stmt)
            elif op.name == "list_drop":
                self.of(op.args[0]).drops.append(stmt)
            else:
                self.used([*op.args, stmt.target])
        elif not isinstance(stmt, (If, For, While)):
            self.used([*operands_of(stmt), *targets_of(stmt)])

    def creates(self, stmt: Assign) -> bool:
        """Whether a statement creates a stack, or the tangents or adjoints of an empty one."""
        op = stmt.op
        if op.name == "list_zeros_like":
            return isinstance(op.args[0], Var) and op.args[0].name in self.new
        return op.name == "list_new" and bool(op.attrs.get("tape"))

    def used(self, operands: list[Operand]) -> None:
        for x in operands:
            if _is_list(x):
                self.of(x).others += 1


def lists_to_slots(function: Function, facts: Facts) -> Function:
    """The function with slots in place of the stacks that can be slots."""
    if not any(isinstance(s, Assign) and s.op.attrs.get("tape") for s in walk(function.body)):
        return function
    versions = _Versions(function.body)
    for x in (*function.results, *function.params, *(v for _, v in function.effects)):
        versions.used([x])
    accesses: dict[int, Stmt | None] = {}  # what replaces a statement
    for stack in versions.stacks.values():
        if stack.is_slot:
            accesses |= _as_slot(stack, facts)
    dropped = {name for name in versions.parent if versions.of_name(name).is_slot}
    return replace(function, body=_rewritten(function.body, accesses, dropped))


def _as_slot(stack: _Stack, facts: Facts) -> dict[int, Stmt | None]:
    """What replaces the operations on a stack: a `Save` and a `restore`."""
    (append,), (read,) = stack.appends, stack.reads
    value, target = append.op.args[1], read.target
    for symbol, size in _sizes(target.type, value.type):
        facts.define(symbol, size)
    slot = Slot(append.target.name, value.type)
    found: dict[int, Stmt | None] = {id(drop): None for drop in stack.drops}
    found[id(append)] = Save(slot, value, append.origin)
    found[id(read)] = Assign(target, Op("restore", (), {"slot": slot}), read.origin)
    return found


def _sizes(restored: Type, saved: Type) -> Iterator[tuple[str, Dim]]:
    """The symbols for the sizes of a restored value, or for its value, and what they are."""
    if isinstance(restored, ListOf) or isinstance(saved, ListOf):
        return
    pairs = list(zip(restored.shape, saved.shape))
    if isinstance(restored, Scalar) and isinstance(saved, Scalar):
        if restored.value is not None and saved.value is not None:
            pairs.append((restored.value, saved.value))
    for new, old in pairs:
        if new.symbol is not None and new != old:
            yield new.symbol, old


def _rewritten(block: Block, accesses: dict[int, Stmt | None], dropped: set[str]) -> Block:
    out: Block = []
    for stmt in block:
        if id(stmt) in accesses:
            new = accesses[id(stmt)]
            out += [] if new is None else [new]
            continue
        if isinstance(stmt, Assign) and stmt.target.name in dropped:
            continue  # the list is created here
        if isinstance(stmt, Assign) and stmt.op.name == "list_zeros_like":
            if isinstance(stmt.op.args[0], Var) and stmt.op.args[0].name in dropped:
                stmt = replace(stmt, op=Op("list_new", (), {"type": stmt.target.type}))
        if isinstance(stmt, If):
            stmt = replace(stmt, phis=[p for p in stmt.phis if p.target.name not in dropped])
        elif isinstance(stmt, (For, While)):
            carried = [c for c in stmt.carried if c.phi.name not in dropped]
            stmt = replace(stmt, carried=carried)
        out.append(map_blocks(stmt, lambda b: _rewritten(b, accesses, dropped)))
    return out


def _is_list(x: Operand) -> bool:
    return isinstance(x, Var) and isinstance(x.type, ListOf)
