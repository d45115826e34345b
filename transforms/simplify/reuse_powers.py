"""Strength reduction: the derivative of a power from the power itself, where that is available.

The derivative of x**-1.5 is -1.5 * x**-2.5.  An adjoint sweep that also needs x**-1.5, such as that
of a gravitational force, computes the other by one division: x**-2.5 is x**-1.5 / |x|.  (Both are
nan for negative x, and |x| removes the sign of a zero.)  This holds up to rounding for negative
exponents: where the power is infinite or zero, so is its derivative.
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
from .dce import is_user_code


def reuse_powers(module: Module) -> Module:
    """Replace powers by quotients in all functions of a module."""
    return module.map(lambda function, facts: _Quotients(function).run(), None)


Values = dict[str, Var]


class _Quotients:
    """The pass on one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.saved = {s.slot.name: s.value for s in walk(function.body) if isinstance(s, Save)}
        # The original name of each restored value.  The powers computed so far, by base and
        # exponent.
        self.original: dict[str, str] = {}
        self.powers: dict[tuple[str, float], str] = {}

    def run(self) -> Function:
        if not any(_exponent(s) is not None for s in walk(self.function.body)):
            return self.function
        self.names = NameSupply(names_of(self.function))
        return replace(self.function, body=self.block(self.function.body, {}))

    def block(self, block: Block, available: Values) -> Block:
        """Rewrite a block; `available` are the values in scope, by their original names."""
        local, out = dict(available), []
        for stmt in block:
            out += self.stmt(stmt, local)
        return out

    def stmt(self, stmt: Stmt, local: Values) -> Block:
        if isinstance(stmt, Assign):
            return self.assign(stmt, local)
        if isinstance(stmt, If):
            then, orelse = self.block(stmt.then, local), self.block(stmt.orelse, local)
            return [replace(stmt, then=then, orelse=orelse)]
        if isinstance(stmt, For):
            return [replace(stmt, body=self.block(stmt.body, local))]
        if isinstance(stmt, While):
            return [replace(stmt, body=self.block(stmt.body, local))]
        return [stmt]

    def assign(self, stmt: Assign, local: Values) -> Block:
        target, op, exponent = stmt.target, stmt.op, _exponent(stmt)
        if op.name == "restore":
            value = self.saved.get(op.attrs["slot"].name)
            if isinstance(value, Var):
                self.original[target.name] = value.name
                local[value.name] = target
        if exponent is None:
            return [stmt]
        x = op.args[0]
        assert isinstance(x, Var)
        base = self.original.get(x.name, x.name)
        known = local.get(self.powers.get((base, exponent + 1.0), ""))
        if known is not None and not is_user_code(stmt) and known.type == target.type:
            size = Var(self.names.fresh(f"{x.user or x.name}_size"), x.type)
            return [
                Assign(size, Op("absolute", (x,)), stmt.origin),
                replace(stmt, op=Op("divide", (known, size))),
            ]
        self.powers.setdefault((base, exponent), target.name)
        local.setdefault(target.name, target)
        return [stmt]


def _exponent(stmt: Stmt) -> float | None:
    """The exponent of a real power with a negative, non-integer constant exponent; else None."""
    if not isinstance(stmt, Assign) or stmt.op.name != "power":
        return None
    x, n = stmt.op.args
    if not isinstance(x, Var) or not isinstance(n, Const) or not isinstance(n.value, (int, float)):
        return None
    kinds = {x.type.dtype, stmt.target.type.dtype}  # type: ignore[union-attr]
    real = kinds <= {"float32"} or kinds <= {"float64"}
    return float(n.value) if real and n.value < 0 and n.value != int(n.value) else None
