"""Eliminate redundant checks: those that an earlier check implies, on loop-level IR.

The reverse sweep repeats the checks of the forward part.  Each check that is left prevents the
fusion of loops.  A check that a loop executes in every iteration, or in every iteration in which
some condition holds, is redundant in the same iterations of a later loop over the same range.  The
same is true of checks of scalars that the earlier loop has stored in a buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..analysis.stored_scalars import only_stores
from ..loop_ir import nodes as L
from ..loop_ir.operations import written_buffers

# The maximal number of subexpressions of a definition that is substituted for its name.
MAX_DEFINITION_SIZE = 100

# The maximal number of variants of a fact, with and without each of the surrounding scopes, that
# are looked up.
MAX_FACT_VARIANTS = 16


def eliminate_redundant_checks(
    body: list[L.Stmt], may_alias: MayAlias, integers: dict[str, L.Expr] | None = None
) -> list[L.Stmt]:
    """Return `body` without redundant checks.

    `may_alias(a, b)`: two buffer variables may share memory.  `integers` are the definitions of
    the integers that are assigned once.
    """
    if not any(isinstance(s, L.Fail) for s in L.walk(body)):
        return body
    return _CheckEliminator(may_alias, integers or {}, only_stores(body)).block(body, None)


@record(frozen=True)
class _Dependences:
    """What expressions depend on: variables, and buffers that they load from."""

    names: frozenset[str]
    buffers: frozenset[str]

    @staticmethod
    def of(exprs: Iterable[L.Expr]) -> _Dependences:
        exprs = list(exprs)
        loads = (p for e in exprs for p in L.walk_expr(e) if isinstance(p, L.Load))
        return _Dependences(frozenset(names_in(exprs)), frozenset(p.buffer for p in loads))


@record(frozen=True)
class _Scope:
    """A surrounding scope: a loop, by its range (start, stop, step), or a branch, by its condition.

    A `While` has no `exprs`: its number of iterations is unknown.
    """

    exprs: tuple[L.Expr, ...] = ()
    var: str | None = None


@record(frozen=True)
class _Fact:
    """A condition that is false in all iterations of the loops and under the conditions `around`
    it, outermost first.

    The variable of a loop is replaced by the number of loops inside of it, as in de Bruijn
    numbering, so that facts of loops with different variable names compare equal.
    """

    cond: L.Expr
    around: tuple[tuple[L.Expr, ...], ...] = ()

    def exprs(self) -> Iterator[L.Expr]:
        yield self.cond
        for scope in self.around:
            yield from scope

    def within(self, scope: _Scope) -> _Fact:
        """Return the fact as it holds outside of the loop or branch `scope`."""
        fact = self
        if scope.var is not None:
            number = sum(len(exprs) > 1 for exprs in self.around)
            fact = self.with_replaced(L.Name(scope.var), L.Name(f"·{number}"))
        return _Fact(fact.cond, (scope.exprs, *fact.around))

    def with_replaced(self, old: L.Expr, new: L.Expr) -> _Fact:
        """Return the fact with the subexpression `old` replaced by `new`."""

        def mapped(e: L.Expr) -> L.Expr:
            return L.map_expr(e, lambda part: new if part == old else None)

        return _Fact(mapped(self.cond), tuple(tuple(map(mapped, exprs)) for exprs in self.around))


class _FactSet:
    """The facts that hold at the current point of an open block."""

    def __init__(self) -> None:
        self.facts: dict[_Fact, None] = {}
        # The facts by the names, and by the buffers, that they depend on.
        self.named: dict[str, list[_Fact]] = {}
        self.loaded: dict[str, list[_Fact]] = {}

    def add(self, fact: _Fact) -> None:
        if fact in self.facts:
            return
        self.facts[fact] = None
        use = _Dependences.of(fact.exprs())
        for known, names in ((self.named, use.names), (self.loaded, use.buffers)):
            for name in names:
                known.setdefault(name, []).append(fact)

    def invalidate(self, names: set[str], buffers: set[str], may_alias: MayAlias) -> None:
        gone = [n for n in names if n in self.named]
        read = [a for a in self.loaded if any(a == b or may_alias(a, b) for b in buffers)]
        for known, keys in ((self.named, gone), (self.loaded, read)):
            for key in keys:
                for fact in known.pop(key):
                    self.facts.pop(fact, None)


Lets = dict[str, tuple[L.Expr, _Dependences]]


class _CheckEliminator:
    """Walks the program and removes redundant checks.

    `scopes` are the scopes around the current block, outermost first.  `levels` are the facts that
    hold outside of all scopes, then those found in each scope.
    """

    def __init__(
        self,
        may_alias: MayAlias,
        integers: dict[str, L.Expr],
        scalar_stores: dict[int, tuple[str, ...]],
    ) -> None:
        self.may_alias = may_alias
        self.integers = integers
        self.scalar_stores = scalar_stores
        self.scopes: list[_Scope] = []
        self.levels = [_FactSet()]

    def block(self, body: list[L.Stmt], lets: Lets | None) -> list[L.Stmt]:
        """Return a block without redundant checks.

        `lets` are the definitions of the integers of a loop's body, None outside of loops.
        Conditions are compared with the definitions substituted, because another loop uses other
        names.
        """
        out: list[L.Stmt] = []
        for stmt in body:
            if isinstance(stmt, L.If):
                cond = _substitute(stmt.cond, lets or {})
                if _is_failing_branch(stmt):
                    if self._is_redundant(cond):
                        continue
                    for c in (cond, *_disjuncts(cond)):
                        self.levels[-1].add(_Fact(c))
                else:
                    for part, when in ((stmt.then, cond), (stmt.orelse, L.logical_not(cond))):
                        known = None if lets is None else dict(lets)
                        part[:] = self._inside(_Scope((when,)), part, known, True)
            elif isinstance(stmt, L.While):
                self._invalidate(stmt, {})
                stmt.body = self._inside(_Scope(), stmt.body, {}, False)
            elif isinstance(stmt, L.Loop):
                self._loop(stmt, lets or {})
            self._invalidate(stmt, lets or {})
            if lets is not None and isinstance(stmt, L.Let):
                _add_definition(stmt, lets)
            elif lets is not None and isinstance(stmt, L.Store) and id(stmt) in self.scalar_stores:
                self._record_scalar_store(stmt, lets)
            out.append(stmt)
        return out

    def _inside(
        self, scope: _Scope, body: list[L.Stmt], lets: Lets | None, holds_after: bool
    ) -> list[L.Stmt]:
        """Return the block of a scope without redundant checks.

        Its facts also hold after the scope if `holds_after`.
        """
        self.scopes.append(scope)
        self.levels.append(_FactSet())
        out = self.block(body, lets)
        self.scopes.pop()
        found = self.levels.pop()
        if holds_after:
            for fact in found.facts:
                self.levels[-1].add(fact.within(scope))
        return out

    def _loop(self, loop: L.Loop, lets: Lets) -> None:
        """Process a loop.  Facts that an iteration invalidates do not hold at its start, either:
        the previous iteration may have invalidated them."""
        scope = _Scope(self._range(loop, lets), loop.var)
        known = dict(lets)
        self._invalidate(loop, known)
        all_iterations = not any(isinstance(s, (L.Break, L.Return)) for s in L.walk(loop.body))
        loop.body = self._inside(scope, loop.body, known, all_iterations)

    def _is_redundant(self, cond: L.Expr) -> bool:
        """True if a condition is known to be false, here or in all iterations of the surrounding
        loops."""
        facts = [_Fact(cond)]
        for level, scope in zip(reversed(self.levels), [*reversed(self.scopes), None]):
            if any(fact in level.facts for fact in facts):
                return True
            if scope is not None and scope.exprs:
                free = [f for f in facts if scope.var not in names_in(f.exprs())]
                facts = [*(f.within(scope) for f in facts), *free][:MAX_FACT_VARIANTS]
        return False

    def _range(self, loop: L.Loop, lets: Lets) -> tuple[L.Expr, ...]:
        """The iteration space of a loop, independent of its direction if its step is 1 or -1."""
        start, stop, step = (
            _substitute(resolve(e, self.integers), lets) for e in (loop.start, loop.stop, loop.step)
        )
        resolved = L.Loop(loop.var, start, stop, step)
        span = L.index_range(resolved)
        return (*span, L.ONE) if span is not None else (start, stop, step)

    def _record_scalar_store(self, store: L.Store, lets: Lets) -> None:
        """Record that a scalar equals the buffer element that it is stored to.

        Facts about the scalar become facts about the element.  Each iteration must store to an
        element of its own.
        """
        index = tuple(_substitute(e, lets) for e in store.index)
        loops = self.scalar_stores[id(store)]
        is_distinct = all(
            any(L.constant_offset(e, var) is not None for e in index) for var in loops
        )
        if not is_distinct or store.expr.dtype not in ("int64", "bool"):
            return
        assert isinstance(store.expr, L.Name)
        name, element = store.expr.name, L.Load(store.buffer, index, store.expr.dtype)
        for level in self.levels:
            for fact in [f for f in level.named.get(name, ()) if f in level.facts]:
                self.levels[-1].add(fact.with_replaced(store.expr, element))
        lets[name] = element, _Dependences.of([element])

    def _invalidate(self, stmt: L.Stmt, lets: Lets) -> None:
        """Remove the facts and definitions that a statement may invalidate."""
        if isinstance(stmt, L.Comment):
            return
        names, buffers = self._changed(stmt)
        if not names and not buffers:
            return
        for level in self.levels:
            level.invalidate(names, buffers, self.may_alias)
        for name, (_, use) in list(lets.items()):
            if name in names or self._depends_on(use, names, buffers):
                del lets[name]

    def _depends_on(self, use: _Dependences, names: set[str], buffers: set[str]) -> bool:
        return not use.names.isdisjoint(names) or any(
            a == b or self.may_alias(a, b) for a in use.buffers for b in buffers
        )

    def _changed(self, stmt: L.Stmt) -> tuple[set[str], set[str]]:
        """Return the variables that a statement may assign and the buffers that it may modify.

        The buffers of stored scalars are left out: there are no facts about them before they are
        written.
        """
        names, buffers = set[str](), set[str]()
        for s in L.walk([stmt]):
            names.update(defs(s))
            if id(s) not in self.scalar_stores:
                buffers |= written_buffers(s)
        return names, buffers


def _substitute(e: L.Expr, lets: Lets) -> L.Expr:
    """Return `e` with the definitions in `lets` substituted for names."""

    def new(part: L.Expr) -> L.Expr | None:
        return lets[part.name][0] if isinstance(part, L.Name) and part.name in lets else None

    return L.map_expr(e, new) if lets else e


def _add_definition(stmt: L.Let, lets: Lets) -> None:
    """Add the definition of a scalar to `lets`, with earlier definitions substituted."""
    if stmt.expr.dtype not in ("int64", "bool") and not isinstance(stmt.expr, L.Load):
        return
    expr = _substitute(stmt.expr, lets)
    use = _Dependences.of([expr])
    if stmt.name not in use.names and sum(1 for _ in L.walk_expr(expr)) <= MAX_DEFINITION_SIZE:
        lets[stmt.name] = expr, use


def _is_failing_branch(stmt: L.If) -> bool:
    """True for a branch without `else` that ends by raising an error."""
    return not stmt.orelse and bool(stmt.then) and isinstance(stmt.then[-1], L.Fail)


def _disjuncts(cond: L.Expr) -> list[L.Expr]:
    """Return all operands of a disjunction: each of them is false if the disjunction is."""
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [cond.left, cond.right, *_disjuncts(cond.left), *_disjuncts(cond.right)]
    return []
