"""The scope tree of a function: one scope per block, and the scope of each value.

The test and the body of a `While` are one scope, since the test's values are visible in the
body.  Loop phis and the index belong to the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from .nodes import (
    Array,
    Assign,
    Block,
    For,
    Function,
    If,
    ListOf,
    Op,
    Operand,
    Save,
    Stmt,
    Var,
    While,
    inner_targets_of,
    targets_of,
    walk,
)
from .op_registry import RULES
from .record import record
from .symbolic_dims import Atom, Dim, Facts


@record(eq=False)
class Scope:
    """The scope of a block.  `stmt` is the statement that holds the block and `branch` is the
    block's role there ("then", "orelse", "body").  The top-level block has neither."""

    parent: Scope | None = None
    stmt: If | For | While | None = None
    branch: str = ""

    def chain(self) -> Iterator[Scope]:
        """This scope and its ancestors, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def inside(self, other: Scope) -> bool:
        return any(s is other for s in self.chain())

    def loops(self, below: Scope | None = None) -> list[For | While]:
        """The loops that enclose this scope, outermost first; those around `below` and its own
        loop are excluded."""
        found: list[For | While] = []
        for scope in self.chain():
            if scope is below:
                break
            if isinstance(scope.stmt, (For, While)):
                found.append(scope.stmt)
        return found[::-1]


class Scopes:
    """By name of a value: its scope (`home`), its `Var` and the statement that binds it."""

    def __init__(self, function: Function) -> None:
        self.top = Scope()
        self.home: dict[str, Scope] = {}
        self.var: dict[str, Var] = {}
        self.binder: dict[str, Stmt] = {}
        # Values bound directly in the test block of a While.
        self.tested: set[str] = set()
        self._inner: dict[tuple[int, str], Scope] = {}
        self._holder: dict[int, Scope] = {}
        for p in function.params:
            self.add(p, self.top, None)
        self._visit(function.body, self.top)

    def inner(self, stmt: If | For | While, branch: str = "body") -> Scope:
        return self._inner[id(stmt), branch]

    def holder(self, stmt: Stmt) -> Scope:
        """The scope of the block that contains a statement."""
        return self._holder[id(stmt)]

    def add(self, v: Var, scope: Scope, stmt: Stmt | None) -> None:
        """Record a value bound in `scope` by `stmt` (None for a parameter)."""
        self.home[v.name], self.var[v.name] = scope, v
        if stmt is not None:
            self.binder[v.name] = stmt

    def _visit(self, block: Block, scope: Scope) -> None:
        for stmt in block:
            self._holder[id(stmt)] = scope
            for v in targets_of(stmt):
                self.add(v, scope, stmt)
            if isinstance(stmt, If):
                for branch in ("then", "orelse"):
                    inner = self._inner[id(stmt), branch] = Scope(scope, stmt, branch)
                    self._visit(getattr(stmt, branch), inner)
            elif isinstance(stmt, (For, While)):
                inner = self._inner[id(stmt), "body"] = Scope(scope, stmt, "body")
                for v in inner_targets_of(stmt):
                    self.add(v, inner, stmt)
                if isinstance(stmt, While):
                    self._visit(stmt.test, inner)
                    self.tested |= {v.name for s in stmt.test for v in targets_of(s)}
                self._visit(stmt.body, inner)


def dims_of(x: Operand) -> tuple[Dim, ...]:
    """The shape of an array; () for a scalar or a list."""
    return () if isinstance(x.type, ListOf) else x.type.shape


class SameShapeValues:
    """Finds top-level values that have the shape of a nested value.  A value that is needed for
    its shape only then need not be saved.  `bound` are the candidates, by name (None: all)."""

    def __init__(self, scopes: Scopes, facts: Facts, bound: set[str] | None = None) -> None:
        self.scopes, self.facts, self.bound = scopes, facts, bound

    def shape(self, v: Var) -> Var | None:
        """A top-level array of the shape and dtype of `v`."""
        assert isinstance(v.type, Array)
        dims = [self.facts.canonical(d) for d in v.type.shape]
        if not all(self._is_loop_invariant(d) for d in v.type.shape):
            return None
        for other in self._arrays():
            if other.type.dtype == v.type.dtype and len(dims_of(other)) == len(dims):
                if [self.facts.canonical(d) for d in dims_of(other)] == dims:
                    return other
        return None

    def axis(self, dim: Dim) -> tuple[Var, int] | None:
        """A top-level array with an axis of size `dim`, and that axis."""
        if self._is_loop_invariant(dim):
            for other in self._arrays():
                for axis, d in enumerate(dims_of(other)):
                    if self.facts.known_equal(d, dim):
                        return other, axis
        return None

    def _arrays(self) -> Iterator[Var]:
        for name, home in self.scopes.home.items():
            if home is self.scopes.top and (self.bound is None or name in self.bound):
                if isinstance(self.scopes.var[name].type, Array):
                    yield self.scopes.var[name]

    def _is_loop_invariant(self, dim: Dim) -> bool:
        """True if all symbols of a dim are bound at top level, so that it has one value."""
        bases = (s.split(".")[0] for s in dim.symbols if not isinstance(s, Atom))
        return all(self.scopes.home.get(base) is self.scopes.top for base in bases)


def names_of(function: Function) -> Iterator[str]:
    """All names in use: values, slots and labels."""
    yield from (p.name for p in function.params)
    for stmt in walk(function.body):
        yield from (v.name for v in targets_of(stmt))
        yield from (v.name for v in inner_targets_of(stmt))
        if isinstance(stmt, Save):
            yield stmt.slot.name
        elif isinstance(stmt, (For, While)):
            yield stmt.label


def overwritten(function: Function) -> set[str]:
    """The arrays whose buffer a later version may reuse: a read after that would require a
    copy.  Parameters that the function does not write are never overwritten."""
    found: set[str] = set()
    for stmt in walk(function.body):
        inputs: list[Operand] = []
        if isinstance(stmt, Assign) and stmt.op.name in _UPDATES:
            inputs = [stmt.op.args[0]]
        elif isinstance(stmt, If):
            inputs = [x for p in stmt.phis for x in (p.then_value, p.else_value)]
        elif isinstance(stmt, (For, While)):
            inputs = [x for c in stmt.carried for x in (c.init, c.next, c.phi)]
        found |= {x.name for x in inputs if isinstance(x, Var)}
    written = {p.name for p, value in function.effects if value != p}
    return found - {p.name for p in function.params if p.name not in written}


def is_never_overwritten(x: Var, definitions: dict[str, Op], lost: set[str]) -> bool:
    """True if an array, and every array that it is a view of, is never overwritten.  `lost` are
    the arrays that may be (`overwritten`)."""
    while x.name not in lost:
        op = definitions.get(x.name)
        views = op is not None and (op.name == "index" or RULES[op.name].kind == "view")
        if op is None or not views or not isinstance(op.args[0], Var):
            return True
        x = op.args[0]
    return False


# The operations that yield a new version of their first operand.
_UPDATES = ("update", "update_add", "list_append", "list_set", "list_drop")
