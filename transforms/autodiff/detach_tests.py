"""Detach the tests of `While` loops that contain active control flow.

The test of a `While` runs once more than the body.  Derivatives therefore must not flow through
blocks nested in it; the body gets its own copy of the test's computation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..ir.builder import NameSupply
from ..ir.clone import clone_block
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


def detach_tests(
    function: Function, wrt: Iterable[str], results: Iterable[Operand], names: NameSupply
) -> tuple[Function, Activity]:
    """The function with no active values in blocks nested in the test of a `While`, and its
    activity.  Such a test, which runs once more than the body, is recomputed at the head of the
    body, and the body uses these values."""
    wrt, results = tuple(wrt), tuple(results)
    active = activity(function, wrt, results)

    def has_active_test(stmt: While) -> bool:
        nested = (s for t in stmt.test for block in blocks_of(t) for s in walk(block))
        return any(v in active for s in nested for v in targets_of(s))

    def visit(block: Block) -> Block:
        out: Block = []
        for stmt in block:
            stmt = map_blocks(stmt, visit)
            if isinstance(stmt, While) and has_active_test(stmt):
                stmt = _detach(stmt, names)
            out.append(stmt)
        return out

    if not any(isinstance(s, While) and has_active_test(s) for s in walk(function.body)):
        return function, active
    function = replace(function, body=visit(function.body))
    return function, activity(function, wrt, results)


def _detach(stmt: While, names: NameSupply) -> While:
    """The loop with a clone of its test at the head of the body."""
    for s in walk(stmt.test):
        if isinstance(s, Draw):
            refuse_second_draw(s)
    inside: dict[str, Operand] = {}
    head = clone_block(stmt.test, names, inside)

    def new(x: Operand) -> Operand:
        return inside.get(x.name, x) if isinstance(x, Var) else x

    return replace(
        stmt,
        body=head + substitute(stmt.body, new),
        carried=[Carried(c.phi, c.init, new(c.next), c.result) for c in stmt.carried],
        until=None if stmt.until is None else new(stmt.until),
    )
