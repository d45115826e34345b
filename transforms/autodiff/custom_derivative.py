"""Custom derivatives (`Custom` in `ir/nodes.py`): inline their pullbacks, and erase the `Custom`
statements and the checkpoint budgets of loops after the last differentiation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir.builder import Builder
from ..ir.clone import clone_block
from ..ir.nodes import (
    Assign,
    Block,
    Const,
    Custom,
    For,
    Function,
    Module,
    Op,
    Operand,
    Origin,
    Stmt,
    Var,
    map_blocks,
    substitute,
    walk,
)


def inline(
    b: Builder, function: Function, args: Sequence[Operand], origin: Origin | None
) -> list[Operand]:
    """Emit a clone of a function's body for the given arguments, and return its results."""
    inside: dict[str, Operand] = dict(zip((p.name for p in function.params), args, strict=True))
    body = clone_block(function.body, b.names, inside, b.facts)
    for stmt in walk(body):
        if stmt.origin is not None and origin is not None:
            sweep = max(origin.sweep, stmt.origin.sweep + 1)
            stmt.origin = replace(stmt.origin, sweep=sweep, tangent=origin.tangent)
        if isinstance(stmt, Assign):
            b.definitions[stmt.target.name] = stmt.op
    b.block += body
    return [x if isinstance(x, Const) else inside[x.name] for x in function.results]


def erase_custom_derivatives(module: Module) -> Module:
    """The module with each `Custom` replaced by its values, and loops without budgets."""
    return module.map(lambda f, _: _erase(f))


def _has_budget(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.budget is not None


def _erase(function: Function) -> Function:
    if not any(isinstance(s, Custom) or _has_budget(s) for s in walk(function.body)):
        return function
    names: dict[str, Operand] = {}

    def read(x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in names:
            x = names[x.name]
        return x

    def visit(block: Block) -> Block:
        out: Block = []
        for stmt in block:
            if isinstance(stmt, Custom):
                for target, value in zip(stmt.targets, stmt.values):
                    if value.type == target.type:
                        names[target.name] = value
                    else:
                        out.append(Assign(target, Op("same", (value,))))
                continue
            stmt = map_blocks(stmt, visit)
            out.append(replace(stmt, budget=None) if isinstance(stmt, For) else stmt)
        return out

    body = substitute(visit(function.body), read)
    results = [read(r) for r in function.results]
    effects = [(p, read(v)) for p, v in function.effects]
    return replace(function, body=body, results=results, effects=effects)
