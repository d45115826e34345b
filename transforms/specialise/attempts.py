"""Attempts: what is specialised tentatively leaves nothing behind when it is given up.

A checkpoint holds every attribute of the specialiser and of its parts: the builder with its names
and facts, what the specialisers of a module share, the active frames and the tapes.  Attributes
that are added later are included by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ir.builder import Builder
from ..ir.record import record
from .values import Mixin, State

# What is known of the source text alone, what holds in every attempt, and what has happened in
# the world outside: it is not undone.
KEPT = frozenset(
    "sources desugared lifetimes assumed static running builds built built_after".split()
)


@record(eq=False)
class Checkpoint:
    """The attributes of each part, and copies of the containers among them."""

    parts: list[tuple[Any, dict[str, Any]]]
    contents: list[tuple[Any, Any]]


class Attempts(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def attempt_parts(self) -> Iterator[Any]:
        """The objects whose attributes change while a program is specialised."""
        yield from (self, self.b, self.b.names, self.b.facts, self.shared)
        yield from self.stack
        yield from self.tapes

    def checkpoint(self) -> Checkpoint:
        saved = Checkpoint([], [])
        seen: set[int] = set()
        for part in self.attempt_parts():
            attributes = {k: v for k, v in vars(part).items() if k not in KEPT}
            saved.parts.append((part, attributes))
            for value in attributes.values():
                if isinstance(value, (list, dict, set, State)) and id(value) not in seen:
                    seen.add(id(value))
                    saved.contents.append((value, value.copy()))
        saved.contents += [(block, block.copy()) for block in self.b.around]
        return saved

    def rollback(self, saved: Checkpoint) -> None:
        """The checkpoint can be used again."""
        for part, attributes in saved.parts:
            vars(part).update(attributes)
        for container, content in saved.contents:
            if container is self.state:
                self.state = content.copy()
            elif isinstance(container, list):
                container[:] = content
            elif not isinstance(container, State):
                container.clear()
                container.update(content)
