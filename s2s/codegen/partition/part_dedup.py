"""Parts of a long kernel that do the same with other variables are written once
(`split_function.py`).

A network does the same for each of its layers, and most of its parts are those of another layer.
What decides what is written for one is looked at before: the statements with numbers in place of
names, and of each name all that a part could ask.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any, Protocol

from ...transforms.ir.record import record
from ..syntax_helpers import walk
from .outline_nests import spelling
from .shared_frame import Word


class Framed(Protocol):
    """What is needed of a part (`split_function.py`)."""

    frame: Any
    words: Any
    owned: Any
    plan: Any
    types: Any
    private: Any


@record(frozen=True)
class Outcome:
    """A part that was written, and what came of it for its variables, which are known by their
    numbers: the places it is told, of a variable or of its memory; the arrays whose memory it was
    the first to note; what it found to be constant, by its place in the variable."""

    function: Any
    homes: list[tuple[int, bool]]
    owned: list[int]
    constants: list[tuple[int, int, Any]]


class Look:
    """What decides what is written for a part, whatever the names in it: parts of which that is the
    same are one function, and only the first is written."""

    def __init__(
        self, caller: Framed, stmts: list[ast.stmt], last: dict[ast.stmt, list[str]]
    ) -> None:
        assert caller.frame is not None
        self.frame, self.words, self.owned = caller.frame, caller.words, caller.owned
        plan, known = caller.plan, caller.types
        order: dict[str, int] = {}
        texts = [spelling(s, known, order) for s in stmts]
        ends = [tuple(order[n] for n in last.get(s, ()) if n in order) for s in stmts]
        self.names = [*order]
        self.before = [[*self.words.get(n, ())] for n in self.names]
        self.noted = len(self.owned)
        inside = Counter(n.id for s in stmts for n in walk(s) if isinstance(n, ast.Name))
        memory: dict[str, int] = {}
        roles = [
            (
                known.names[n], n in known.slots, n in self.words, *map(_kind, words),
                n in self.owned, n in plan.private, n in caller.private, n in plan.constant,
                plan.mentions[n] > inside[n],
                memory.setdefault(plan.memory[n], i) if n in plan.memory else -1,
            )
            for i, (n, words) in enumerate(zip(self.names, self.before))
        ]  # fmt: skip
        self.key = tuple(texts), tuple(ends), tuple(roles)

    def outcome(self, function: Any, homes: list[int]) -> Outcome:
        """After the part was written."""
        whose = {_home(words): (i, False) for i, words in enumerate(self.before)}
        noted = [*self.owned][self.noted :]
        numbers = {name: i for i, name in enumerate(self.names)}
        for name in self.names:
            if name in self.owned:
                whose[self.frame.memory(self.owned[name]).home] = numbers[name], True
        constants = [
            (i, position, now)
            for i, (name, words) in enumerate(zip(self.names, self.before))
            for position, (was, now) in enumerate(zip(words, self.words.get(name, ())))
            if was is not now
        ]
        return Outcome(
            function, [whose[home] for home in homes], [numbers[n] for n in noted], constants
        )

    def repeated(self, alike: Outcome) -> tuple[Any, list[int]]:
        """As if the part were written: the function for it, and its places."""
        for i in alike.owned:
            self.owned.setdefault(self.names[i], len(self.owned))
        for i, position, constant in alike.constants:
            self.words[self.names[i]][position] = constant
        homes = [
            self.frame.memory(self.owned[self.names[i]]).home if memory else _home(self.before[i])
            for i, memory in alike.homes
        ]
        return alike.function, homes


def _kind(word: Any) -> Any:
    """What there is to know of a part of a variable, wherever that is in the frame."""
    if isinstance(word, Word):
        return word.position - word.home, word.type
    return str(word)


def _home(words: list[Any]) -> int:
    return next((word.home for word in words if isinstance(word, Word)), -1)
