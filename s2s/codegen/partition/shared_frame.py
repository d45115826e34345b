"""The memory in which the parts of a long kernel keep what they share (`split_function.py`)."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from llvmlite import ir

from ...transforms.ir.record import record
from ..array_values import parts_of_type
from ..llvm_utils import INT, NULL, POINTER
from ..syntax_helpers import walk
from ..type_inference import Types
from ..type_lowering import Context
from ..value_types import Array


@record(frozen=True)
class Word:
    """A place in a frame, of eight bytes or more; what it is a part of begins at `home`."""

    position: int
    type: Any
    home: int = 0

    def place(self, builder: Any, frame: Any) -> Any:
        where = builder.gep(frame, [INT(self.position)], inbounds=True)
        return builder.bitcast(where, self.type.as_pointer())

    def load(self, builder: Any, frame: Any) -> Any:
        return builder.load(self.place(builder, frame))


class Frame:
    """`words[name]` is what stands for a variable: a `Word` for each part of it, or a constant.
    First come the arguments of the kernel, then a table for the memory of arrays.  `parts` are the
    statements, one after the other: those of a function, or one that the kernel itself has to
    run."""

    def __init__(
        self, context: Context, function: ast.FunctionDef, known: Types, parts: list[Any]
    ) -> None:
        self.parts, self.size = parts, 0
        self.words: dict[str, list[Any]] = {}
        self.given: dict[str, list[Any]] = {}
        for parameter in function.args.args:
            type_ = known.names[parameter.arg]
            if isinstance(type_, Array):
                words = [*self._add(parts_of_type(type_)[:-1]), NULL]
            else:
                words = self._add([context.value_type(type_)])
            self.given[parameter.arg] = words
        self.table = self.size
        self.size += arrays_in(known)
        self.words |= {n: words for n, words in self.given.items() if n not in known.slots}
        for name in _shared(parts, known, self.given):
            type_ = known.names[name]
            if name in self.words:
                continue
            if isinstance(type_, Array):
                self.words[name] = self._add(parts_of_type(type_))
            else:
                self.words[name] = self._add([context.value_type(type_)])

    def _add(self, types: list[Any]) -> list[Any]:
        home, words = self.size, []
        for type_ in types:
            words.append(Word(self.size, type_, home))
            self.size += _length(type_)
        return words

    def memory(self, number: int) -> Word:
        """Where the memory of an array is noted."""
        position = self.table + number
        return Word(position, POINTER, position)


def _shared(parts: list[Any], known: Types, given: Iterable[str]) -> list[str]:
    """The names that more than one function mentions.  Loops that are not nested may have the same
    variable, and share nothing."""
    seen: dict[str, int] = dict.fromkeys(given, -1)
    shared: dict[str, None] = {}
    for number, part in enumerate(parts):
        cut = isinstance(part, list)
        position = number if cut else -1  # the kernel itself
        for stmt in part if cut else [part]:
            for node in walk(stmt):
                if isinstance(node, ast.Name) and node.id in known.names:
                    if seen.setdefault(node.id, position) != position:
                        shared[node.id] = None
    return [n for n in shared if n in known.slots or n not in known.loops]


def arrays_in(known: Types) -> int:
    return sum(isinstance(t, Array) for t in known.names.values())


def _length(type_: Any) -> int:
    if isinstance(type_, ir.LiteralStructType):
        return sum(map(_length, type_.elements))
    return 1
