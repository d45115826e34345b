"""What several passes ask of loops: trip counts, copies with fresh names, detached tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .activity import Activity, activity
from .build import Builder, NameSupply, const
from .draws import refuse_second_draw
from .ir import (
    Assign,
    Block,
    Call,
    Carried,
    Const,
    Draw,
    For,
    Function,
    If,
    Operand,
    Phi,
    Stmt,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    substitute,
    targets_of,
    walk,
)


def int_const(n: int) -> Const:
    return const(np.int64(n))


def trip_count(b: Builder, start: Any, stop: Any, step: Any) -> Operand:
    """How many numbers are in range(start, stop, step)."""
    start, stop, step = (b.sym(x).operand for x in (start, stop, step))
    first, last, stride = (x.value if isinstance(x, Const) else None for x in (start, stop, step))
    if first is not None and last is not None and stride:
        return int_const(len(range(first, last, stride)))
    if first == 0 and stride == 1:
        count = b.sym(stop)
        value = getattr(stop.type, "value", None)
        if value is not None and value.is_size:
            return count.operand
    elif stride in (1, -1):
        count = b.sym(stop) - start if stride == 1 else b.sym(start) - stop
    else:
        # floor division rounds the negated span down, hence the span up
        count = -b.emit("floor_divide", b.sym(start) - stop, step)
    return b.emit("maximum", count, int_const(0)).operand


# ---------------------------------------------------------------- copies


def copy_block(block: Block, names: NameSupply, inside: dict[str, Operand]) -> Block:
    """A copy of a block with fresh names for what it defines; `inside` maps the old names to
    the new operands and is added to."""
    for stmt in walk(block):
        for v in (*targets_of(stmt), *inner_targets_of(stmt)):
            inside[v.name] = replace(v, name=names.fresh(v.name))

    def new(x: Operand) -> Operand:
        return inside.get(x.name, x) if isinstance(x, Var) else x

    return [_rename(s, inside, names) for s in substitute(block, new)]


def _rename(stmt: Stmt, inside: dict[str, Operand], names: NameSupply) -> Stmt:
    def new(v: Var) -> Any:
        return inside[v.name]

    if isinstance(stmt, Assign):
        return replace(stmt, target=new(stmt.target))
    if isinstance(stmt, (Call, Draw)):
        return replace(stmt, targets=[new(t) for t in stmt.targets])
    if isinstance(stmt, If):
        phis = [Phi(new(p.target), p.then_value, p.else_value) for p in stmt.phis]
        then = [_rename(s, inside, names) for s in stmt.then]
        orelse = [_rename(s, inside, names) for s in stmt.orelse]
        return replace(stmt, then=then, orelse=orelse, phis=phis)
    if isinstance(stmt, (For, While)):
        carried = [Carried(new(c.phi), c.init, c.next, new(c.result)) for c in stmt.carried]
        body = [_rename(s, inside, names) for s in stmt.body]
        trips = None if stmt.trips is None else new(stmt.trips)
        label = names.fresh(stmt.label) if stmt.label else ""
        if isinstance(stmt, For):
            index = new(stmt.index)
            return replace(stmt, index=index, body=body, carried=carried, trips=trips, label=label)
        test = [_rename(s, inside, names) for s in stmt.test]
        return replace(stmt, test=test, body=body, carried=carried, trips=trips, label=label)
    return stmt


# ---------------------------------------------------------------- tests of While


def detach_tests(
    function: Function, wrt: Iterable[str], results: Iterable[Operand], names: NameSupply
) -> tuple[Function, Activity]:
    """The function with no derivatives flowing through nested blocks of a `While`'s test,
    and its activity.  Such a test, which runs once more than the body, is computed again
    at the head of the body, for the body's use."""
    wrt, results = tuple(wrt), tuple(results)
    active = activity(function, wrt, results)

    def entangled(stmt: While) -> bool:
        nested = (s for t in stmt.test for block in blocks_of(t) for s in walk(block))
        return any(v in active for s in nested for v in targets_of(s))

    def visit(block: Block) -> Block:
        out: Block = []
        for stmt in block:
            if isinstance(stmt, If):
                stmt = replace(stmt, then=visit(stmt.then), orelse=visit(stmt.orelse))
            elif isinstance(stmt, For):
                stmt = replace(stmt, body=visit(stmt.body))
            elif isinstance(stmt, While):
                stmt = replace(stmt, body=visit(stmt.body), test=visit(stmt.test))
                stmt = _detach(stmt, names) if entangled(stmt) else stmt
            out.append(stmt)
        return out

    if not any(isinstance(s, While) and entangled(s) for s in walk(function.body)):
        return function, active
    function = replace(function, body=visit(function.body))
    return function, activity(function, wrt, results)


def _detach(stmt: While, names: NameSupply) -> While:
    for s in walk(stmt.test):
        if isinstance(s, Draw):
            refuse_second_draw(s)
    inside: dict[str, Operand] = {}
    head = copy_block(stmt.test, names, inside)

    def new(x: Operand) -> Operand:
        return inside.get(x.name, x) if isinstance(x, Var) else x

    return replace(
        stmt,
        body=head + substitute(stmt.body, new),
        carried=[Carried(c.phi, c.init, new(c.next), c.result) for c in stmt.carried],
        until=None if stmt.until is None else new(stmt.until),
    )
