"""The block of a tape in plain Python, as a function that can be compiled.

The block's statements, unchanged and with their own line numbers, become the body of a function of
the names they read.  The block has already run, with its output and side effects; so the compiled
function (the replay) computes the result of the query, without those effects.
"""

from __future__ import annotations

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
from ..transforms.frontend import parse_cache
from ..transforms.frontend.source import Source, parsed
from ..transforms.ir.record import replace as with_fields
from ..transforms.syntax import core
from ..transforms.syntax.names import loads, stores
from ..transforms.syntax.traverse import rewrite, walk
from .block_source import source_of
from .snapshot import InputCollector, InputSnapshot

ARRAY_AND_SCALAR_TYPES = (np.ndarray, np.generic, float, complex)

_blocks: dict[tuple[str, types.CodeType, int], Block] = {}


def find(frame: types.FrameType) -> Block:
    """The `with` block that a frame is about to enter."""
    key = (frame.f_code.co_filename, frame.f_code, frame.f_lineno)
    if key not in _blocks:
        _blocks[key] = Block.read(frame)
    return _blocks[key]


@dataclass(frozen=True)
class Names:
    """The names that a block reads: `given` are parameters, `aliases` pairs of another name and the
    parameter with the same value, `tapes` the enclosing tapes.  All others are globals."""

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
    """The state at the end of a block: the name of the tape, the values of the block's names, and
    the scalars and arrays inside objects and containers, with their access expressions."""

    tape: str
    names: dict[str, Any]
    parts: list[tuple[str, Any]]


@dataclass
class Block:
    """A `with` block: `reads` are its inputs (live-in names), `binds` the names it assigns."""

    node: core.With
    source: Source
    reads: tuple[str, ...]
    binds: tuple[str, ...]
    readers: dict[Names, InputCollector] = field(default_factory=dict)
    questions: dict[Any, Function] = field(default_factory=dict)

    @staticmethod
    def read(frame: types.FrameType) -> Block:
        source, node = source_of(frame)
        return Block(node, source, _names_read(node), tuple(_names_assigned(node)))

    # ---- values

    def take_snapshot(self, frame: types.FrameType) -> InputSnapshot:
        """The snapshot of the block's inputs."""
        seen = _lookup_names(self.reads, frame)
        names, world = Names.of(seen), InputSnapshot(seen)
        if names not in self.readers:
            function = self._make(names, (), "return 0.0", None)
            self.readers[names] = InputCollector(
                function, Binder(function), "primal", Options(), False
            )
        reader = self.readers[names]
        _bind_globals(reader.function, seen)
        world.read(reader, tuple(seen[n] for n in names.given))
        return world

    def outcome(self, tape: Any, frame: types.FrameType) -> Outcome:
        """The current values of the block's names."""
        place = _lookup_names((*self.binds, *self.reads), frame)
        own = [i.target.id for i in self.node.items if isinstance(i.target, core.Name)]
        name = next((n for n in own if place.get(n) is tape), own[-1] if own else "")
        values = {n: v for n, v in place.items() if not hasattr(v, "_s2s_tape")}
        return Outcome(name, values, _parts(values))

    # ---- functions

    def query_function(
        self,
        seen: dict[str, Any],
        extra: tuple[str, ...],
        result: str,
        line: int | None,
        before: tuple[str, ...] = (),
    ) -> tuple[Function, Names]:
        """The block followed by `result`, as a function of the names in `seen` and of `extra`; if
        the block is at a `line`, only the statements executed so far.  For each name in `before`,
        `name_before` is bound to its value at entry."""
        names = Names.of(seen)
        names = replace(names, aliases=(*names.aliases, *((f"{n}_before", n) for n in before)))
        key = (names, extra, result, line)
        if key not in self.questions:
            made = self._make(names, extra, result, line)
            self.questions[key] = Function(made, Options(static=("unconnected",)))
        function = self.questions[key]
        _bind_globals(function._shared.target.function, seen)
        return function, names

    def _make(
        self, names: Names, extra: tuple[str, ...], result: str, line: int | None
    ) -> types.FunctionType:
        block, at = self.node, self.node.at
        if line is not None:
            prefix = self._executed_prefix(block.body, line)
            block = with_fields(block, body=prefix or (core.Pass(at),))
        given = (*names.given, *extra)
        before = [
            core.Assign(at, (core.Name(at, second),), core.Name(at, first))
            for second, first in names.aliases
        ]
        inside: core.Stmt = block
        for name in names.tapes:
            around = core.Keyword(at, "around", core.Const(at, True))
            tape = core.Call(at, core.Name(at, "GradientTape"), (), (around,))
            inside = core.With(at, (core.WithItem(at, tape, core.Name(at, name)),), (inside,))
        body = (*before, inside, *self._statements(result))
        params = core.Params(at, plain=tuple(core.Param(at, name) for name in given))
        node = core.Func(at, "tape_block", params, body)
        made: dict[str, Any] = {}
        header = f"def tape_block({', '.join(given)}): pass\n"
        exec(compile(header, self.source.file, "exec"), made)
        function = made["tape_block"]
        function._s2s_source = with_fields(self.source, node=node, checked=None)
        function._s2s_replayed = True
        return function

    def _statements(self, text: str) -> core.Block:
        """Generated statements, with the source position of the block."""
        key, file = f"statements {text}", "".join(self.source.lines)
        body = parse_cache.get(file, key)
        if body is None:
            body = parsed(text)
            parse_cache.put(file, key, body)
        at = self.node.at
        return tuple(rewrite(stmt, lambda n: with_fields(n, at=at)) for stmt in body)

    def _executed_prefix(self, body: core.Block, line: int) -> core.Block:
        """The executed prefix of a block that is at a line now."""
        for i, stmt in enumerate(body):
            if not stmt.line <= line <= stmt.end_line:
                continue
            if isinstance(stmt, (core.For, core.While, core.Refused)):
                span = self.source.span(stmt)
                raise UnsupportedError(
                    "a gradient is requested in a loop of the tape's block, which has run in part",
                    span=span, source_line=self.source.line(span.line),
                    advice="request it after the loop, or decorate the step with @s2s.function",
                )  # fmt: skip
            if isinstance(stmt, core.If):
                inside = stmt.body if line <= stmt.body[-1].end_line else stmt.orelse
                if line >= inside[0].line:  # the branch that is being executed
                    return (*body[:i], *self._executed_prefix(inside, line))
            if isinstance(stmt, core.With) and line >= stmt.body[0].line:
                inner = self._executed_prefix(stmt.body, line) or (core.Pass(stmt.at),)
                return (*body[:i], with_fields(stmt, body=inner))
            return body[:i]
        return body


# ---------------------------------------------------------------- names


def is_program(value: Any) -> bool:
    """True if a value is a module, function or class; such names become globals of the replay."""
    return isinstance(
        value, (types.ModuleType, types.FunctionType, type, types.BuiltinFunctionType)
    )


def _has_no_user_values(value: Any) -> bool:
    """True if an object holds no values of the user: a program, or an s2s function."""
    return is_program(value) or hasattr(type(value), "_s2s_mode")


def _bind_globals(function: types.FunctionType, seen: dict[str, Any]) -> None:
    function.__globals__.update({n: v for n, v in seen.items() if is_program(v)})


def _lookup_names(names: Iterable[str], frame: types.FrameType) -> dict[str, Any]:
    """The values of names in a frame, as far as they are bound."""
    local = frame.f_locals
    spaces = (local, _around_class(frame), frame.f_globals)
    found = {n: next(s for s in spaces if n in s)[n] for n in names if any(n in s for s in spaces)}
    _drop_snapshot(frame)
    return found


def _around_class(frame: types.FrameType) -> dict[str, Any]:
    """The variables of the functions around a class body, which its own frame does not show."""
    code, back = frame.f_code, frame.f_back
    if code.co_flags & inspect.CO_OPTIMIZED or not code.co_freevars or back is None:
        return {}
    if not back.f_code.co_flags & inspect.CO_OPTIMIZED:  # a class in a class
        return _around_class(back)
    shown = back.f_locals
    found = {n: shown[n] for n in code.co_freevars if n in shown}
    _drop_snapshot(back)
    return found


def _drop_snapshot(frame: types.FrameType) -> None:
    """Before Python 3.13 a frame keeps the snapshot of its variables, and so all values, alive."""
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        frame.f_locals.clear()


def _parts(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """The scalars and arrays in containers, at any depth, and in the attributes of named
    objects."""
    found: list[tuple[str, Any]] = []
    todo = [(text, value, True) for text, value in names.items()]
    seen: set[int] = set()  # containers may be cyclic
    for text, holder, named in todo:
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        plain = isinstance(holder, (dict, list, tuple))
        if isinstance(holder, dict):
            inside = [(f"{text}[{k!r}]", holder[k]) for k in holder if isinstance(k, (str, int))]
        elif plain:
            inside = [(f"{text}[{k}]", v) for k, v in enumerate(holder)]
        elif (
            named
            and not isinstance(holder, ARRAY_AND_SCALAR_TYPES)
            and not _has_no_user_values(holder)
        ):
            own = getattr(holder, "__dict__", {})
            inside = [(f"{text}.{k}", v) for k, v in own.items()]
        else:
            continue
        found += [(t, v) for t, v in inside if isinstance(v, ARRAY_AND_SCALAR_TYPES)]
        todo += [
            (t, v, named and plain) for t, v in inside if not isinstance(v, ARRAY_AND_SCALAR_TYPES)
        ]
    return found


def _names_read(node: core.With) -> tuple[str, ...]:
    """The names that the block may read before it assigns them (upward-exposed uses), in order."""
    names = [n.id for n in walk(node) if isinstance(n, core.Name)]
    own = {i.target.id for i in node.items if isinstance(i.target, core.Name)}
    bound_first = _assigned_before_read(node.body)
    return tuple(dict.fromkeys(n for n in names if n not in own and n not in bound_first))


def _assigned_before_read(body: core.Block) -> set[str]:
    """The names that top-level statements of the block assign before any read."""
    bound: set[str] = set()
    read: set[str] = set()
    for stmt in body:
        read |= {n.id for n in loads(stmt) if n.id not in bound}
        if isinstance(stmt, core.Augment) and isinstance(stmt.target, core.Name):
            read |= {stmt.target.id} - bound
        if isinstance(stmt, (core.Assign, core.Define)):
            bound |= {n for n in _names_assigned(stmt) if n not in read}
    return bound


def _names_assigned(node: core.Node) -> list[str]:
    names = [n.id for n in stores(node)]
    names += [n.func.name for n in walk(node) if isinstance(n, core.Define)]
    return list(dict.fromkeys(names))
