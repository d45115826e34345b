"""The frame: memory for variables shared by the parts of a long kernel (`split_function.py`)."""

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
class FrameSlot:
    """A slot in a frame, at offset `position` in words of eight bytes.  `home` is the offset of the
    first word of the variable it belongs to."""

    position: int
    type: Any
    home: int = 0

    def place(self, builder: Any, frame: Any) -> Any:
        """The address of the slot."""
        where = builder.gep(frame, [INT(self.position)], inbounds=True)
        return builder.bitcast(where, self.type.as_pointer())

    def load(self, builder: Any, frame: Any) -> Any:
        return builder.load(self.place(builder, frame))


class Frame:
    """The layout of a frame.  `words[name]` are the components of a variable, each a `FrameSlot` or
    a constant.  The arguments of the kernel (`given`) come first, then a table of the meminfos of
    arrays, at `table`.  `parts` are the statements in order: a list of statements is a function of
    its own, a single statement is emitted in the kernel itself."""

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
        self.size += array_count(known)
        self.words |= {n: words for n, words in self.given.items() if n not in known.slots}
        for name in _cross_function_names(parts, known, self.given):
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
            words.append(FrameSlot(self.size, type_, home))
            self.size += _words_of(type_)
        return words

    def memory(self, number: int) -> FrameSlot:
        """The slot of a meminfo in the table."""
        position = self.table + number
        return FrameSlot(position, POINTER, position)


def _cross_function_names(parts: list[Any], known: Types, given: Iterable[str]) -> list[str]:
    """The names that more than one function uses.  Loop variables are left out: loops that are not
    nested may have the same variable without sharing a value."""
    seen: dict[str, int] = dict.fromkeys(given, -1)
    shared: dict[str, None] = {}
    for number, part in enumerate(parts):
        cut = isinstance(part, list)
        position = number if cut else -1  # -1 is the kernel itself
        for stmt in part if cut else [part]:
            for node in walk(stmt):
                if isinstance(node, ast.Name) and node.id in known.names:
                    if seen.setdefault(node.id, position) != position:
                        shared[node.id] = None
    return [n for n in shared if n in known.slots or n not in known.loops]


def array_count(known: Types) -> int:
    """The number of array variables."""
    return sum(isinstance(t, Array) for t in known.names.values())


def _words_of(type_: Any) -> int:
    """The size of an LLVM type in words."""
    if isinstance(type_, ir.LiteralStructType):
        return sum(map(_words_of, type_.elements))
    return 1
