"""Common subexpression elimination (CSE) by value numbering, before differentiation.

Two derivatives of one function at the same point, for example with respect to time and to space,
both begin by evaluating the function.  CSE merges the two evaluations, and the equal parts of both
adjoint sweeps, before the result is differentiated in turn.  So the adjoint sweep of the merged
part is emitted once, too.  The user's own statements are not replaced, but equal expressions in
them get the same value number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..ir.nodes import (
    Assign,
    Block,
    For,
    If,
    Module,
    Op,
    Operand,
    Scalar,
    Stmt,
    Var,
    While,
    walk,
)
from ..ir.op_registry import RULES

# Operations without a value number: each zero array is the start of its own accumulation, and a
# restore must stay at its location.
_UNNUMBERED_KINDS = ("create", "update", "list")
_UNNUMBERED = ("restore", "undef", "copy")


def eliminate_common_subexpressions(module: Module) -> Module:
    """Eliminate common subexpressions in the main function of a module."""
    main = module.main
    body = cse_block(main.body, main.results)
    if body is main.body:
        return module
    return replace(module, functions={**module.functions, main.name: replace(main, body=body)})


def cse_block(block: Block, results: Iterable[Operand]) -> Block:
    """The block with redundant definitions replaced by `same` (a copy of an earlier value).

    All names stay defined.  A block without adjoint code is returned unchanged.  No derivative with
    respect to a replaced name may be requested later.
    """
    if not any(s.origin is not None and s.origin.sweep for s in walk(block)):
        return block
    return _Sharing({r.name for r in results if isinstance(r, Var)}).block(block, {})


Available = dict[Any, Var]


class _Sharing:
    """CSE of one block.

    `results` are the names of results.  `representatives` maps a name to an earlier operand with
    the same value.
    """

    def __init__(self, results: set[str]) -> None:
        # Results stay distinct arrays, because the caller may write to one of them.
        self.results = results
        self.representatives: dict[str, Operand] = {}

    def block(self, block: Block, seen: Available) -> Block:
        known = dict(seen)
        return [self.stmt(stmt, known) for stmt in block]

    def stmt(self, stmt: Stmt, known: Available) -> Stmt:
        if isinstance(stmt, Assign):
            return self.assign(stmt, known)
        if isinstance(stmt, If):
            then, orelse = self.block(stmt.then, known), self.block(stmt.orelse, known)
            return replace(stmt, then=then, orelse=orelse)
        if isinstance(stmt, For):
            # A checkpointed loop is recomputed from snapshots, so expressions from outside it are
            # not available in its body.
            seen = known if stmt.budget is None else {}
            return replace(stmt, body=self.block(stmt.body, seen))
        if isinstance(stmt, While):
            # The test's values are visible in the body.
            inside = dict(known)
            test = [self.stmt(s, inside) for s in stmt.test]
            return replace(stmt, test=test, body=self.block(stmt.body, inside))
        return stmt

    def assign(self, stmt: Assign, known: Available) -> Stmt:
        op, target = stmt.op, stmt.target
        if op.name == "same":
            self.representatives[target.name] = self.number(op.args[0])
            return stmt
        if op.name in _UNNUMBERED or RULES[op.name].kind in _UNNUMBERED_KINDS:
            return stmt
        found = known.setdefault(self.key(op, target), target)
        if found is target:
            return stmt
        self.representatives[target.name] = self.number(found)
        if self.stays(stmt):
            return stmt
        return Assign(target, Op("same", (found,)))

    def stays(self, stmt: Assign) -> bool:
        """True if a redundant definition is kept.

        These are the user's own statements, results, and single elements and sizes, with which the
        emitted code is more readable.
        """
        element = stmt.op.name == "index" and isinstance(stmt.target.type, Scalar)
        users = stmt.origin is not None and stmt.origin.as_written
        return users or element or stmt.op.name == "shape" or stmt.target.name in self.results

    def number(self, x: Operand) -> Operand:
        """The value number of an operand: the first operand with the same value."""
        while isinstance(x, Var) and x.name in self.representatives:
            x = self.representatives[x.name]
        return x

    def key(self, op: Op, target: Var) -> Any:
        """The key of an operation in the table of available expressions."""
        return operation_key(replace(op, args=tuple(map(self.number, op.args)))), target.type


def operation_key(op: Op) -> Any:
    """A hashable key of an operation: its name, operands and attributes."""
    args = tuple(a.name if isinstance(a, Var) else (repr(a.value), a.type) for a in op.args)
    return op.name, args, _frozen(op.attrs)


def _frozen(value: Any) -> Any:
    """A hashable copy of an attribute."""
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in sorted(value.items()))
    return tuple(_frozen(v) for v in value) if isinstance(value, (list, tuple)) else value
