"""Tape slots that cross the cut of a pair of functions: stacks, as lists that are passed along.

A value that `f_fwd` saves inside a loop or branch, and any value that a recursive function saves,
is appended to a list.  `f_fwd` takes the list and returns it longer, `f_rev` takes it and returns
it shorter (`callee_pairs.py`).  Lists are ordinary values, so that both functions can be
differentiated and batched again.  A caller creates the lists, and passes them through its own
loops and branches.

The statements that access a stack are its `Save`, its `restore`, and calls of functions that take
it.  All of them run in the sweep in the opposite order.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.builder import NameSupply, int_const
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Carried,
    For,
    Function,
    If,
    ListOf,
    Op,
    Phi,
    Save,
    Scalar,
    Stmt,
    Type,
    Var,
    While,
    map_blocks,
    walk,
)
from ..ir.record import field, record, replace

# By stack: its name in a function, and the type of its elements.
Stacks = dict[str, Type]


@record
class Threading:
    """The stacks of one function.  `calls` has the stacks that a call takes, by its id, in the
    order of its last arguments and targets."""

    names: NameSupply
    stacks: Stacks
    calls: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def variable(self, stack: str) -> Var:
        """A new version of a stack.  The value of an integer differs between elements."""
        elem = self.stacks[stack]
        assert isinstance(elem, (Scalar, Array))
        elem = replace(elem, value=None) if isinstance(elem, Scalar) else elem
        return Var(self.names.fresh(stack), ListOf(elem))

    def accessed(self, stmts: Iterable[Stmt]) -> list[str]:
        """The stacks that statements access, nested blocks included."""
        found: dict[str, None] = {}
        for stmt in walk([*stmts]):
            found.update(dict.fromkeys(self.direct(stmt)))
        return list(found)

    def direct(self, stmt: Stmt) -> tuple[str, ...]:
        name = ""
        if isinstance(stmt, Save):
            name = stmt.slot.name
        elif isinstance(stmt, Assign) and stmt.op.name == "restore":
            name = stmt.op.attrs["slot"].name
        elif isinstance(stmt, Call):
            return self.calls.get(id(stmt), ())
        return (name,) if name in self.stacks else ()

    def block(self, block: Block, now: dict[str, Var]) -> Block:
        """The block with its accesses as operations on lists.  `now` has the present version of
        each stack, and is updated."""
        out: Block = []
        for stmt in block:
            self.stmt(stmt, now, out)
        return out

    def stmt(self, stmt: Stmt, now: dict[str, Var], out: Block) -> None:
        if isinstance(stmt, If):
            self.branch(stmt, now, out)
        elif isinstance(stmt, (For, While)):
            self.loop(stmt, now, out)
        elif isinstance(stmt, Call) and id(stmt) in self.calls:
            stacks = self.calls[id(stmt)]
            given, new = [now[s] for s in stacks], [self.variable(s) for s in stacks]
            stmt = replace(stmt, targets=[*stmt.targets, *new], args=(*stmt.args, *given))
            now.update(zip(stacks, new))
            out.append(stmt)
        elif isinstance(stmt, Save) and stmt.slot.name in self.stacks:
            new = self.variable(stmt.slot.name)
            op = Op("list_append", (now[stmt.slot.name], stmt.value))
            out.append(Assign(new, op, stmt.origin))
            now[stmt.slot.name] = new
        elif self.direct(stmt):
            assert isinstance(stmt, Assign)
            out += self.pop(stmt, now)
        else:
            out.append(stmt)

    def pop(self, stmt: Assign, now: dict[str, Var]) -> Block:
        """The last element, which is removed."""
        stack, origin = stmt.op.attrs["slot"].name, stmt.origin
        items, new = now[stack], self.variable(stack)
        now[stack] = new
        return [
            Assign(stmt.target, Op("list_get", (items, int_const(-1))), origin),
            Assign(new, Op("list_drop", (items,)), origin),
        ]

    def branch(self, stmt: If, now: dict[str, Var], out: Block) -> None:
        stacks = self.accessed([stmt])
        sides: list[tuple[Block, dict[str, Var]]] = []
        for inner in (stmt.then, stmt.orelse):
            after = dict(now)
            sides.append((self.block(inner, after), after))
        (then, first), (orelse, second) = sides
        phis = list(stmt.phis)
        for s in stacks:
            now[s] = self.variable(s)
            phis.append(Phi(now[s], first[s], second[s]))
        out.append(replace(stmt, then=then, orelse=orelse, phis=phis))

    def loop(self, stmt: For | While, now: dict[str, Var], out: Block) -> None:
        stacks = self.accessed([stmt])
        inside = dict(now)
        phis = {s: self.variable(s) for s in stacks}
        inside.update(phis)
        changes: dict[str, Block] = {}
        if isinstance(stmt, While):
            changes["test"] = self.block(stmt.test, inside)
        changes["body"] = self.block(stmt.body, inside)
        carried = list(stmt.carried)
        for s in stacks:
            result = self.variable(s)
            carried.append(Carried(phis[s], now[s], inside[s], result))
            now[s] = result
        out.append(replace(stmt, carried=carried, **changes))


def create_stacks(
    function: Function, calls: dict[int, tuple[str, ...]], stacks: Stacks, names: NameSupply
) -> Function:
    """The function, a forward part and a sweep, with the stacks that its calls take created
    before its first statement."""
    if not stacks:
        return function
    threading = Threading(names, stacks, calls)
    now: dict[str, Var] = {}
    new: Block = []
    for s in stacks:
        now[s] = threading.variable(s)
        new.append(Assign(now[s], Op("list_new", (), {"type": now[s].type, "tape": True})))
    body = [*new, *threading.block(function.body, now)]
    notes = dict(function.notes)
    notes["forward"] += len(new)
    notes["places"] = [k + len(new) for k in notes["places"]]
    return replace(function, body=body, notes=notes)


def saves_last(block: Block, slots: set[str]) -> Block:
    """The block with the `Save`s of some slots at the end of their blocks: after all calls there,
    as the `restore`s are before all calls."""
    inner = [map_blocks(s, lambda b: saves_last(b, slots)) for s in block]

    def is_moved(stmt: Stmt) -> bool:
        return isinstance(stmt, Save) and stmt.slot.name in slots

    return [s for s in inner if not is_moved(s)] + [s for s in inner if is_moved(s)]
