"""The block of a tape in plain Python, as a function that can be compiled.

The block's statements, unchanged and at their own lines, become the body of a function of the
names they read.  It has run already: what it prints and sets was printed and set then, so the
compiled function computes gradients and nothing else.
"""

from __future__ import annotations

import ast
import copy
import inspect
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import debug
from .api import Function
from .dispatch import Options
from .entry import Entry
from .errors import SourceError, UnsupportedError
from .tensor import tensor
from .transforms.read import NOT_AVAILABLE, Source, comments_of, parse
from .variable import Variable

_blocks: dict[tuple[types.CodeType, int], Block] = {}


def find(frame: types.FrameType) -> Block:
    """The `with` block that a frame is about to enter."""
    key = (frame.f_code, frame.f_lineno)
    if key not in _blocks:
        _blocks[key] = Block.read(frame)
    return _blocks[key]


@dataclass(frozen=True)
class Question:
    """What is asked of a tape: a function of `names`, with second names `aliases` for some of
    them, that gives `target` and its gradient by `sources`, with `seeds` or without."""

    names: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...]
    tape: str
    target: str
    sources: str
    seeds: bool


@dataclass
class Block:
    """`reads` are the names whose values come from outside, `binds` those it binds itself."""

    node: ast.With
    source: Source
    reads: tuple[str, ...]
    binds: tuple[str, ...]
    compiled: dict[Question, Function] = field(default_factory=dict)

    @staticmethod
    def read(frame: types.FrameType) -> Block:
        try:
            lines, _ = inspect.findsource(frame.f_code)
            file = inspect.getsourcefile(frame.f_code) or frame.f_code.co_filename
        except (OSError, TypeError):
            raise SourceError(f"the block of this tape: {NOT_AVAILABLE}") from None
        line = frame.f_lineno
        found = [
            n
            for n in ast.walk(parse(file, "".join(lines)))
            if isinstance(n, ast.With) and n.lineno <= line <= n.body[0].lineno
        ]
        if not found:
            raise SourceError(f"the block of this tape: {NOT_AVAILABLE}")
        node = max(found, key=lambda n: n.lineno)
        last = node.end_lineno or node.lineno
        comments = comments_of(lines[node.lineno - 1 : last], node.lineno)
        source = Source(file, lines, node, node.lineno, last, comments)  # type: ignore[arg-type]
        return Block(node, source, _names_read(node), tuple(_names_assigned(node)))

    # ---- values

    def snapshot(self, frame: types.FrameType) -> dict[str, Any]:
        """What the names stand for now.  Arrays and generators are copied; Variables keep
        their own history."""
        copies: dict[int, Any] = {}  # one array under two names stays one
        return {
            name: copies.setdefault(id(value), _kept(value))
            for name, value in _found(self.reads, frame).items()
        }

    def outcome(self, tape: Any, frame: types.FrameType) -> tuple[dict[str, Any], str]:
        """What the names that the block binds stand for in the end, and the tape's own."""
        place = _found((*self.binds, *self.reads), frame)
        names = [i.optional_vars for i in self.node.items]
        own = [n.id for n in names if isinstance(n, ast.Name)]
        return place, next((n for n in own if place.get(n) is tape), own[-1] if own else "")

    # ---- the function

    def function(self, asked: Question) -> Function:
        if asked not in self.compiled:
            self.compiled[asked] = self._make(asked)
        return self.compiled[asked]

    def _make(self, asked: Question) -> Function:
        block = copy.deepcopy(self.node)
        if not asked.tape:
            raise SourceError("the tape has no name: write `with GradientTape() as tape:`")
        given = (*asked.names, "variables", *(["seeds"] if asked.seeds else []), "unconnected")
        what = [asked.target, asked.sources, "unconnected_gradients=unconnected"]
        what += ["output_gradients=seeds"] if asked.seeds else []
        before = [_placed(f"{second} = {first}", block) for second, first in asked.aliases]
        call = f"{asked.tape}.gradient({', '.join(what)})"
        result = _placed(f"return {asked.target}, {call}", block)
        arguments = ast.arguments(
            posonlyargs=[], args=[_at(ast.arg(n), block) for n in given],
            kwonlyargs=[], kw_defaults=[], defaults=[],
        )  # fmt: skip
        body = [*before, block, result]
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
        return Function(function, Options(static=("unconnected",)))


def gradient(tape: Any, target: Any, sources: Any, seeds: Any, unconnected: Any) -> Any:
    """What `tape.gradient` returns in plain Python."""
    block: Block = tape.block
    made = tape.made
    found = _expression(target, list(made.items()), None)
    variables: list[Variable] = []
    seen = [(n, made.get(n, v)) for n, v in tape.seen.items()]
    wanted = _expression(sources, [*made.items(), *seen], variables)
    if found is None:
        return _nothing(sources, unconnected)
    names: list[str] = []
    aliases: list[tuple[str, str]] = []
    programs: dict[str, Any] = {}
    for name, value in tape.seen.items():
        first = next((n for n in names if tape.seen[n] is value), None)
        if _is_program(value):
            programs[name] = value
        elif first is not None and isinstance(value, np.ndarray):
            aliases.append((name, first))
        else:
            names.append(name)
    chosen = str(getattr(unconnected, "value", unconnected)).lower()
    function = block.function(
        Question(
            tuple(names), tuple(aliases), tape.name, found, wanted or "None", seeds is not None
        )
    )
    function._shared.target.function.__globals__.update(programs)
    args: list[Any] = [tape.seen[n] for n in names]
    args += [variables, seeds, chosen] if seeds is not None else [variables, chosen]
    value, gradients = run(tape, function, tuple(args))
    _check_replay(target, value)
    return gradients


def _check_replay(target: Any, again: Any) -> None:
    """The block, computed again on what was kept of its inputs, must give what it gave."""
    if isinstance(target, (list, tuple)):
        for one, two in zip(target, again):
            _check_replay(one, two)
        return
    target, again = np.asarray(target), np.asarray(again)
    rtol = 1e-3 if target.dtype.itemsize < 8 else 1e-6
    scale = float(np.max(np.abs(target), initial=0.0))
    if not np.allclose(target, again, rtol=rtol, atol=rtol * scale, equal_nan=True):
        raise UnsupportedError(
            "the block of this tape gives another value when it is computed again: what it reads "
            "through objects or containers has changed, or it draws random numbers",
            advice="move such lines out of the block, or decorate the step with @s2s.function",
        )


def run(tape: Any, made: Function, args: tuple[Any, ...]) -> Any:
    """Runs the compiled block on the values that it saw."""
    from .backends import choose_backend

    specialiser, bound = made._bind("primal", args, {})
    backend = choose_backend(None)
    entry, params = specialiser.find(bound, backend)
    old = _then(tape, entry, params)
    if debug.active:
        results = debug.run(specialiser, entry, bound, backend, old)
    else:
        results = entry.run(backend, old)
    return tensor(entry.value(bound, results))


def _then(tape: Any, entry: Entry, params: tuple[Any, ...]) -> tuple[Any, ...]:
    """The kernel's parameters as they were, apart from everything the kernel writes into."""
    before = {id(v._array): array for v, array in tape.kept.values()}
    out = [before.get(id(p), p) for p in params]
    for i in entry.compiled.written:
        out[i] = out[i].copy()
    return tuple(out)


# ---------------------------------------------------------------- names and expressions


def _expression(value: Any, known: list[tuple[str, Any]], variables: Any) -> str | None:
    """Python text for a value made of what the block knows, or None."""
    if isinstance(value, Variable) and variables is not None:
        if not any(v is value for v in variables):
            variables.append(value)
        return f"variables[{next(i for i, v in enumerate(variables) if v is value)}]"
    for name, other in known:
        if other is value:
            return name
    for name, other in known:
        pairs = other.items() if isinstance(other, dict) else ()
        pairs = enumerate(other) if isinstance(other, (list, tuple)) else pairs
        for key, part in pairs:
            if part is value and isinstance(value, (np.ndarray, np.generic, float)):
                return f"{name}[{key!r}]"
    if isinstance(value, dict):
        parts = {k: _expression(v, known, variables) for k, v in value.items()}
        return "{" + ", ".join(f"{k!r}: {v}" for k, v in parts.items()) + "}"
    if isinstance(value, (list, tuple)):
        texts = [str(_expression(v, known, variables)) for v in value]
        if all(t == "None" for t in texts) and variables is None:
            return None
        inner = ", ".join(texts)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    return None


def _nothing(sources: Any, unconnected: Any) -> Any:
    if isinstance(sources, dict):
        return {k: _nothing(v, unconnected) for k, v in sources.items()}
    if isinstance(sources, (list, tuple)):
        return type(sources)(_nothing(v, unconnected) for v in sources)
    zero = str(getattr(unconnected, "value", unconnected)).lower() == "zero"
    return np.zeros_like(np.asarray(sources)) if zero else None


def _found(names: Iterable[str], frame: types.FrameType) -> dict[str, Any]:
    """What names stand for in a frame, as far as they are bound."""
    spaces = (frame.f_locals, frame.f_globals)
    return {n: next(s for s in spaces if n in s)[n] for n in names if any(n in s for s in spaces)}


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


def _kept(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return copy.deepcopy(value)
    return value


def _is_program(value: Any) -> bool:
    """Modules, functions and classes are looked up like globals."""
    return isinstance(
        value, (types.ModuleType, types.FunctionType, type, types.BuiltinFunctionType)
    )


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
