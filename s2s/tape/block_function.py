"""The block of a tape in plain Python, as a function that can be compiled.

The block's statements, unchanged and at their own lines, become the body of a function of the
names they read.  It has run already: what it prints and sets was printed and set then, so the
compiled function computes what is asked of the tape and nothing else.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..api.functions import Function
from ..call.bind_arguments import Binder
from ..dispatch.specializations import Options
from ..errors import UnsupportedError
from ..transforms.frontend.source import Source
from .block_source import source_of
from .snapshot import Reader, World

NUMBERS = (np.ndarray, np.generic, float, complex)

_blocks: dict[tuple[str, types.CodeType, int], Block] = {}


def find(frame: types.FrameType) -> Block:
    """The `with` block that a frame is about to enter."""
    key = (frame.f_code.co_filename, frame.f_code, frame.f_lineno)
    if key not in _blocks:
        _blocks[key] = Block.read(frame)
    return _blocks[key]


@dataclass(frozen=True)
class Names:
    """The names that a block reads: `given` are parameters, `aliases` second names for some of
    them, `tapes` those of tapes around it; what is left is looked up like globals."""

    given: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...]
    tapes: tuple[str, ...] = ()

    @staticmethod
    def of(seen: dict[str, Any]) -> Names:
        given: list[str] = []
        aliases: list[tuple[str, str]] = []
        tapes = tuple(n for n, v in seen.items() if hasattr(v, "_s2s_tape"))
        for name, value in seen.items():
            if is_program(value) or name in tapes:
                continue
            first = next((n for n in given if seen[n] is value), None)
            if first is not None and isinstance(value, (np.ndarray, np.generic)):
                aliases.append((name, first))
            else:
                given.append(name)
        return Names(tuple(given), tuple(aliases), tapes)


@dataclass
class Outcome:
    """The tape's own name, what the names of the block stand for, and the numbers and arrays
    that objects and containers among that hold, with how they are reached."""

    tape: str
    names: dict[str, Any]
    parts: list[tuple[str, Any]]


@dataclass
class Block:
    """`reads` are the names whose values come from outside, `binds` those it binds itself."""

    node: ast.With
    source: Source
    reads: tuple[str, ...]
    binds: tuple[str, ...]
    readers: dict[Names, Reader] = field(default_factory=dict)
    questions: dict[Any, Function] = field(default_factory=dict)

    @staticmethod
    def read(frame: types.FrameType) -> Block:
        source = source_of(frame)
        node: Any = source.node
        return Block(node, source, _names_read(node), tuple(_names_assigned(node)))

    # ---- values

    def look(self, frame: types.FrameType) -> World:
        """What the block is about to read."""
        seen = _found(self.reads, frame)
        names, world = Names.of(seen), World(seen)
        if names not in self.readers:
            function = self._make(names, (), "return 0.0", None)
            self.readers[names] = Reader(function, Binder(function), "primal", Options(), False)
        reader = self.readers[names]
        _give_programs(reader.function, seen)
        world.read(reader, tuple(seen[n] for n in names.given))
        return world

    def outcome(self, tape: Any, frame: types.FrameType) -> Outcome:
        """What the block has made of the names in it, as it is now."""
        place = _found((*self.binds, *self.reads), frame)
        names = [i.optional_vars for i in self.node.items]
        own = [n.id for n in names if isinstance(n, ast.Name)]
        name = next((n for n in own if place.get(n) is tape), own[-1] if own else "")
        values = {n: v for n, v in place.items() if not hasattr(v, "_s2s_tape")}
        return Outcome(name, values, _parts(values))

    # ---- functions

    def question(
        self,
        seen: dict[str, Any],
        extra: tuple[str, ...],
        result: str,
        line: int | None,
        before: tuple[str, ...] = (),
    ) -> tuple[Function, Names]:
        """The block as a function of the names in `seen` and of `extra`; of the block as far as
        it has come if it is at a `line`.  What names stood for `before` is `name_before`."""
        names = Names.of(seen)
        names = replace(names, aliases=(*names.aliases, *((f"{n}_before", n) for n in before)))
        key = (names, extra, result, line)
        if key not in self.questions:
            made = self._make(names, extra, result, line)
            self.questions[key] = Function(made, Options(static=("unconnected",)))
        function = self.questions[key]
        _give_programs(function._shared.target.function, seen)
        return function, names

    def _make(
        self, names: Names, extra: tuple[str, ...], result: str, line: int | None
    ) -> types.FunctionType:
        block = copy.deepcopy(self.node)
        if line is not None:
            block.body = self._until(block.body, line) or [_placed("pass", block)]
        given = (*names.given, *extra)
        before = [_placed(f"{second} = {first}", block) for second, first in names.aliases]
        arguments = ast.arguments(
            posonlyargs=[], args=[_at(ast.arg(n), block) for n in given],
            kwonlyargs=[], kw_defaults=[], defaults=[],
        )  # fmt: skip
        inside: ast.stmt = block
        for name in names.tapes:
            around = _placed(f"with GradientTape(around=True) as {name}: pass", block)
            around.body, inside = [inside], around
        body = [*before, inside, _placed(result, block)]
        node = _at(ast.FunctionDef("tape_block", arguments, body, []), block)
        if hasattr(node, "type_params") or "type_params" in ast.FunctionDef._fields:
            node.type_params = []
        made: dict[str, Any] = {}
        header = f"def tape_block({', '.join(given)}): pass\n"
        exec(compile(header, self.source.file, "exec"), made)
        function = made["tape_block"]
        function._s2s_source = Source(
            self.source.file, self.source.lines, node, self.source.first, self.source.last,
            self.source.comments,
        )  # fmt: skip
        function._s2s_replayed = True
        return function

    def _until(self, body: list[ast.stmt], line: int) -> list[ast.stmt]:
        """What has run of a block that is at a line now."""
        for i, stmt in enumerate(body):
            if not stmt.lineno <= line <= (stmt.end_lineno or stmt.lineno):
                continue
            if isinstance(stmt, (ast.For, ast.While, ast.Try)):
                span = self.source.span(stmt)
                raise UnsupportedError(
                    "a tape is asked in a loop inside its own block, which has run in part",
                    span=span, source_line=self.source.line(span.line),
                    advice="ask after the loop, or decorate the step with @s2s.function",
                )  # fmt: skip
            if isinstance(stmt, ast.If):
                inside = stmt.body if line <= (stmt.body[-1].end_lineno or 0) else stmt.orelse
                if line >= inside[0].lineno:  # the branch that is being run
                    return [*body[:i], *self._until(inside, line)]
            if isinstance(stmt, ast.With) and line >= stmt.body[0].lineno:
                stmt.body = self._until(stmt.body, line) or [_placed("pass", stmt)]
                return body[: i + 1]
            return body[:i]
        return body


# ---------------------------------------------------------------- names


def is_program(value: Any) -> bool:
    """Modules, functions and classes are looked up like globals."""
    return isinstance(
        value, (types.ModuleType, types.FunctionType, type, types.BuiltinFunctionType)
    )


def _holds_nothing(value: Any) -> bool:
    """Whether there are no values of the user's in it: a program, or what s2s made of one."""
    return is_program(value) or hasattr(type(value), "_s2s_mode")


def _give_programs(function: types.FunctionType, seen: dict[str, Any]) -> None:
    function.__globals__.update({n: v for n, v in seen.items() if is_program(v)})


def _found(names: Iterable[str], frame: types.FrameType) -> dict[str, Any]:
    """What names stand for in a frame, as far as they are bound."""
    local = frame.f_locals
    spaces = (local, frame.f_globals)
    found = {n: next(s for s in spaces if n in s)[n] for n in names if any(n in s for s in spaces)}
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        local.clear()  # a copy, with which the frame would keep everything alive
    return found


def _parts(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Numbers and arrays in containers, at any depth, and in the objects that have names."""
    found: list[tuple[str, Any]] = []
    todo = [(text, value, True) for text, value in names.items()]
    seen: set[int] = set()  # containers may hold themselves
    for text, holder, named in todo:
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        plain = isinstance(holder, (dict, list, tuple))
        if isinstance(holder, dict):
            inside = [(f"{text}[{k!r}]", holder[k]) for k in holder if isinstance(k, (str, int))]
        elif plain:
            inside = [(f"{text}[{k}]", v) for k, v in enumerate(holder)]
        elif named and not isinstance(holder, NUMBERS) and not _holds_nothing(holder):
            own = getattr(holder, "__dict__", {})
            inside = [(f"{text}.{k}", v) for k, v in own.items()]
        else:
            continue
        found += [(t, v) for t, v in inside if isinstance(v, NUMBERS)]
        todo += [(t, v, named and plain) for t, v in inside if not isinstance(v, NUMBERS)]
    return found


def _names_read(node: ast.With) -> tuple[str, ...]:
    """Names that the block may read before it binds them, in order."""
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    own = {i.optional_vars.id for i in node.items if isinstance(i.optional_vars, ast.Name)}
    bound_first = _bound_first(node.body)
    return tuple(dict.fromkeys(n for n in names if n not in own and n not in bound_first))


def _bound_first(body: list[ast.stmt]) -> set[str]:
    """Names that the block's own statements bind before anything reads them."""
    bound: set[str] = set()
    read: set[str] = set()
    for stmt in body:
        loads = [n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and _loads(n)]
        read |= {n for n in loads if n not in bound}
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
            read |= {stmt.target.id} - bound
        simple = isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.FunctionDef))
        if simple:
            bound |= {n for n in _names_assigned(stmt) if n not in read}
    return bound


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _names_assigned(node: ast.AST) -> list[str]:
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not _loads(n)]
    names += [n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
    return list(dict.fromkeys(names))


def _placed(text: str, like: ast.AST) -> Any:
    """A statement of ours, at the place of one of the user's."""
    node = ast.parse(text).body[0]
    for n in ast.walk(node):
        if hasattr(n, "lineno"):
            n.lineno = n.end_lineno = like.lineno  # type: ignore[attr-defined]
            n.col_offset = n.end_col_offset = like.col_offset  # type: ignore[attr-defined]
    return node


def _at(node: Any, like: ast.AST) -> Any:
    return ast.copy_location(node, like)
