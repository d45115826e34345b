"""A tape slot with its `Save` and its `restore`, and the interface of the tape planner."""

from __future__ import annotations

from typing import Protocol

from ..ir.builder import NameSupply
from ..ir.nodes import Assign, Block, Carried, For, Op, Operand, Save, Slot, Stmt, Var, While
from ..ir.record import record
from ..ir.scopes import Scope, Scopes
from ..ir.symbolic_dims import Dim, Facts


@record
class Pair:
    """A slot's `Save` and `restore`, their scopes, and the innermost scope that encloses both."""

    save: Save
    restore: Assign
    save_scope: Scope
    restore_scope: Scope
    common: Scope

    @property
    def slot(self) -> Slot:
        return self.save.slot

    @property
    def value(self) -> Var:
        assert isinstance(self.save.value, Var)
        return self.save.value

    def loops(self) -> list[tuple[For | While, For | While]]:
        """The loops around the `Save` and their mirrors around the `restore`, outermost first."""
        ours = self.save_scope.loops(self.common)
        theirs = self.restore_scope.loops(self.common)
        return list(zip(ours, theirs, strict=True))


class Planner(Protocol):
    """The interface of the tape planner (`TapePlanner` in `plan_tape.py`) for the modules it
    calls."""

    facts: Facts
    names: NameSupply
    scopes: Scopes
    definitions: dict[str, Op]
    before: dict[int, Block]
    original: dict[str, Operand]
    pairs: list[Pair]

    def block_of(self, scope: Scope) -> Block: ...

    def final(self, x: Var, pair: Pair) -> Op | None: ...

    def increment(self, c: Carried) -> int | None: ...

    def is_invariant(self, x: Var, loop: For | While) -> bool: ...

    def is_never_overwritten(self, x: Var) -> bool: ...

    def precedes(self, name: str, stmt: Stmt) -> bool: ...

    def restored(self, x: Var, pair: Pair) -> Var | None: ...

    def axis_of_size(self, dim: Dim, user: str, at: Stmt) -> tuple[Var, int] | None: ...
