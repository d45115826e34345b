"""Code sinking: an array that only one branch of an `if` reads is computed in that branch.

    x = multiply(a, b)                 if c:
    if c:                       →          x = multiply(a, b)
        y = exp(x)                         y = exp(x)

The pullback of a logarithm of a sum has a branch for sums that overflow, and the operands of that
branch are rematerialised in the adjoint sweep (`checkpoint`).  Without this pass they are always
computed.  With it, they are computed only if the branch is taken.  Only elementwise operations and
views of adjoint code are moved, and only if the memory of their operands is not reused: otherwise a
copy would be necessary.  The user's statements are not moved.
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
from ..ir.scopes import is_never_overwritten, overwritten
from .dce import is_user_code


def sink(module: Module) -> Module:
    """Sink code into branches in all functions of a module."""
    return module.map(lambda function, _: _sunk(function))


def _sunk(function: Function) -> Function:
    if not any(isinstance(s, If) for s in walk(function.body)):
        return function
    return replace(function, body=_Sinking(function).block(function.body))


class _Sinking:
    """The pass on one function.

    `reads` counts the reads of each value.  `overwritten_names` are the arrays whose memory a later
    version may reuse.
    """

    def __init__(self, function: Function) -> None:
        self.reads = _reads(function.body)
        self.reads.update(x.name for x in function.results if isinstance(x, Var))
        self.reads.update(v.name for _, v in function.effects if isinstance(v, Var))
        self.overwritten_names = overwritten(function)
        self.definitions: dict[str, Op] = {
            s.target.name: s.op for s in walk(function.body) if isinstance(s, Assign)
        }

    def block(self, block: Block) -> Block:
        """Sink statements of a block, last to first.

        A moved statement may be the only reader of an earlier value, which can then move, too.
        """
        before, after = [*block], []
        while before:
            stmt = before.pop()
            if isinstance(stmt, If):
                then, orelse = (self.filled(branch, before) for branch in (stmt.then, stmt.orelse))
                stmt = replace(stmt, then=then, orelse=orelse)
            after.append(map_blocks(stmt, self.block))
        return after[::-1]

    def filled(self, branch: Block, before: Block) -> Block:
        """A branch with the statements that are moved into it, which are removed from `before`."""
        inside, moved = _reads(branch), []
        for k in range(len(before) - 1, -1, -1):
            stmt = before[k]
            if (
                isinstance(stmt, Assign)
                and self.is_read_within(inside, stmt)
                and self.is_movable(stmt)
            ):
                moved.append(before.pop(k))
                inside.update(_reads([stmt]))
        return [*moved[::-1], *branch]

    def is_read_within(self, inside: Counter[str], stmt: Assign) -> bool:
        """True if all reads of a value are among the reads `inside` a branch."""
        return 0 < inside[stmt.target.name] == self.reads[stmt.target.name]

    def is_movable(self, stmt: Assign) -> bool:
        """True if moving a statement is legal and profitable."""
        target, op = stmt.target, stmt.op
        return (
            not is_user_code(stmt)
            and isinstance(target.type, Array)
            and is_float(target.type)
            and (op.name == "index" or RULES[op.name].kind in ("elementwise", "view"))
            and target.name not in self.overwritten_names
            and all(
                is_never_overwritten(x, self.definitions, self.overwritten_names)
                for x in op.args
                if isinstance(x, Var)
            )
        )


def _reads(block: Block) -> Counter[str]:
    """The number of reads of each value in a block, inner blocks included."""
    return Counter(x.name for s in walk(block) for x in operands_of(s) if isinstance(x, Var))
