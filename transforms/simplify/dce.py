"""Dead code elimination (DCE) on value form: values, phis, loop-carried values, slots, empty loops.

The roots of liveness are the results, the effects, and statements that raise, print, store or draw.
Everything that they depend on is live.  Loop-carried values that only feed themselves are dead.
A statement of the user is removed as a whole or not at all, so that the remaining code still equals
the user's source text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir.nodes import (
    Assign,
    Block,
    Call,
    Carried,
    Custom,
    Draw,
    For,
    Function,
    If,
    Operand,
    Phi,
    Print,
    Raise,
    Save,
    Stmt,
    Store,
    Var,
    While,
    blocks_of,
    operands_of,
    targets_of,
    walk,
)


def eliminate_dead_code(function: Function) -> Function:
    """The function without dead code."""
    live = _Liveness(function)
    function = replace(function, body=live.clean(function.body))
    if "slots" in function.notes:
        kept = {s.slot.name for s in walk(function.body) if isinstance(s, Save)}
        slots = {k: plan for k, plan in function.notes["slots"].items() if k in kept}
        function.notes = {**function.notes, "slots": slots}
    return function


class _Liveness:
    """Marks live names and statements with a worklist, then rebuilds the blocks from them."""

    def __init__(self, function: Function) -> None:
        self.binder: dict[str, Stmt | Phi | Carried] = {}
        self.enclosing: dict[int, Stmt | None] = {}
        self.compound_of: dict[int, Stmt] = {}
        self.saves: dict[str, list[Save]] = {}
        # For each assignment or call: all those that belong to the same statement of the user.
        self.groups: dict[int, list[Assign | Call]] = {}
        self.names: set[str] = set()
        self.stmts: set[int] = set()
        # The storage of slots, after the checkpointing pass has planned it.
        self.plans: dict[str, Any] = function.notes.get("slots", {})
        roots: list[Stmt] = []
        self.collect(function.body, None, roots)
        self.worklist: list[Operand] = [*function.results, *(v for _, v in function.effects)]
        for stmt in roots:
            self.worklist += operands_of(stmt)
            self.mark_stmt(stmt)
        while self.worklist:
            x = self.worklist.pop()
            if isinstance(x, Var) and x.name not in self.names:
                self.names.add(x.name)
                self.mark_value(x)

    def collect(self, block: Block, parent: Stmt | None, roots: list[Stmt]) -> None:
        """Record binders, enclosing statements and groups of a block, and the root statements."""
        by_source: dict[object, list[Assign | Call]] = {}
        for stmt in block:
            self.enclosing[id(stmt)] = parent
            if isinstance(stmt, Custom):
                self.binder.update((v.name, stmt) for v in targets_of(stmt))
            elif isinstance(stmt, (Assign, Call)):
                self.binder.update((v.name, stmt) for v in targets_of(stmt))
                if isinstance(stmt, Call) and stmt.keep:
                    roots.append(stmt)
                if is_user_code(stmt):
                    assert stmt.origin is not None
                    key = (stmt.origin.stmt, stmt.origin.frame)
                    group = self.groups[id(stmt)] = by_source.setdefault(key, [])
                    group.append(stmt)
            elif isinstance(stmt, Save):
                self.saves.setdefault(stmt.slot.name, []).append(stmt)
            elif isinstance(stmt, (Raise, Print, Store, Draw)):
                roots.append(stmt)
                self.binder.update((v.name, stmt) for v in targets_of(stmt))
            elif isinstance(stmt, If):
                for phi in stmt.phis:
                    self.binder[phi.target.name] = phi
                    self.compound_of[id(phi)] = stmt
            elif isinstance(stmt, (For, While)):
                for c in stmt.carried:
                    self.binder[c.phi.name] = self.binder[c.result.name] = c
                    self.compound_of[id(c)] = stmt
                if isinstance(stmt, For):
                    self.binder[stmt.index.name] = stmt
                if stmt.trips is not None:
                    self.binder[stmt.trips.name] = stmt
            for inner in blocks_of(stmt):
                self.collect(inner, stmt, roots)

    def mark_value(self, x: Var) -> None:
        """Mark what defines a live value, and queue the operands of that."""
        binder = self.binder.get(x.name)
        if binder is None:  # a parameter
            return
        if isinstance(binder, Phi):
            self.worklist += (binder.then_value, binder.else_value)
            self.mark_stmt(self.compound_of[id(binder)])
        elif isinstance(binder, Carried):
            self.worklist += (binder.init, binder.next)
            self.mark_stmt(self.compound_of[id(binder)])
        elif isinstance(binder, (Assign, Call)):
            self.worklist += operands_of(binder)
            group = self.groups.get(id(binder), [])
            for s in group:
                if isinstance(s, Call) or s.op.name != "undef":
                    self.worklist += targets_of(s)
            group.clear()  # marked once, not once per statement
            if isinstance(binder, Assign) and binder.op.name == "restore":
                for save in self.saves.get(binder.op.attrs["slot"].name, ()):
                    self.worklist.append(save.value)
                    if save.slot.name in self.plans:
                        self.worklist += self.plans[save.slot.name].operands()
                    self.mark_stmt(save)
            self.mark_stmt(binder)
        else:
            if isinstance(binder, Custom):
                self.worklist += operands_of(binder)
            self.mark_stmt(binder)

    def mark_stmt(self, stmt: Stmt | None) -> None:
        """Mark a statement and those that enclose it; their conditions and bounds are live."""
        while stmt is not None and id(stmt) not in self.stmts:
            self.stmts.add(id(stmt))
            if isinstance(stmt, If):
                self.worklist.append(stmt.cond)
            elif isinstance(stmt, For):
                self.worklist += (stmt.start, stmt.stop, stmt.step)
                self.worklist += [x for x in (stmt.count, stmt.until) if x is not None]
                self.worklist += [] if stmt.budget is None else [stmt.budget.amount]
            elif isinstance(stmt, While):
                self.worklist += [x for x in (stmt.cond, stmt.until) if x is not None]
            stmt = self.enclosing[id(stmt)]

    # ---- rebuilding

    def clean(self, block: Block) -> Block:
        """The live statements of a block."""
        return [self.rebuild(s) for s in block if id(s) in self.stmts]

    def rebuild(self, stmt: Stmt) -> Stmt:
        """A live statement without its dead phis, loop-carried values and inner statements."""
        if isinstance(stmt, If):
            phis = [p for p in stmt.phis if p.target.name in self.names]
            then, orelse = self.clean(stmt.then), self.clean(stmt.orelse)
            return replace(stmt, then=then, orelse=orelse, phis=phis)
        if isinstance(stmt, (For, While)):
            carried = [c for c in stmt.carried if self.names & {c.phi.name, c.result.name}]
            trips = stmt.trips if stmt.trips and stmt.trips.name in self.names else None
            stmt = replace(stmt, body=self.clean(stmt.body), carried=carried, trips=trips)
            if isinstance(stmt, While):
                stmt.test = self.clean(stmt.test)
        return stmt


def is_user_code(stmt: Stmt) -> bool:
    """True if a statement is part of the user's own source, which is left unchanged."""
    return stmt.origin is not None and stmt.origin.sweep == 0 and not stmt.origin.batched
