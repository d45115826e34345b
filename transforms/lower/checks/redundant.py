"""Drops checks that an earlier one has settled, on loop-level IR.

A sweep asks again what the forward part has asked; each check that stays parts loops that could
be one.  What a loop asks in each of its rounds, or in those in which some condition holds, is
settled in the same rounds of a later loop over the same range, too, and so are questions about
numbers that it has kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...ir.record import record
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..analysis.stored_scalars import keeping
from ..loop_ir import nodes as L

# A definition that is longer than this is not written out.
LONG = 100

Shares = Callable[[str, str], bool]
# In so many ways may loops and branches around be counted in.
MANY = 16


def eliminate_redundant_checks(
    body: list[L.Stmt], may_alias: Shares, integers: dict[str, L.Expr] | None = None
) -> list[L.Stmt]:
    """`shares(a, b)`: two buffer variables may share memory; `integers` are what those that never
    change are made from."""
    if not any(isinstance(s, L.Fail) for s in L.walk(body)):
        return body
    return _Dropper(may_alias, integers or {}, keeping(body)).block(body, None)


@record(frozen=True)
class _Use:
    """What expressions depend on: variables, and buffers that they read elements of."""

    names: frozenset[str]
    buffers: frozenset[str]

    @staticmethod
    def of(exprs: Iterable[L.Expr]) -> _Use:
        exprs = list(exprs)
        loads = (p for e in exprs for p in L.walk_expr(e) if isinstance(p, L.Load))
        return _Use(frozenset(names_in(exprs)), frozenset(p.buffer for p in loads))


@record(frozen=True)
class _Scope:
    """A loop, by its range (start, stop, step), a branch, by its condition, or a loop without end,
    of which nobody knows how many rounds it makes."""

    exprs: tuple[L.Expr, ...] = ()
    var: str | None = None


@record(frozen=True)
class _Fact:
    """A condition that does not hold, in all rounds of loops and under the conditions around it,
    outermost first.  The variable of a loop is numbered by how many loops are inside of it."""

    cond: L.Expr
    around: tuple[tuple[L.Expr, ...], ...] = ()

    def exprs(self) -> Iterator[L.Expr]:
        yield self.cond
        for scope in self.around:
            yield from scope

    def within(self, scope: _Scope) -> _Fact:
        """As it is seen from outside of a loop or branch."""
        fact = self
        if scope.var is not None:
            number = sum(len(exprs) > 1 for exprs in self.around)
            fact = self.with_one(L.Name(scope.var), L.Name(f"·{number}"))
        return _Fact(fact.cond, (scope.exprs, *fact.around))

    def with_one(self, old: L.Expr, new: L.Expr) -> _Fact:
        """With another expression in the place of one."""

        def put(e: L.Expr) -> L.Expr:
            return L.map_expr(e, lambda part: new if part == old else None)

        return _Fact(put(self.cond), tuple(tuple(map(put, exprs)) for exprs in self.around))


class _Settled:
    """What has been found out in an open block."""

    def __init__(self) -> None:
        self.facts: dict[_Fact, None] = {}
        # By what they depend on.
        self.named: dict[str, list[_Fact]] = {}
        self.loaded: dict[str, list[_Fact]] = {}

    def add(self, fact: _Fact) -> None:
        if fact in self.facts:
            return
        self.facts[fact] = None
        use = _Use.of(fact.exprs())
        for known, names in ((self.named, use.names), (self.loaded, use.buffers)):
            for name in names:
                known.setdefault(name, []).append(fact)

    def forget(self, names: set[str], buffers: set[str], may_alias: Shares) -> None:
        gone = [n for n in names if n in self.named]
        read = [a for a in self.loaded if any(a == b or may_alias(a, b) for b in buffers)]
        for known, keys in ((self.named, gone), (self.loaded, read)):
            for key in keys:
                for fact in known.pop(key):
                    self.facts.pop(fact, None)


Lets = dict[str, tuple[L.Expr, _Use]]


class _Dropper:
    """`scopes` are what stands around the block at hand, `levels` what is settled outside of all of
    them and, one after the other, in each."""

    def __init__(
        self, may_alias: Shares, integers: dict[str, L.Expr], kept: dict[int, tuple[str, ...]]
    ) -> None:
        self.may_alias = may_alias
        self.integers = integers
        self.kept = kept
        self.scopes: list[_Scope] = []
        self.levels = [_Settled()]

    def block(self, body: list[L.Stmt], lets: Lets | None) -> list[L.Stmt]:
        """`lets` are what integers stand for in the body of a loop, by which conditions are
        compared: in another loop they have other names."""
        out: list[L.Stmt] = []
        for stmt in body:
            if isinstance(stmt, L.If):
                cond = _spelt(stmt.cond, lets or {})
                if _only_fails(stmt):
                    if self._is_settled(cond):
                        continue
                    for c in (cond, *_alternatives(cond)):
                        self.levels[-1].add(_Fact(c))
                else:
                    for part, when in ((stmt.then, cond), (stmt.orelse, L.negated(cond))):
                        known = None if lets is None else dict(lets)
                        part[:] = self._inside(_Scope((when,)), part, known, True)
            elif isinstance(stmt, L.While):
                self._forget(stmt, {})
                stmt.body = self._inside(_Scope(), stmt.body, {}, False)
            elif isinstance(stmt, L.Loop):
                self._loop(stmt, lets or {})
            self._forget(stmt, lets or {})
            if lets is not None and isinstance(stmt, L.Let):
                _note(stmt, lets)
            elif lets is not None and isinstance(stmt, L.Store) and id(stmt) in self.kept:
                self._keep(stmt, lets)
            out.append(stmt)
        return out

    def _inside(
        self, scope: _Scope, body: list[L.Stmt], lets: Lets | None, tells: bool
    ) -> list[L.Stmt]:
        """The block of a scope; what is found there `tells` something about later ones."""
        self.scopes.append(scope)
        self.levels.append(_Settled())
        out = self.block(body, lets)
        self.scopes.pop()
        found = self.levels.pop()
        if tells:
            for fact in found.facts:
                self.levels[-1].add(fact.within(scope))
        return out

    def _loop(self, loop: L.Loop, lets: Lets) -> None:
        """What an iteration changes may be otherwise when the next begins."""
        scope = _Scope(self._range(loop, lets), loop.var)
        known = dict(lets)
        self._forget(loop, known)
        all_rounds = not any(isinstance(s, (L.Break, L.Return)) for s in L.walk(loop.body))
        loop.body = self._inside(scope, loop.body, known, all_rounds)

    def _is_settled(self, cond: L.Expr) -> bool:
        """Whether a condition is known not to hold, here or in all rounds of loops around."""
        facts = [_Fact(cond)]
        for level, scope in zip(reversed(self.levels), [*reversed(self.scopes), None]):
            if any(fact in level.facts for fact in facts):
                return True
            if scope is not None and scope.exprs:
                free = [f for f in facts if scope.var not in names_in(f.exprs())]
                facts = [*(f.within(scope) for f in facts), *free][:MANY]
        return False

    def _range(self, loop: L.Loop, lets: Lets) -> tuple[L.Expr, ...]:
        """Which rounds a loop makes, in whatever order."""
        start, stop, step = (
            _spelt(resolve(e, self.integers), lets) for e in (loop.start, loop.stop, loop.step)
        )
        spelt = L.Loop(loop.var, start, stop, step)
        span = L.span(spelt)
        return (*span, L.ONE) if span is not None else (start, stop, step)

    def _keep(self, put: L.Store, lets: Lets) -> None:
        """A number that is kept is known by its place, too."""
        index = tuple(_spelt(e, lets) for e in put.index)
        loops = self.kept[id(put)]
        apart = all(any(L.offset(e, var) is not None for e in index) for var in loops)
        if not apart or put.expr.dtype not in ("int64", "bool"):
            return
        assert isinstance(put.expr, L.Name)
        name, place = put.expr.name, L.Load(put.buffer, index, put.expr.dtype)
        for level in self.levels:
            for fact in [f for f in level.named.get(name, ()) if f in level.facts]:
                self.levels[-1].add(fact.with_one(put.expr, place))
        lets[name] = place, _Use.of([place])

    def _forget(self, stmt: L.Stmt, lets: Lets) -> None:
        """What a statement may have changed is open again."""
        if isinstance(stmt, L.Comment):
            return
        names, buffers = self._changed(stmt)
        if not names and not buffers:
            return
        for level in self.levels:
            level.forget(names, buffers, self.may_alias)
        for name, (_, use) in list(lets.items()):
            if name in names or self._touches(use, names, buffers):
                del lets[name]

    def _touches(self, use: _Use, names: set[str], buffers: set[str]) -> bool:
        return not use.names.isdisjoint(names) or any(
            a == b or self.may_alias(a, b) for a in use.buffers for b in buffers
        )

    def _changed(self, stmt: L.Stmt) -> tuple[set[str], set[str]]:
        """The variables that may have another value after it, and the buffers that may; not those
        that numbers are kept in, of which nothing is known before they are written."""
        names, buffers = set[str](), set[str]()
        for s in L.walk([stmt]):
            names.update(defs(s))
            if isinstance(s, L.Store):
                if id(s) not in self.kept:
                    buffers.add(s.buffer)
            elif isinstance(s, (L.Call, L.CallBuffers, L.CallRoutine)):
                buffers |= {a.buffer for a in s.args if isinstance(a, L.Part)}
        return names, buffers


def _spelt(e: L.Expr, lets: Lets) -> L.Expr:
    def new(part: L.Expr) -> L.Expr | None:
        return lets[part.name][0] if isinstance(part, L.Name) and part.name in lets else None

    return L.map_expr(e, new) if lets else e


def _note(stmt: L.Let, lets: Lets) -> None:
    if stmt.expr.dtype not in ("int64", "bool") and not isinstance(stmt.expr, L.Load):
        return
    expr = _spelt(stmt.expr, lets)
    use = _Use.of([expr])
    if stmt.name not in use.names and sum(1 for _ in L.walk_expr(expr)) <= LONG:
        lets[stmt.name] = expr, use


def _only_fails(stmt: L.If) -> bool:
    return not stmt.orelse and bool(stmt.then) and isinstance(stmt.then[-1], L.Fail)


def _alternatives(cond: L.Expr) -> list[L.Expr]:
    """None of several holds if not one of them does."""
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [cond.left, cond.right, *_alternatives(cond.left), *_alternatives(cond.right)]
    return []
