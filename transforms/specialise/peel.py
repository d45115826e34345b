"""Loops whose first iteration is on its own.

`total = 0` that becomes an array in the loop, or `best = None` that becomes a number, means
one thing in the first iteration and another in all others.  Such a loop is one iteration and
a loop of the rest, which is tried where the plain translation found a name in conflict.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..build import Builder
from ..ir import Raise
from .values import Maybe, Mixin, Num, Ref, State, Value

LONGEST = 512  # iterations that are written out one by one


class Peel(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def first_and_rest(
        self, cond: Num, first: Callable[[], bool], rest: Callable[[], bool], until: str | None, node: Any
    ) -> bool:
        """`first` if `cond`, then `rest` unless the flag `until` says that the loop is over."""
        kinds: dict[str, Any] = {}

        def run() -> bool:
            if first():
                return True
            ended = self.unless(until, rest, node)
            if not ended:
                kinds.update((name, self._kind(value)) for name, value in self.state.env.items())
            return ended

        def none() -> bool:
            name = self._changed_kind(kinds, node)
            if name is None:
                return False
            message = f"this loop must run at least once, for {name} is something else before it"
            self.b.block.append(Raise("ValueError", (message,), self.b.origin))
            return True

        if cond.known is not None:
            return run() if cond.known[0] else False
        return self.if_(cond, run, none)

    def unless(self, until: str | None, rest: Callable[[], bool], node: Any) -> bool:
        """What is left of a loop after an iteration that may have ended it."""
        over = self.is_over(until, node)
        if over.known is not None:
            return False if over.known[0] else rest()
        return self.if_(self.not_(over, node), rest, lambda: False)

    def is_over(self, until: str | None, node: Any) -> Num:
        return self.constant(False) if until is None else self.usable(self.state.env[until], node)

    def _changed_kind(self, after: dict[str, Any], node: Any) -> str | None:
        """A name that the loop makes something else, and that is read elsewhere."""
        if not after:  # every way through the loop fails
            return None
        for name, value in self.state.env.items():
            if self._kind(value) != after.get(name) and self._read_elsewhere(name, node):
                return name
        return None

    def _kind(self, value: Value) -> Any:
        if isinstance(value, Maybe):
            value = value.value
        return ("array", self.ref_type(value).ndim) if isinstance(value, Ref) else type(value)

    def _read_elsewhere(self, name: str, node: Any) -> bool:
        last = getattr(node, "end_lineno", node.lineno)
        return any(
            isinstance(n, ast.Name)
            and n.id == name
            and isinstance(n.ctx, ast.Load)
            and not node.lineno <= n.lineno <= last
            for n in ast.walk(self.frame.node)
        )
