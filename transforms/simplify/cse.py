"""What a program computes twice is computed once, before it is differentiated.

Derivatives of one function at one place, by time and by place, each begin with the function
itself.  Both become one before anything is differentiated in turn; so does what the sweeps of
both compute alike, and the sweep of all that is one as well.  The user's own text stays as it
is: nothing in it is replaced, but what it says twice is known to be the same.
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

# A zero array is the start of its own accumulation, and a restore belongs to its place.
_OWN_KINDS = ("create", "update", "list")
_OWN = ("restore", "undef", "copy")


def once(module: Module) -> Module:
    """The same for what a program as a whole computes."""
    main = module.main
    body = computed_once(main.body, main.results)
    if body is main.body:
        return module
    return replace(module, functions={**module.functions, main.name: replace(main, body=body)})


def computed_once(block: Block, results: Iterable[Operand]) -> Block:
    """A block that defines the same names, some of them as what others stand for; only if there
    are derivatives in it.  Nobody may ask for derivatives by one of these names later."""
    if not any(s.origin is not None and s.origin.sweep for s in walk(block)):
        return block
    return _Sharing({r.name for r in results if isinstance(r, Var)}).block(block, {})


Table = dict[Any, Var]


class _Sharing:
    def __init__(self, apart: set[str]) -> None:
        # Arrays that are results stay apart: the caller may write to one of them.
        self.apart = apart
        self.stands_for: dict[str, Operand] = {}

    def block(self, block: Block, seen: Table) -> Block:
        known = dict(seen)
        return [self.stmt(stmt, known) for stmt in block]

    def stmt(self, stmt: Stmt, known: Table) -> Stmt:
        if isinstance(stmt, Assign):
            return self.assign(stmt, known)
        if isinstance(stmt, If):
            then, orelse = self.block(stmt.then, known), self.block(stmt.orelse, known)
            return replace(stmt, then=then, orelse=orelse)
        if isinstance(stmt, For):
            # What is computed again from snapshots begins with what they hold.
            seen = known if stmt.budget is None else {}
            return replace(stmt, body=self.block(stmt.body, seen))
        if isinstance(stmt, While):
            # The test's values are visible in the body.
            inside = dict(known)
            test = [self.stmt(s, inside) for s in stmt.test]
            return replace(stmt, test=test, body=self.block(stmt.body, inside))
        return stmt

    def assign(self, stmt: Assign, known: Table) -> Stmt:
        op, target = stmt.op, stmt.target
        if op.name == "same":
            self.stands_for[target.name] = self.number(op.args[0])
            return stmt
        if op.name in _OWN or RULES[op.name].kind in _OWN_KINDS:
            return stmt
        found = known.setdefault(self.key(op, target), target)
        if found is target:
            return stmt
        self.stands_for[target.name] = self.number(found)
        if self.stays(stmt):
            return stmt
        return Assign(target, Op("same", (found,)))

    def stays(self, stmt: Assign) -> bool:
        """Sizes and elements read better where they are used."""
        element = stmt.op.name == "index" and isinstance(stmt.target.type, Scalar)
        own = stmt.origin is not None and stmt.origin.as_written
        return own or element or stmt.op.name == "shape" or stmt.target.name in self.apart

    def number(self, x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in self.stands_for:
            x = self.stands_for[x.name]
        return x

    def key(self, op: Op, target: Var) -> Any:
        return spelt(replace(op, args=tuple(map(self.number, op.args)))), target.type


def spelt(op: Op) -> Any:
    """What tells an operation from others."""
    args = tuple(a.name if isinstance(a, Var) else (repr(a.value), a.type) for a in op.args)
    return op.name, args, _frozen(op.attrs)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in sorted(value.items()))
    return tuple(_frozen(v) for v in value) if isinstance(value, (list, tuple)) else value
