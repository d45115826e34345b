"""Duplicate cheap temporaries of the user's statements where the adjoint sweep reads them.

`if x > y:` has a temporary for its condition.  If the sweep read it, the writer would have to
split the user's statement to name the temporary.  Recomputing `x > y` in the sweep keeps the
statement whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..ir.builder import NameSupply
from ..ir.nodes import (
    Assign,
    Block,
    Function,
    Op,
    Operand,
    Scalar,
    Stmt,
    Var,
    blocks_of,
    inner_targets_of,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.scopes import is_never_overwritten, names_of, overwritten
from .rematerialize import Rematerializer


def duplicate_temporaries(function: Function) -> Function:
    """The function whose sweep recomputes the cheap temporaries that it reads."""
    first = next((i for i, s in enumerate(function.body) if _sweep(s)), len(function.body))
    primal, sweep = function.body[:first], function.body[first:]
    given = {x.name for x in function.results if isinstance(x, Var)}
    temporaries = {
        s.target.name: s.op
        for s in primal
        if isinstance(s, Assign) and not s.target.user and s.origin is not None
    }
    cheap = {name: op for name, op in _definitions(primal) if name in temporaries}
    named = _named(function, primal)
    names = NameSupply(names_of(function))
    lost = overwritten(function)
    views = dict(_definitions(function.body))
    done: dict[str, Operand] = {}
    body: Block = []
    for stmt in sweep:
        for x in list(_reads(stmt)):
            if x.name not in cheap or x.name in given or x.name in done:
                continue
            maker = Rematerializer(
                cheap,
                names,
                lambda v: v if v.name in named else done.get(v.name),
                lambda v: is_never_overwritten(v, views, lost),
            )
            new = maker.rebuild(x)
            if new is not None:
                for s in maker.block:
                    s.origin = stmt.origin
                body += maker.block
                done[x.name] = new
        body += substitute([stmt], lambda v: done.get(v.name, v) if isinstance(v, Var) else v)

    def read(v: Operand) -> Operand:
        return done.get(v.name, v) if isinstance(v, Var) and v.name not in given else v

    results = [read(r) for r in function.results]
    return replace(function, body=[*primal, *body], results=results)


def _definitions(block: Block) -> Iterator[tuple[str, Op]]:
    """The cheap operations at the top level of a block: operations on scalars, and views."""
    for s in block:
        if isinstance(s, Assign):
            kind = RULES[s.op.name].kind
            if isinstance(s.target.type, Scalar) or kind in ("view", "query", "index"):
                yield s.target.name, s.op


def _named(function: Function, primal: Block) -> set[str]:
    """The values whose user-visible name refers to them until the end of the function: parameters
    and variables whose name is not bound to another value later."""
    last = {p.user or p.name: p.name for p in function.params}

    def visit(block: Block) -> None:
        for stmt in block:
            last.update((v.user, v.name) for v in inner_targets_of(stmt) if v.user)
            for inner in blocks_of(stmt):
                visit(inner)
            last.update((v.user, v.name) for v in targets_of(stmt) if v.user)

    visit(primal)
    top = {v.name for s in primal for v in targets_of(s)} | {p.name for p in function.params}
    return set(last.values()) & top


def _sweep(stmt: Stmt) -> bool:
    """True if a statement belongs to an adjoint sweep."""
    return stmt.origin is not None and stmt.origin.sweep > 0


def _reads(stmt: Stmt) -> Iterator[Var]:
    for s in walk([stmt]):
        yield from (x for x in operands_of(s) if isinstance(x, Var))
