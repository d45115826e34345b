"""Prints statements of the user's as they were written, where that is what they still say."""

from __future__ import annotations

from typing import Any

import libcst as cst

from ..bufferize.coalesce import primal_results
from ..frontend.pytree import Out
from ..ir.nodes import (
    Assign,
    Block,
    Draw,
    For,
    Function,
    If,
    Push,
    Scalar,
    Span,
    Stmt,
    Store,
    Var,
    While,
    walk,
)
from ..syntax import core
from ..syntax.traverse import walk as walk_syntax
from .definite_assignment import leaves_unbound
from .format_ops import WIDTH
from .inline_temporaries import Reads, Temporaries, place_of
from .object_arguments import Holders
from .outside_values import Outside
from .user_nodes import Header, header_text
from .user_text import Names, Unit, UserText, names_in, says_the_same

# Functions that give an array of rank 0 for numbers, where the IR has a number: `t *= 2.0` would
# change it in place, and with it whatever was kept of it.
_RANK_0 = ("where", "zeros_like", "ones_like", "full_like", "empty_like", "copy")


def _leaves_rank_0(run: list[Stmt], node: core.Stmt) -> bool:
    made = {
        s.op.name for s in walk(run) if isinstance(s, Assign) and isinstance(s.target.type, Scalar)
    }
    calls = [n.function for n in walk_syntax(node) if isinstance(n, core.Call)]
    called = {f.name for f in calls if isinstance(f, core.Attr)}
    return any(name in made and name in called for name in _RANK_0)


class AsWritten(Temporaries):
    """Tries the user's text for runs of statements that came from one of the user's, and for
    the first lines of loops and branches."""

    def __init__(
        self,
        function: Function,
        user: UserText | None,
        outside: Outside | None = None,
        holders: Holders | None = None,
    ) -> None:
        super().__init__(function, user, outside, holders)
        self.slots: frozenset[str] = function.notes.get("slot_variables", frozenset())
        self.primal = function.results[: primal_results(function)]
        self.returned = False
        # Statements of the user's that draw random numbers: their text draws again.
        draws = [s.origin for s in walk(function.body) if isinstance(s, Draw) and s.origin]
        self.drawing = {o.stmt for o in draws if not o.frame}
        self.expanded_calls = _expanded_calls(function.body)

    def stmt(self, stmt: Stmt, block: Block) -> None:
        """Writes a statement from IR."""
        raise NotImplementedError

    def run_end(self, block: Block, i: int) -> int:
        """The end of the statements from block[i] on that came from one of the user's."""
        origin = block[i].origin
        if self.user is None or origin is None or not origin.as_written:
            return i
        node, first = self.user.node(origin.stmt), block[i]
        if node is None:
            return i
        if isinstance(node, (core.For, core.While)) and isinstance(first, Assign):
            # A loop's text does not say what its variables are at first.
            if first.op.name == "alias" and self.is_users(first.target):
                return i
        j = i
        seen: set[tuple[Any, ...]] = set()
        while j < len(block):
            other = block[j].origin
            if other is None or not other.as_written or other.stmt != origin.stmt:
                break
            # An unrolled loop runs its statements again; each time prints by itself.
            stmt = block[j]
            step = other.span, *_done(stmt)
            if step in seen:
                break
            seen.add(step)
            j += 1
        return j

    def as_written(self, run: list[Stmt], block: Block) -> bool:
        """Prints a run of statements as the user wrote it, if that is what it still says."""
        origin = run[0].origin
        assert origin is not None
        if self.user is None or not origin.as_written:
            return False
        node = self.user.node(origin.stmt)
        compound = isinstance(node, (core.For, core.While, core.If))
        if not compound and self.has_inlined_call(origin.stmt):
            return False  # its text would do again what the body of the function does
        extras: list[Stmt] = []
        while run and self.is_extra(run[-1]):
            extras.insert(0, run[-1])
            run = run[:-1]
        starts = self.starts(run)
        if not isinstance(node, (core.For, core.While)):
            # That an array goes by another name before it is written to is not said, either.
            if Unit.of(run).written & {s.target.name for s in starts}:
                return False
            starts = []
        run = [s for s in run if s not in starts]
        if not run or node is None or any(self.is_extra(s) for s in walk(run)):
            return False
        if isinstance(node, (core.For, core.While, core.If)):
            if not all(self.inside(s, node) for s in walk(run)):
                return False
            if isinstance(node, core.If) and self.is_elif(node):
                return False
        if _leaves_rank_0(run, node):
            return False
        unit = Unit.of(run)
        if isinstance(node, core.Return):
            return not extras and self.return_as_written(run, unit, node, block)
        names = names_in([node])
        escaping = {n for n in unit.targets if self.uses[n] > unit.read_counts.get(n, 0)}
        again = self.read_again(run, escaping)
        escaping -= {s.target.name for s in again}
        if not self.same(run, names, unit, escaping):
            return False
        if leaves_unbound(node, run, self.user, escaping):
            return False
        text = self.user.statement(node)
        if text is None:
            return False
        self.mention(run[0].origin)
        for s in starts:
            self.stmt(s, block)
        self.settle(run, unit, again)
        self.verbatim(text)
        for s in extras:
            self.stmt(s, block)
        return True

    def has_inlined_call(self, span: Span) -> bool:
        start, end = (span.line, span.col), (span.end_line, span.end_col)
        return any(start <= place <= end for place in self.expanded_calls.get(span.file, ()))

    def starts(self, run: list[Stmt]) -> list[Assign]:
        """What a loop's variables are at first, which its text does not say."""
        return [
            s
            for s in run
            if isinstance(s, Assign) and s.op.name == "alias" and self.is_users(s.target)
        ]

    def read_again(self, run: list[Stmt], escaping: set[str]) -> list[Assign]:
        """Sizes and elements that the text reads and somebody else needs, too: they can be
        read before it."""
        found: list[Assign] = []
        own: set[str] = set()
        for stmt in run:
            if not isinstance(stmt, Assign):
                break
            inputs = {a.name for a in stmt.op.args if isinstance(a, Var)}
            once = self.binds[stmt.target.name] == 1
            if stmt.target.name in escaping and once and self.repeatable(stmt) and not inputs & own:
                found.append(stmt)
            own.add(stmt.target.name)
        return found

    def same(self, run: list[Stmt], names: Names, unit: Unit, escaping: set[str]) -> bool:
        assert self.user is not None
        if self.function.notes.get("aliases", frozenset()) & (names.loads | names.stores):
            return False
        for name in unit.read_counts:
            if name in self.pending and self.pending[name].stands_in(place_of(run[0])):
                unit.reads |= self.pending[name].users
        return says_the_same(names, unit, self.user, self.variables, escaping)

    def settle(self, run: list[Stmt], unit: Unit, again: list[Assign]) -> None:
        """The text computes what it reads; what it overwrites must be read before."""
        for name, times in unit.read_counts.items():
            self.consume(name, times)
        for stmt in again:
            if self.left[stmt.target.name] > 0:
                self.delay(stmt, counted=True)
        self.flush(run)

    def return_as_written(
        self, run: list[Stmt], unit: Unit, node: core.Return, block: Block
    ) -> bool:
        assert self.user is not None
        (*_, last) = run
        if node.value is None or len(self.primal) != 1 or block is not self.function.body:
            return False
        if self.outside is not None and not isinstance(self.outside.interface.out, Out):
            return False
        out = self.primal[0]
        if not isinstance(last, Assign) or not isinstance(out, Var):
            return False
        if last.target != out or out.user:
            return False
        sweeps = bool(self.function.notes.get("sweeps"))
        if not sweeps and (self.changes or last is not block[-1]):
            return False  # the text would end the call before the rest
        escaping = {n for n in unit.targets if self.uses[n] > unit.read_counts.get(n, 0)}
        names = names_in([node.value])
        if not self.same(run, names, unit, escaping - {out.name}):
            return False
        line: Any = self.user.statement(node)
        if line is None:
            return False
        self.mention(last.origin)
        self.settle(run, unit, [])
        value = line.body[0].value
        if sweeps:
            target = cst.AssignTarget(cst.Name(out.name))
            line = line.with_changes(body=[cst.Assign([target], value)])
        else:
            self.returned = True
        self.verbatim(line)
        return True

    def is_extra(self, stmt: Stmt) -> bool:
        return (isinstance(stmt, Store) and stmt.array.name in self.slots) or (
            isinstance(stmt, Push) and stmt.stack.name in self.slots
        )

    def is_elif(self, node: core.If) -> bool:
        assert self.user is not None
        return self.user.header(node).startswith("elif")

    def inside(self, stmt: Stmt, node: core.Stmt) -> bool:
        o = stmt.origin
        if o is None or not o.as_written:
            return False
        return node.line <= o.stmt.line <= node.end_line

    def header_as_written(self, stmt: If | For | While, reads: Reads) -> Header | None:
        """The user's `if`, `for` or `while`, if its header still holds."""
        o = stmt.origin
        if self.user is None or o is None or not o.as_written or o.stmt in self.drawing:
            return None
        node = self.user.node(o.stmt)
        unit = Unit(reads=set(reads.users))
        if isinstance(stmt, For) and isinstance(node, core.For) and not node.orelse:
            if not isinstance(node.target, core.Name) or stmt.index.user != node.target.id:
                return None
            call = node.over
            if not (isinstance(call, core.Call) and isinstance(call.function, core.Name)):
                return None
            if call.function.id != "range" or stmt.index.name != node.target.id:
                return None
            names = names_in([node.over])
        elif isinstance(stmt, If) and isinstance(node, core.If):
            names = names_in([node.test])
        elif isinstance(stmt, While) and isinstance(node, core.While) and not node.orelse:
            names = names_in([node.test])
        else:
            return None
        aliases = self.function.notes.get("aliases", frozenset())
        if (
            names.stores
            or aliases & names.loads
            or not says_the_same(names, unit, self.user, self.variables, set())
        ):
            return None
        found = self.user.compound(node)
        if found is None:
            return None
        fits = all(self.indent + len(line) <= WIDTH for line in header_text(found).split("\n"))
        return found if fits else None


def _expanded_calls(body: Block) -> dict[str, set[tuple[int, int]]]:
    """By file the places of calls whose bodies are in the program: no sweeps and no tangents."""
    found: dict[str, set[tuple[int, int]]] = {}
    for s in walk(body):
        o = s.origin
        if o is not None and o.frame and o.calls and not o.sweep and not o.tangent:
            found.setdefault(o.calls[0].file, set()).add((o.calls[0].line, o.calls[0].col))
    return found


def _done(stmt: Stmt) -> tuple[Any, ...]:
    """What a statement does, as far as two steps of one statement of the user's differ in it."""
    if isinstance(stmt, Assign):
        return stmt.op.name, stmt.target.user
    if isinstance(stmt, Store):
        return stmt.array.name, stmt.path, stmt.operands
    if isinstance(stmt, Push):
        return (stmt.stack.name,)
    return (id(stmt),)
