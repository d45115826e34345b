"""Drops what nobody reads: values, phis, carried values, slots, and loops left empty.

Live are the results and effects, what is raised or printed, and whatever these depend on.
Carried values that only feed themselves are dead.  A user's statement is dropped as a whole
or not at all, so that the text of what remains is still the user's.
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


def drop_dead(function: Function) -> Function:
    live = _Liveness(function)
    function = replace(function, body=live.clean(function.body))
    if "slots" in function.notes:
        kept = {s.slot.name for s in walk(function.body) if isinstance(s, Save)}
        slots = {k: plan for k, plan in function.notes["slots"].items() if k in kept}
        function.notes = {**function.notes, "slots": slots}
    return function


class _Liveness:
    """Marks live names and statements, then rebuilds the blocks from them."""

    def __init__(self, function: Function) -> None:
        self.binder: dict[str, Stmt | Phi | Carried] = {}
        self.holder: dict[int, Stmt | None] = {}
        self.loop_of: dict[int, Stmt] = {}
        self.saves: dict[str, list[Save]] = {}
        # All assignments and calls of the user's statement to which one belongs.
        self.groups: dict[int, list[Assign | Call]] = {}
        self.names: set[str] = set()
        self.stmts: set[int] = set()
        # How slots are stored, once `save` has decided it.
        self.plans: dict[str, Any] = function.notes.get("slots", {})
        roots: list[Stmt] = []
        self.collect(function.body, None, roots)
        self.todo: list[Operand] = [*function.results, *(v for _, v in function.effects)]
        for stmt in roots:
            self.todo += operands_of(stmt)
            self.mark_stmt(stmt)
        while self.todo:
            x = self.todo.pop()
            if isinstance(x, Var) and x.name not in self.names:
                self.names.add(x.name)
                self.mark_value(x)

    def collect(self, block: Block, parent: Stmt | None, roots: list[Stmt]) -> None:
        whole: dict[object, list[Assign | Call]] = {}
        for stmt in block:
            self.holder[id(stmt)] = parent
            if isinstance(stmt, Custom):
                self.binder.update((v.name, stmt) for v in targets_of(stmt))
            elif isinstance(stmt, (Assign, Call)):
                self.binder.update((v.name, stmt) for v in targets_of(stmt))
                if isinstance(stmt, Call) and stmt.keep:
                    roots.append(stmt)
                if is_users(stmt):
                    assert stmt.origin is not None
                    key = (stmt.origin.stmt, stmt.origin.frame)
                    group = self.groups[id(stmt)] = whole.setdefault(key, [])
                    group.append(stmt)
            elif isinstance(stmt, Save):
                self.saves.setdefault(stmt.slot.name, []).append(stmt)
            elif isinstance(stmt, (Raise, Print, Store, Draw)):
                roots.append(stmt)
                self.binder.update((v.name, stmt) for v in targets_of(stmt))
            elif isinstance(stmt, If):
                for phi in stmt.phis:
                    self.binder[phi.target.name] = phi
                    self.loop_of[id(phi)] = stmt
            elif isinstance(stmt, (For, While)):
                for c in stmt.carried:
                    self.binder[c.phi.name] = self.binder[c.result.name] = c
                    self.loop_of[id(c)] = stmt
                if isinstance(stmt, For):
                    self.binder[stmt.index.name] = stmt
                if stmt.trips is not None:
                    self.binder[stmt.trips.name] = stmt
            for inner in blocks_of(stmt):
                self.collect(inner, stmt, roots)

    def mark_value(self, x: Var) -> None:
        binder = self.binder.get(x.name)
        if binder is None:  # a parameter
            return
        if isinstance(binder, Phi):
            self.todo += (binder.then_value, binder.else_value)
            self.mark_stmt(self.loop_of[id(binder)])
        elif isinstance(binder, Carried):
            self.todo += (binder.init, binder.next)
            self.mark_stmt(self.loop_of[id(binder)])
        elif isinstance(binder, (Assign, Call)):
            self.todo += operands_of(binder)
            group = self.groups.get(id(binder), [])
            for s in group:
                if isinstance(s, Call) or s.op.name != "undef":
                    self.todo += targets_of(s)
            group.clear()  # marked once, not again for each of its statements
            if isinstance(binder, Assign) and binder.op.name == "restore":
                for save in self.saves.get(binder.op.attrs["slot"].name, ()):
                    self.todo.append(save.value)
                    if save.slot.name in self.plans:
                        self.todo += self.plans[save.slot.name].operands()
                    self.mark_stmt(save)
            self.mark_stmt(binder)
        else:
            if isinstance(binder, Custom):
                self.todo += operands_of(binder)
            self.mark_stmt(binder)

    def mark_stmt(self, stmt: Stmt | None) -> None:
        """A statement runs: so do those around it, which need their conditions."""
        while stmt is not None and id(stmt) not in self.stmts:
            self.stmts.add(id(stmt))
            if isinstance(stmt, If):
                self.todo.append(stmt.cond)
            elif isinstance(stmt, For):
                self.todo += (stmt.start, stmt.stop, stmt.step)
                self.todo += [x for x in (stmt.count, stmt.until) if x is not None]
                self.todo += [] if stmt.budget is None else [stmt.budget.amount]
            elif isinstance(stmt, While):
                self.todo += [x for x in (stmt.cond, stmt.until) if x is not None]
            stmt = self.holder[id(stmt)]

    # ---- rebuilding

    def clean(self, block: Block) -> Block:
        return [self.rebuild(s) for s in block if id(s) in self.stmts]

    def rebuild(self, stmt: Stmt) -> Stmt:
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


def is_users(stmt: Stmt) -> bool:
    """Whether a statement is part of the user's own text, which is left as it is."""
    return stmt.origin is not None and stmt.origin.sweep == 0 and not stmt.origin.batched
