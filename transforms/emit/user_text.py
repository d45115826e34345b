"""The user's own text: what a statement reads and writes by name, and whether its text
still says what its IR does.

A statement may print as it was written if running that text at its place has the effect
of the IR statements that came from it: the names it reads are variables that the IR reads
too and that stand for the same values, what it binds or writes into is what the IR binds
and writes, and nothing else that the IR computes there is used elsewhere.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..bufferize.alias_analysis import is_reference
from ..frontend.source import Source
from ..ir.lazy import lazy_property
from ..ir.nodes import For, Push, Span, Stmt, Store, Type, Var, operands_of, targets_of, walk
from ..ir.record import field, record
from ..syntax import core
from ..syntax.names import bound_names, imported_as, with_context
from ..syntax.traverse import walk as walk_syntax
from .user_nodes import Header, UserNodes

if TYPE_CHECKING:
    import libcst as cst

MODULES = ("np", "math")
_CONTAINERS = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill")
_REFUSED = (
    core.Define, core.Lambda, core.Return, core.Global, core.Nonlocal, core.Refused, core.Import,
    core.ImportFrom, core.With, core.Try, core.Delete,
)  # fmt: skip
_STMTS = (
    core.Assign, core.Augment, core.Delete, core.Eval, core.If, core.For, core.While, core.Return,
    core.Raise, core.Assert, core.Define, core.Import, core.ImportFrom, core.With, core.Try,
    core.Pass, core.Break, core.Continue, core.Global, core.Nonlocal, core.Refused,
)  # fmt: skip


@record
class Names:
    """The names in a piece of text."""

    loads: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)
    augmented: set[str] = field(default_factory=set)  # `x += …`: in place if x is an array
    mutated: set[str] = field(default_factory=set)  # `x[i] = …`, `x.append(…)`
    refused: bool = False


def names_in(nodes: Iterable[core.Node]) -> Names:
    found = Names()
    bound: set[str] = set()
    for node, stored in with_context(nodes):
        if isinstance(node, _REFUSED):
            found.refused = True
        elif isinstance(node, (core.For, core.While)) and node.orelse:
            # The `else` clause has become statements after the loop, which print themselves.
            found.refused = True
        elif isinstance(node, core.Clause):
            bound |= {*bound_names(node.target)}
        elif isinstance(node, core.Name):
            (found.stores if stored else found.loads).add(node.id)
        elif isinstance(node, (core.Item, core.Attr)):
            if stored:
                _add_base(node, found)
        elif isinstance(node, core.Call) and isinstance(node.function, core.Attr):
            if node.function.name in _CONTAINERS:
                _add_base(node.function, found)
        if isinstance(node, core.Augment) and isinstance(node.target, core.Name):
            found.augmented.add(node.target.id)
            found.loads.add(node.target.id)
    # A comprehension's own names are nobody else's, unless the user reuses them.
    if bound & (found.stores - bound):
        found.refused = True
    found.loads -= bound
    found.stores -= bound
    return found


def _add_base(node: core.Expr, found: Names) -> None:
    while isinstance(node, (core.Item, core.Attr)):
        node = node.value
    if isinstance(node, core.Name):
        found.mutated.add(node.id)
    else:
        found.refused = True


class UserText:
    """The statements of the user's function, found by where they begin."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes: dict[tuple[int, int], core.Stmt] = {}
        self.locals: set[str] = set()
        # The places of the statements of which the page has something, if that is known.
        self.kept: frozenset[tuple[int, int]] | None = None
        functions = [n for n in walk_syntax(source.node) if isinstance(n, core.Func)]
        # The body of a lambda is a Return whose text is an expression.
        values = {id(stmt) for f in functions if f.is_lambda for stmt in f.body}
        for node, stored in with_context(source.node):
            if isinstance(node, _STMTS) and id(node) not in values:
                self.nodes.setdefault((node.line, node.at[1]), node)
            elif isinstance(node, core.Param):
                self.locals.add(node.name)
            elif isinstance(node, core.Name) and stored:
                self.locals.add(node.id)
            elif isinstance(node, core.Alias):
                self.locals.add(imported_as(node))

    def node(self, stmt: Span) -> core.Stmt | None:
        return self.nodes.get((stmt.line, stmt.col)) if stmt.file == self.source.file else None

    @lazy_property
    def parsed(self) -> UserNodes:
        return UserNodes(self.source)

    def statement(self, node: core.Stmt) -> cst.BaseStatement | None:
        """The user's statement as libcst's node; None in a lambda."""
        return self.parsed.statement(node.at[:2])

    def compound(self, node: core.Stmt) -> Header | None:
        """The user's `if`, `for` or `while` as libcst's node."""
        return self.parsed.compound(node.at[:2])

    def above(self, stmt: Span) -> list[str]:
        """The comments above a statement, "" for blank lines."""
        if stmt.file != self.source.file:
            return []
        return self.parsed.above((stmt.line, stmt.col), self.kept)

    def header(self, node: core.Stmt) -> str:
        """`for i in range(n)`, on one line."""
        span = self.source.span(node)
        if not isinstance(node, (core.For, core.While, core.If)):
            return self.source.without_comments(span)
        end = self.source.span(node.over if isinstance(node, core.For) else node.test)
        before = Span(span.file, span.line, span.col, end.line, end.col)
        # Parentheses around the expression belong to neither.
        keyword = self.source.without_comments(before).rstrip("( \\")
        return f"{keyword} {self.source.without_comments(end)}"


@record
class Unit:
    """IR statements, with everything nested in them, that came from one piece of text."""

    reads: set[str] = field(default_factory=set)  # variables that stand for their user's name
    asked: set[str] = field(default_factory=set)  # the names of all that is read
    read_counts: dict[str, int] = field(default_factory=dict)
    targets: dict[str, Type] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)  # targets that bear their user's name
    written: set[str] = field(default_factory=set)

    @staticmethod
    def of(stmts: Iterable[Stmt]) -> Unit:
        unit = Unit()
        for stmt in walk(list(stmts)):
            for o in operands_of(stmt):
                if isinstance(o, Var):
                    unit.read_counts[o.name] = unit.read_counts.get(o.name, 0) + 1
                    if o.user:
                        unit.asked.add(o.user)
                    if o.user == o.name:
                        unit.reads.add(o.name)
            for target in targets_of(stmt):
                unit.bind(target)
            if isinstance(stmt, For):
                unit.bind(stmt.index)
            elif isinstance(stmt, Store):
                unit.written.add(stmt.array.name)
            elif isinstance(stmt, Push):
                unit.written.add(stmt.stack.name)
        return unit

    def bind(self, v: Var) -> None:
        self.targets[v.name] = v.type
        if v.user == v.name:
            self.named.add(v.name)


def says_the_same(
    names: Names, unit: Unit, text: UserText, variables: set[str], used_elsewhere: set[str]
) -> bool:
    """Whether text with these names may stand for the unit.  `used_elsewhere` are the
    unit's targets that are read outside it."""
    if names.refused:
        return False
    # A flag of `desugar` that comes from outside is read by the IR and not by the text.
    if unit.asked - names.loads - names.stores - unit.targets.keys():
        return False
    for name in names.loads:
        if name in text.locals:
            if name not in unit.reads:
                return False
        elif name not in MODULES and not hasattr(builtins, name):
            return False
        elif name in variables:
            return False
    in_place = names.augmented & unit.written
    for name in names.stores - in_place:
        # A name that the emitted function uses for nothing else may be bound at will.
        if name not in unit.named and name in variables:
            return False
    if any(is_reference(unit.targets[n]) for n in names.augmented - in_place if n in unit.targets):
        return False
    if names.mutated | in_place != unit.written:
        return False
    return used_elsewhere <= names.stores & unit.named
