"""What several passes ask of loops: trip counts, and detached tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..ir.builder import NameSupply
from ..ir.clone import copy_block
from ..ir.nodes import (
    Block,
    Carried,
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
