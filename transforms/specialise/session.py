"""What the parts of one evaluator work on together, and how attempts are undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from typing import Any

from ..frontend.kernel_interface import Param
from ..frontend.pytree import Path
from ..ir.builder import Builder, NameSupply
from ..ir.record import field, record
from ..ir.symbolic_dims import Facts
from .evaluator import Evaluator
from .shared import Callee, Shared
from .values import State

# What is known of the source text alone, what holds in every attempt, and what has happened in
# the world outside: it is not undone.
KEPT = frozenset(
    "sources desugared lifetimes assumed static unkept running builds built built_after".split()
)


class Mark:
    """Attributes of objects as they are, and copies of the containers among them."""

    def __init__(self, held: Iterable[tuple[Any, dict[str, Any]]], containers: Any = ()) -> None:
        self.held = [(holder, dict(attributes)) for holder, attributes in held]
        values = (v for _, attributes in self.held for v in attributes.values())
        found = [*containers, *(v for v in values if isinstance(v, (list, dict, set)))]
        self.contents = [(container, container.copy()) for container in found]

    def undo(self) -> None:
        """The mark can be used again."""
        for holder, attributes in self.held:
            vars(holder).update(attributes)
        for container, content in self.contents:
            if isinstance(container, list):
                container[:] = content
            else:
                container.clear()
                container.update(content)


@record(eq=False)
class Session:
    """One function that is being specialised.  `given` says whether its arguments are at hand,
    `outer` is the evaluator of its caller."""

    shared: Shared
    given: bool
    baked: frozenset[Path]
    runtime_ints: frozenset[Path]
    # the names and calls (`Frames`) of the evaluator of the caller
    outer: Any = None
    # makes the evaluator of a function whose calls stay calls
    nested: Callable[[Callee], Any] | None = None
    # the integers at hand, by the parameters that hold them
    given_ints: dict[str, int] = field(default_factory=dict, init=False)
    params: list[Param] = field(default_factory=list, init=False)
    # the parts that own something
    parts: list[Part] = field(default_factory=list, init=False)
    state: State = field(init=False)
    b: Builder = field(init=False)

    def __post_init__(self) -> None:
        self.state = State([])
        facts = Facts({} if self.given else None, ints=self.given_ints)
        self.b = Builder(NameSupply({"np", "math"}), facts)

    def checkpoint(self) -> list[tuple[Any, Any]]:
        """The present state of all parts.  What is specialised tentatively leaves nothing behind
        when it is given up."""
        return [(owner, owner.mark()) for owner in (self, *self.parts)]

    def rollback(self, saved: list[tuple[Any, Any]]) -> None:
        """The checkpoint can be used again."""
        for owner, mark in saved:
            owner.undo(mark)

    def mark(self) -> tuple[Mark, State]:
        b = self.b
        shared = {k: v for k, v in vars(self.shared).items() if k not in KEPT}
        own = {"params": self.params, "given_ints": self.given_ints}
        held = [(self, own), (self.shared, shared), *((o, vars(o)) for o in (b, b.names, b.facts))]
        return Mark(held, b.around), self.state.copy()

    def undo(self, mark: tuple[Mark, State]) -> None:
        attributes, state = mark
        attributes.undo()
        self.state = state.copy()


@record(eq=False)
class Part:
    """One part of the evaluator: its fields are the parts below it, and what it owns."""

    session: Session
    evaluator: Evaluator

    def __post_init__(self) -> None:
        if owned(type(self)):
            self.session.parts.append(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"  # the parts share those below them

    @property
    def b(self) -> Builder:
        return self.session.b

    @property
    def state(self) -> State:
        return self.session.state

    @property
    def shared(self) -> Shared:
        return self.session.shared

    def holders(self) -> Iterable[Any]:
        """Further objects whose attributes belong to this part."""
        return ()

    def mark(self) -> Mark:
        """What this part owns, as it is; `undo` restores it."""
        own = {name: getattr(self, name) for name in owned(type(self))}
        return Mark([(self, own), *((holder, vars(holder)) for holder in self.holders())])

    def undo(self, mark: Mark) -> None:
        mark.undo()


@cache
def owned(cls: type[Part]) -> tuple[str, ...]:
    """The attributes that a part owns: the fields that it is not given."""
    return tuple(f.name for f in fields(cls) if not f.init and not f.metadata)


def fixed() -> Any:
    """A field that a part sets when it is made, and never changes."""
    return field(init=False, metadata={"fixed": True})
