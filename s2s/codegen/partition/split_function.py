"""Function splitting: a long kernel becomes several functions that share a frame in memory.

Compile time grows faster than linearly with the length of a function: a function twice as long
takes more than twice the time.  So the statements of a long kernel are split into parts, functions
of at most forty statements each.  Variables that more than one part uses are stored in the frame,
and so are the arguments of a kernel with many arguments.  Each part loads the variables it reads
and stores those that other parts read.

The layers of a network consist of the same statements with other variables.  So the split points
depend only on the form of the statements, not on names.  A part that only allocates arrays and
calls nests takes a table of the frame offsets of its variables; parts that differ only in these
offsets are one function.
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from llvmlite import ir

from ..array_values import Buffer, of_values, parts_of_type, release
from ..llvm_utils import INT, POINTER, entry_alloca, new_function
from ..statements import ERROR_CODE, Body, ErrorCodes
from ..syntax_helpers import walk
from ..type_inference import Types
from ..type_lowering import Context
from ..value_types import Array
from .outline_nests import Plan, call_nest, is_parallel, spelling
from .parallel_body import can_outline_parallel, emit_parallel_loop
from .part_dedup import PartKey
from .shared_frame import Frame, FrameSlot, array_count

# A kernel with more top-level statements than this is split
LONG = 100
# into parts of at most PART statements.  After LEAST statements, a part ends at the first statement
# whose hash is 0 modulo ODDS, so that equal layers are split at equal statements.
PART = 40
LEAST = 10
ODDS = 20
# A kernel whose arguments have more components than this takes them in the frame.
MANY = 64
WORDS = INT.as_pointer()


def is_long(function: ast.FunctionDef) -> bool:
    return len(function.body) > LONG


def frame_of(context: Context, function: ast.FunctionDef, known: Types, plan: Plan) -> Frame | None:
    """The frame of a kernel that is long or takes many values, else None."""
    values = [known.names[a.arg] for a in function.args.args]
    many = sum(len(parts_of_type(t)) - 1 if isinstance(t, Array) else 1 for t in values) > MANY
    if not is_long(function) and not many:
        return None
    return Frame(context, function, known, _cut(function, plan))


def _cut(function: ast.FunctionDef, plan: Plan) -> list[Any]:
    """The parts of a function: lists of at most `PART` statements, and single statements that have
    to be emitted in the kernel itself."""
    if not is_long(function):
        return [*function.body]
    parts: list[Any] = []
    looks = ["", "", ""]
    for stmt in function.body:
        looks = [*looks[1:], _look(stmt, plan)]
        if isinstance(stmt, ast.Return) or not plan.fails_simply(stmt):
            parts.append(stmt)
            continue
        if not parts or not isinstance(parts[-1], list) or len(parts[-1]) >= PART:
            parts.append([])
        parts[-1].append(stmt)
        if len(parts[-1]) >= LEAST and zlib.crc32("|".join(looks).encode()) % ODDS == 0:
            parts.append([])
    return [part for part in parts if part != []]


def _look(s: ast.stmt, plan: Plan) -> str:
    """The form of a statement, independent of variable names."""
    return f"{plan.sizes[s]}" if isinstance(s, ast.For) else spelling(s, plan.types, {})


# ---------------------------------------------------------------- bodies


class Framed(Body):
    """Emitter of the statements of a kernel.  With a frame, at the address `base`, some variables
    are stored there."""

    early = False  # whether variables that other functions bind are in the frame at entry

    def __init__(
        self,
        context: Context,
        builder: Any,
        known: Types,
        failures: ErrorCodes,
        plan: Plan,
        frame: Frame | None,
        base: Any,
    ) -> None:
        super().__init__(context, builder, known, failures)
        self.plan, self.frame, self.base = plan, frame, base
        self.prefer_compile_time, self.constant = plan.huge, plan.constant
        self.words = frame.words if frame else {}
        if frame is not None:
            table = builder.gep(base, [INT(frame.table)], inbounds=True)
            arrays = ir.ArrayType(POINTER, frame.size - frame.table)
            self.table = builder.bitcast(table, arrays.as_pointer())
        else:
            self.table = entry_alloca(builder, ir.ArrayType(POINTER, array_count(known)), zero=True)

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
        return self.of_parts(name, self.read(self.words[name]))

    def read(self, words: list[Any]) -> list[Any]:
        """What stands for a variable, from the frame."""
        return [self.builder.load(self.at(w)) if isinstance(w, FrameSlot) else w for w in words]

    def at(self, word: FrameSlot) -> Any:
        return word.place(self.builder, self.base)

    def of_parts(self, name: str, parts: list[Any]) -> Any:
        type_ = self.types.names[name]
        return of_values(type_, parts) if isinstance(type_, Array) else parts[0]

    def _slot(self, name: str) -> Any:
        if name in self.words and name not in self.slots:
            words = self.words[name]
            with self.builder.goto_entry_block():
                places = [self.at(w) for w in words]
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
        """Store a variable into the frame, for the other functions.  A constant component is
        recorded in the layout instead."""
        words = self.words.get(name)
        if words is None:
            return
        for position, (word, part) in enumerate(zip(words, parts, strict=True)):
            if isinstance(part, ir.Constant):
                words[position] = part
            else:
                self.builder.store(part, self.at(word))

    # ---- statements

    def statement(self, s: ast.stmt, last: list[str]) -> None:
        """Emit a statement of the kernel, then release the arrays of the names in `last`, whose
        last use it is."""
        self.stmt(s)
        for name in last:
            if name in self.owned and not self.builder.block.is_terminated:
                release(self.builder, self.memory_of(name))

    def emit_outlined(self, s: ast.For) -> bool:
        if is_parallel(s) and can_outline_parallel(self, self.plan, s):
            emit_parallel_loop(self, self.plan, s)
            return True
        alone = self.plan.stands_alone(s)
        if alone:
            call_nest(self, self.plan, s)
        return alone


class Part(Framed):
    """Emitter of a function that takes the frame and returns an error code."""

    early = True

    def fail(self, code: Any) -> None:
        self.builder.ret(code)


class Movable(Part):
    """Emitter of a function that also takes a table of the frame offsets of its variables, so that
    equal parts can share it.  `homes` maps the offsets it needs to their addresses, in the order of
    the table."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.homes: dict[int, Any] = {}

    def at(self, word: FrameSlot) -> Any:
        builder = self.builder
        if word.home not in self.homes:
            # The builder may already be in the entry block.
            first = builder.function.entry_basic_block
            with nullcontext() if builder.block is first else builder.goto_block(first):
                entry = builder.gep(builder.function.args[1], [INT(len(self.homes))])
                self.homes[word.home] = builder.gep(self.base, [builder.load(entry)])
        return FrameSlot(word.position - word.home, word.type).place(builder, self.homes[word.home])

    def memory_of(self, name: str) -> Any:
        assert self.frame is not None
        return self.at(self.frame.memory(self.owned.setdefault(name, len(self.owned))))


def call_part(caller: Framed, stmts: list[ast.stmt], last: dict[ast.stmt, list[str]]) -> Any:
    """Emit statements as a function, and a call of it.  Returns the error code."""
    if not _hands_on(stmts, caller.plan):
        function, _ = _written(caller, stmts, last, moves=False)
        return caller.builder.call(function, [caller.base])
    assert caller.frame is not None
    seen = PartKey(caller, stmts, last)
    alike = caller.plan.alike.get(seen.key)
    if alike is None:
        function, homes = _written(caller, stmts, last, moves=True)
        caller.plan.alike[seen.key] = seen.outcome(function, homes)
    else:
        function, homes = seen.repeated(alike)
    return caller.builder.call(function, [caller.base, _table(caller.builder.module, homes)])


def _written(
    caller: Framed, stmts: list[ast.stmt], last: dict[ast.stmt, list[str]], moves: bool
) -> tuple[Any, list[int]]:
    """Emit the function of a part.  If `moves`, it takes a table of frame offsets, and an equal
    earlier function is reused.  Returns the function and the frame offsets that its table holds."""
    module = caller.builder.module
    type_ = ir.FunctionType(ERROR_CODE, [WORDS, WORDS] if moves else [WORDS])
    function = new_function(module, type_, module.get_unique_name("s2s.part"), "noinline")
    builder: Any = ir.IRBuilder(function.append_basic_block())
    part = (Movable if moves else Part)(
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
        builder.ret(ERROR_CODE(0))
    if not isinstance(part, Movable):
        return function, []
    # Its instructions run only once per call; optimising them would take long.
    function.attributes.add("optnone")
    text = "".join(map(str, function.blocks))
    known = caller.plan.parts.setdefault(text, function)
    if known is not function:
        del module.globals[function.name]
    return known, [*part.homes]


def _hands_on(stmts: list[ast.stmt], plan: Plan) -> bool:
    """True if more than half of the statements allocate arrays or call nests and products, and no
    loop is emitted in place."""
    count = 0
    for s in stmts:
        if isinstance(s, ast.For):
            if is_parallel(s) or not plan.stands_alone(s):
                return False
        elif any(isinstance(n, (ast.For, ast.While)) for n in walk(s)):
            return False
        count += isinstance(s, (ast.For, ast.Expr)) or _binds_array(s, plan.types)
    return 2 * count > len(stmts)


def _binds_array(s: ast.stmt, known: Types) -> bool:
    if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
        return isinstance(known.names[s.targets[0].id], Array)
    return False


def _table(module: Any, homes: Iterable[int]) -> Any:
    """The address of a constant table of frame offsets."""
    places = [INT(home) for home in homes]
    values = ir.Constant(ir.ArrayType(INT, len(places)), places)
    made: Any = ir.GlobalVariable(module, values.type, module.get_unique_name("s2s.places"))
    made.linkage, made.global_constant, made.initializer = "internal", True, values
    return made.gep([INT(0), INT(0)])
