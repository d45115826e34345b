"""Deduplication: parts of a long kernel that differ only in variables are emitted once
(`split_function.py`).

The layers of a network consist of the same statements, so most parts equal one of another layer.
A key is computed before a part is emitted: its statements with indices in place of names, and all
properties of each name that the emitted code can depend on.  Parts with equal keys are one
function.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any, Protocol

from ...transforms.ir.record import record
from ..syntax_helpers import walk
from .outline_nests import spelling
from .shared_frame import FrameSlot


class Framed(Protocol):
    """The attributes of `split_function.Framed` that are used here."""

    frame: Any
    words: Any
    owned: Any
    plan: Any
    types: Any
    private: Any


@record(frozen=True)
class Outcome:
    """An emitted part and its effects on the variables, which are identified by index.

    `homes` are the frame offsets that it takes in its table: (variable, whether its meminfo).
    `owned` are the arrays to whose meminfos it was the first to give a table entry.  `constants`
    are the components that it found to be constant: (variable, component, value)."""

    function: Any
    homes: list[tuple[int, bool]]
    owned: list[int]
    constants: list[tuple[int, int, Any]]


class PartKey:
    """The key of a part, independent of variable names.  Parts with the same key are one function,
    and only the first is emitted."""

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
                known.names[n], n in known.slots, n in self.words, *map(_relative, words),
                n in self.owned, n in plan.private, n in caller.private, n in plan.constant,
                plan.mentions[n] > inside[n],
                memory.setdefault(plan.memory[n], i) if n in plan.memory else -1,
            )
            for i, (n, words) in enumerate(zip(self.names, self.before))
        ]  # fmt: skip
        self.key = tuple(texts), tuple(ends), tuple(roles)

    def outcome(self, function: Any, homes: list[int]) -> Outcome:
        """The outcome of the part, after it was emitted."""
        whose = {_frame_offset(words): (i, False) for i, words in enumerate(self.before)}
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
        """The function and frame offsets of an equal part, after applying its effects here."""
        for i in alike.owned:
            self.owned.setdefault(self.names[i], len(self.owned))
        for i, position, constant in alike.constants:
            self.words[self.names[i]][position] = constant
        homes = [
            self.frame.memory(self.owned[self.names[i]]).home
            if memory
            else _frame_offset(self.before[i])
            for i, memory in alike.homes
        ]
        return alike.function, homes


def _relative(word: Any) -> Any:
    """A component of a variable, independent of the variable's offset in the frame."""
    if isinstance(word, FrameSlot):
        return word.position - word.home, word.type
    return str(word)


def _frame_offset(words: list[Any]) -> int:
    """The frame offset of a variable; -1 if all its components are constants."""
    return next((word.home for word in words if isinstance(word, FrameSlot)), -1)
