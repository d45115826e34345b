"""A long kernel as several functions, and the memory in which they keep what they share.

What a compiler does to a function takes more than twice the time for one twice as long.  So the
statements of a long kernel are cut into parts, functions of some forty statements each.  What more
than one of them mentions stands in a frame, and so do the arguments of a kernel that has many: each
part reads what it needs, and writes what others will.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from .buffers import Buffer, of_values, parts_of_type, release
from .context import Context
from .emit import CODE, Body, Failures
from .infer import Types
from .kinds import Array
from .nodes import walk
from .outline import Plan, call_nest, is_parallel
from .share import can_share, share_out
from .writing import INT, NULL, POINTER, new_function, room

# A kernel with more statements than this is cut, nests counted as one,
LONG = 100
# into parts of so many;
PART = 40
# and one with more values than this is given them in memory.
MANY = 64
WORDS = INT.as_pointer()


@dataclass(frozen=True)
class Word:
    """A place in a frame, of eight bytes or more."""

    position: int
    type: Any

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
                words = [*map(self._add, parts_of_type(type_)[:-1]), NULL]
            else:
                words = [self._add(context.value_type(type_))]
            self.given[parameter.arg] = words
        self.table = self.size
        self.size += _arrays(known)
        self.words |= {n: words for n, words in self.given.items() if n not in known.slots}
        for name in _shared(parts, known, self.given):
            type_ = known.names[name]
            if name in self.words:
                continue
            if isinstance(type_, Array):
                self.words[name] = [*map(self._add, parts_of_type(type_))]
            else:
                self.words[name] = [self._add(context.value_type(type_))]

    def _add(self, type_: Any) -> Word:
        word = Word(self.size, type_)
        self.size += _length(type_)
        return word


def is_long(function: ast.FunctionDef) -> bool:
    return len(function.body) > LONG


def frame_of(context: Context, function: ast.FunctionDef, known: Types, plan: Plan) -> Frame | None:
    """The frame of a kernel, if it is long or takes many values."""
    values = [known.names[a.arg] for a in function.args.args]
    many = sum(len(parts_of_type(t)) - 1 if isinstance(t, Array) else 1 for t in values) > MANY
    if not is_long(function) and not many:
        return None
    return Frame(context, function, known, _cut(function, plan))


def _cut(function: ast.FunctionDef, plan: Plan) -> list[Any]:
    """Statements in lists of at most `PART`; by itself one that the kernel has to run."""
    parts: list[Any] = []
    for stmt in function.body:
        if not is_long(function) or isinstance(stmt, ast.Return) or not plan.fails_simply(stmt):
            parts.append(stmt)
        elif parts and isinstance(parts[-1], list) and len(parts[-1]) < PART:
            parts[-1].append(stmt)
        else:
            parts.append([stmt])
    return parts


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


def _arrays(known: Types) -> int:
    return sum(isinstance(t, Array) for t in known.names.values())


def _length(type_: Any) -> int:
    if isinstance(type_, ir.LiteralStructType):
        return sum(map(_length, type_.elements))
    return 1


# ---------------------------------------------------------------- bodies


class Framed(Body):
    """Statements of a kernel.  With a frame, which lies at `base`, some of its variables are
    there."""

    early = False  # whether all that others bind is there from the beginning

    def __init__(
        self,
        context: Context,
        builder: Any,
        known: Types,
        failures: Failures,
        plan: Plan,
        frame: Frame | None,
        base: Any,
    ) -> None:
        super().__init__(context, builder, known, failures)
        self.plan, self.frame, self.base = plan, frame, base
        self.frugal, self.constant = plan.huge, plan.constant
        self.words = frame.words if frame else {}
        if frame is not None:
            table = builder.gep(base, [INT(frame.table)], inbounds=True)
            arrays = ir.ArrayType(POINTER, frame.size - frame.table)
            self.table = builder.bitcast(table, arrays.as_pointer())
        else:
            self.table = room(builder, ir.ArrayType(POINTER, _arrays(known)), zero=True)

    # ---- variables

    def variable(self, name: str) -> Any:
        if name in self.values or name not in self.words:
            return super().variable(name)
        if name in self.types.slots:
            self._slot(name)
            return super().variable(name)
        assert self.frame is not None
        if not self.early and self.words[name] is not self.frame.given.get(name):
            return self._loaded(name)
        with self.builder.goto_entry_block():
            self.values[name] = self._loaded(name)
        return self.values[name]

    def _loaded(self, name: str) -> Any:
        parts = [
            w.load(self.builder, self.base) if isinstance(w, Word) else w for w in self.words[name]
        ]
        return self.of_parts(name, parts)

    def of_parts(self, name: str, parts: list[Any]) -> Any:
        type_ = self.types.names[name]
        return of_values(type_, parts) if isinstance(type_, Array) else parts[0]

    def _slot(self, name: str) -> Any:
        if name in self.words and name not in self.slots:
            words = self.words[name]
            with self.builder.goto_entry_block():
                places = [w.place(self.builder, self.base) for w in words]
            if isinstance(self.types.names[name], Array):
                self.slots[name] = self.of_parts(name, [None] * len(words)), places
            else:
                (self.slots[name],) = places
        return super()._slot(name)

    def assign(self, name: str, value: Any) -> None:
        super().assign(name, value)
        if name not in self.types.slots:
            self._note(name, [value])

    def assign_array(self, name: str, buffer: Buffer, fresh: bool) -> None:
        if name in self.types.slots and name in self.words:
            self._slot(name)
        super().assign_array(name, buffer, fresh)
        if name not in self.types.slots:
            self._note(name, buffer.parts())

    def _note(self, name: str, parts: list[Any]) -> None:
        """For others, that a variable has its value; a constant they know."""
        words = self.words.get(name)
        if words is None:
            return
        for position, (word, part) in enumerate(zip(words, parts, strict=True)):
            if isinstance(part, ir.Constant):
                words[position] = part
            else:
                self.builder.store(part, word.place(self.builder, self.base))

    # ---- statements

    def statement(self, s: ast.stmt, last: list[str]) -> None:
        """One of the kernel's, after which the memory of arrays is let go of that are not
        mentioned again."""
        self.stmt(s)
        for name in last:
            if name in self.owned and not self.builder.block.is_terminated:
                release(self.builder, self.memory_of(name))

    def apart(self, s: ast.For) -> bool:
        if is_parallel(s) and can_share(self, self.plan, s):
            share_out(self, self.plan, s)
            return True
        alone = self.plan.stands_alone(s)
        if alone:
            call_nest(self, self.plan, s)
        return alone


class Part(Framed):
    """A function of a frame, which returns an error's code."""

    early = True
    loops = False  # whether it has loops of its own

    def loop(self, s: ast.For) -> None:
        self.loops = True
        super().loop(s)

    def fail(self, code: Any) -> None:
        self.builder.ret(code)

    def hands_on(self, stmts: list[ast.stmt]) -> bool:
        """Whether most of what it does is to make arrays and to call nests and products."""
        if self.loops or any(isinstance(n, ast.While) for s in stmts for n in walk(s)):
            return False
        return 2 * sum(self._is_handing_on(s) for s in stmts) > len(stmts)

    def _is_handing_on(self, s: ast.stmt) -> bool:
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
            return isinstance(self.types.names[s.targets[0].id], Array)
        return isinstance(s, (ast.For, ast.Expr))


def call_part(caller: Framed, stmts: list[ast.stmt], last: dict[ast.stmt, list[str]]) -> Any:
    """Writes a function of statements and a call of it; the error's code that it returns."""
    module = caller.builder.module
    type_ = ir.FunctionType(CODE, [WORDS])
    function = new_function(module, type_, module.get_unique_name("s2s.part"), "noinline")
    builder: Any = ir.IRBuilder(function.append_basic_block())
    part = Part(
        caller.context, builder, caller.types, caller.failures, caller.plan, caller.frame,
        function.args[0],
    )  # fmt: skip
    part.owned, part.private = caller.owned, caller.private
    begin = builder.append_basic_block()
    builder.branch(begin)
    builder.position_at_end(begin)
    for s in stmts:
        part.statement(s, last.get(s, []))
    if not builder.block.is_terminated:
        builder.ret(CODE(0))
    if part.hands_on(stmts):
        # Its own instructions take no time worth mentioning, but many of them long to improve.
        function.attributes.add("optnone")
    return caller.builder.call(function, [caller.base])
