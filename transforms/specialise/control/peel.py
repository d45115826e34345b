"""Loops whose first iteration is on its own.

`total = 0` that becomes an array in the loop, or `best = None` that becomes a number, means
one thing in the first iteration and another in all others.  Such a loop is one iteration and
a loop of the rest, which is tried where the plain translation found a name in conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...ir.nodes import Raise
from ...ir.record import field, record
from ...syntax import core
from ...syntax.names import with_context
from ...syntax.traverse import walk
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..values import Conflict, Maybe, Num, Ref, Value, constant, number
from .joins import Joins, Key

LONGEST = 512  # iterations that are written out one by one


SHORT = 2  # those of a loop that would do with a first one


@record(eq=False)
class Peel(Part):
    """Loops whose first iteration is on its own."""

    places: Places
    arrays: Arrays
    joins: Joins
    # the loops whose rest is being translated
    peeled: list[Any] = field(default_factory=list, init=False)

    def request_peeling(self, conflicts: Mapping[Key, Conflict], node: core.Node) -> None:
        """Has the first iteration of a loop peeled if a name in conflict is read after the loop."""
        if any(p is node for p in self.peeled):
            return
        for key, conflict in conflicts.items():
            place = self.read_after(key[1], node) if key[0] == "env" and len(key) == 2 else None
            if place is not None:
                advice = "use one name for one kind of thing"
                self.places.need_unroll(place, conflict.why, advice, peel=True)

    def first_and_rest(
        self,
        cond: Num,
        first: Callable[[], bool],
        rest: Callable[[], bool],
        until: str | None,
        node: core.Node,
    ) -> bool:
        """`first` if `cond`, then `rest` unless the flag `until` says that the loop is over."""
        kinds: dict[str, Any] = {}

        def run() -> bool:
            if first():
                return True
            self.peeled.append(node)
            try:
                ended = self.unless(until, rest, node)
            finally:
                self.peeled.pop()
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
        return self.joins.if_(cond, run, none)

    def unless(self, until: str | None, rest: Callable[[], bool], node: core.Node) -> bool:
        """What is left of a loop after an iteration that may have ended it."""
        over = self.is_over(until, node)
        if over.known is not None:
            return False if over.known[0] else rest()
        return self.joins.if_(self.arrays.negated(over), rest, lambda: False)

    def is_over(self, until: str | None, node: core.Node) -> Num:
        if until is None:
            return constant(False)
        return number(self.arrays.usable(self.state.env[until], node))

    def _changed_kind(self, after: dict[str, Any], node: core.Node) -> str | None:
        """A name that the loop makes something else, and that is read after it."""
        if not after:  # every way through the loop fails
            return None
        for name, value in self.state.env.items():
            if self._kind(value) != after.get(name) and self.read_after(name, node) is not None:
                return name
        return None

    def _kind(self, value: Value) -> Any:
        if isinstance(value, Maybe):
            value = value.value
        return (
            ("array", self.arrays.ref_type(value).ndim) if isinstance(value, Ref) else type(value)
        )

    def read_after(self, name: str, node: core.Node) -> core.Name | None:
        """Where a name is read after a loop, unless it is bound anew before that."""
        uses: list[tuple[int, bool, core.Name]] = []
        updated = {
            id(n.target) for n in walk(self.places.frame.node) if isinstance(n, core.Augment)
        }
        for n, stored in with_context(self.places.frame.node):
            if isinstance(n, core.Name) and n.id == name and n.line > node.end_line:
                uses.append((n.line, stored and id(n) not in updated, n))
        if not uses:
            return None
        _, bound, first = min(uses, key=lambda use: use[:2])
        return None if bound else first
