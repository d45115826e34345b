"""What several passes ask of loops: trip counts, and detached tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.builder import Builder, NameSupply, const
from ..ir.clone import copy_block
from ..ir.nodes import (
    Block,
    Carried,
    Const,
    Draw,
    Function,
    Operand,
    Var,
    While,
    blocks_of,
    map_blocks,
    substitute,
    targets_of,
    walk,
)
from ..rules.random_draws import refuse_second_draw
from .activity import Activity, activity


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
    elif stride is not None:
        end = b.emit("maximum" if stride > 0 else "minimum", stop, start)
        return (-b.emit("floor_divide", b.sym(start) - end, step)).operand
    else:
        # Bounds without rounds between them could be too far apart for a difference.
        above, below = (b.emit(name, stop, start) for name in ("maximum", "minimum"))
        end = b.emit("where", b.sym(step) > 0, above, below)
        # floor division rounds the negated span down, hence the span up
        return (-b.emit("floor_divide", b.sym(start) - end, step)).operand
    return b.emit("maximum", count, int_const(0)).operand


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
            stmt = map_blocks(stmt, visit)
            if isinstance(stmt, While) and entangled(stmt):
                stmt = _detach(stmt, names)
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
