"""The parts of an evaluator, and which of them each part is given."""

from __future__ import annotations

import sys
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from .evaluator import Evaluator
from .session import Part, Session

P = TypeVar("P", bound=Part)


class Wiring:
    """The parts of one evaluator, each made when it is first read, after those below it."""

    def __init__(self, session: Session, evaluator: Evaluator) -> None:
        self.session, self.evaluator = session, evaluator
        self.made: dict[type[Part], Part] = {}

    def __getitem__(self, cls: type[P]) -> P:
        if cls not in self.made:
            below = (self[other] for other in parts_below(cls))
            self.made[cls] = cls(self.session, self.evaluator, *below)
        part: Any = self.made[cls]
        return part


@cache
def parts_below(cls: type[Part]) -> tuple[type[Part], ...]:
    """The classes of the parts that a part is given: its fields, but for the session, the
    evaluator and what it owns."""
    own = (f for f in fields(cls) if f.init and f.name not in ("session", "evaluator"))
    return tuple(getattr(sys.modules[cls.__module__], str(f.type)) for f in own)
