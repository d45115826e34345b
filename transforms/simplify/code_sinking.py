"""Code sinking: an array that only one arm of an `if` reads is computed in that arm.

    x = multiply(a, b)                 if c:
    if c:                       →          x = multiply(a, b)
        y = exp(x)                         y = exp(x)

The pullback of a logarithm of a sum has an arm for sums that overflow, and what the arm reads is
computed again in the sweep (`save`): without this pass, each time; with it, only if it is needed.
Only elementwise operations and views of the adjoint are moved, and only if what they read keeps
its memory: otherwise a copy would have to be made.  The user's statements stay in their places.
"""

from __future__ import annotations

from collections import Counter

from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Function,
    If,
    Module,
    Op,
    Var,
    is_float,
    map_blocks,
    operands_of,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.record import replace
from ..ir.scopes import lasting, overwritten
from .dce import is_users


def sink(module: Module) -> Module:
    return module.map(lambda function, _: _sunk(function))


def _sunk(function: Function) -> Function:
    if not any(isinstance(s, If) for s in walk(function.body)):
        return function
    return replace(function, body=_Sinking(function).block(function.body))


class _Sinking:
    def __init__(self, function: Function) -> None:
        self.reads = _reads(function.body)
        self.reads.update(x.name for x in function.results if isinstance(x, Var))
        self.reads.update(v.name for _, v in function.effects if isinstance(v, Var))
        self.lost = overwritten(function)
        self.definitions: dict[str, Op] = {
            s.target.name: s.op for s in walk(function.body) if isinstance(s, Assign)
        }

    def block(self, block: Block) -> Block:
        """From the last statement to the first: what is moved into an arm may be all that reads
        an earlier value."""
        before, after = [*block], []
        while before:
            stmt = before.pop()
            if isinstance(stmt, If):
                then, orelse = (self.filled(arm, before) for arm in (stmt.then, stmt.orelse))
                stmt = replace(stmt, then=then, orelse=orelse)
            after.append(map_blocks(stmt, self.block))
        return after[::-1]

    def filled(self, arm: Block, before: Block) -> Block:
        """The arm of an `if` with what is moved into it, which is taken out of `before`."""
        inside, moved = _reads(arm), []
        for k in range(len(before) - 1, -1, -1):
            stmt = before[k]
            if isinstance(stmt, Assign) and self.is_read_within(inside, stmt) and self.moves(stmt):
                moved.append(before.pop(k))
                inside.update(_reads([stmt]))
        return [*moved[::-1], *arm]

    def is_read_within(self, inside: Counter[str], stmt: Assign) -> bool:
        """Whether all that reads a value is among the reads `inside` an arm."""
        return 0 < inside[stmt.target.name] == self.reads[stmt.target.name]

    def moves(self, stmt: Assign) -> bool:
        target, op = stmt.target, stmt.op
        return (
            not is_users(stmt)
            and isinstance(target.type, Array)
            and is_float(target.type)
            and (op.name == "index" or RULES[op.name].kind in ("elementwise", "view"))
            and target.name not in self.lost
            and all(lasting(x, self.definitions, self.lost) for x in op.args if isinstance(x, Var))
        )


def _reads(block: Block) -> Counter[str]:
    return Counter(x.name for s in walk(block) for x in operands_of(s) if isinstance(x, Var))
