"""The derivative of a power from the power itself, where that is at hand.

The derivative of x**-1.5 is -1.5 * x**-2.5.  A sweep that needs x**-1.5 as well, as the pull of a
mass at a distance does, has the other by one division: x**-2.5 is x**-1.5 / |x|.  (Of negative
numbers there is neither, and a zero has no sign here.)  That holds up to rounding for exponents
below zero: where the power is infinite or zero, so is its derivative.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.builder import NameSupply
from ..ir.nodes import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Module,
    Op,
    Save,
    Stmt,
    Var,
    While,
    walk,
)
from ..ir.scopes import names_of
from .dce import is_users


def by_quotients(module: Module) -> Module:
    return module.map(lambda function, facts: _Quotients(function).run(), None)


Values = dict[str, Var]


class _Quotients:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.saved = {s.slot.name: s.value for s in walk(function.body) if isinstance(s, Save)}
        # What a restored value was at first, and the powers that there are, by base and exponent.
        self.first: dict[str, str] = {}
        self.powers: dict[tuple[str, float], str] = {}

    def run(self) -> Function:
        if not any(_exponent(s) is not None for s in walk(self.function.body)):
            return self.function
        self.names = NameSupply(names_of(self.function))
        return replace(self.function, body=self.block(self.function.body, {}))

    def block(self, block: Block, around: Values) -> Block:
        """`around` are the values at hand, by the names that they had at first."""
        here, out = dict(around), []
        for stmt in block:
            out += self.stmt(stmt, here)
        return out

    def stmt(self, stmt: Stmt, here: Values) -> Block:
        if isinstance(stmt, Assign):
            return self.assign(stmt, here)
        if isinstance(stmt, If):
            then, orelse = self.block(stmt.then, here), self.block(stmt.orelse, here)
            return [replace(stmt, then=then, orelse=orelse)]
        if isinstance(stmt, For):
            return [replace(stmt, body=self.block(stmt.body, here))]
        if isinstance(stmt, While):
            return [replace(stmt, body=self.block(stmt.body, here))]
        return [stmt]

    def assign(self, stmt: Assign, here: Values) -> Block:
        target, op, exponent = stmt.target, stmt.op, _exponent(stmt)
        if op.name == "restore":
            value = self.saved.get(op.attrs["slot"].name)
            if isinstance(value, Var):
                self.first[target.name] = value.name
                here[value.name] = target
        if exponent is None:
            return [stmt]
        x = op.args[0]
        assert isinstance(x, Var)
        base = self.first.get(x.name, x.name)
        known = here.get(self.powers.get((base, exponent + 1.0), ""))
        if known is not None and not is_users(stmt) and known.type == target.type:
            size = Var(self.names.fresh(f"{x.user or x.name}_size"), x.type)
            return [
                Assign(size, Op("absolute", (x,)), stmt.origin),
                replace(stmt, op=Op("divide", (known, size))),
            ]
        self.powers.setdefault((base, exponent), target.name)
        here.setdefault(target.name, target)
        return [stmt]


def _exponent(stmt: Stmt) -> float | None:
    """Of a real power that is less than zero and not whole."""
    if not isinstance(stmt, Assign) or stmt.op.name != "power":
        return None
    x, n = stmt.op.args
    if not isinstance(x, Var) or not isinstance(n, Const) or not isinstance(n.value, (int, float)):
        return None
    kinds = {x.type.dtype, stmt.target.type.dtype}  # type: ignore[union-attr]
    real = kinds <= {"float32"} or kinds <= {"float64"}
    return float(n.value) if real and n.value < 0 and n.value != int(n.value) else None
