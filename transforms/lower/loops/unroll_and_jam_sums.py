"""Adds several multiples of rows to a row at once, on loop-level IR.

    for k in range(n):                      rest = n - n % 4
        for i in range(m):                  for k in range(0, rest, 4):
            x[i] += a[k] * y[k, i]      →       for i in range(m):
                                                    x[i] = x[i] + a[k] * y[k, i] + … \\
                                                        + a[k + 3] * y[k + 3, i]
                                            for k in range(rest, n):
                                                for i in range(m):
                                                    x[i] += a[k] * y[k, i]

A product of matrices written as loops reads and writes each row of the result once for every row of
a factor.  Sums keep their order.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable

from ..analysis.accumulation import added_to
from ..analysis.alias import MayAlias
from ..analysis.analyses import Overview
from ..analysis.cost_model import trips
from ..analysis.liveness import defs, names_in, uses
from ..loop_ir import nodes as L

# So many rounds of the outer loop become one.
ROUNDS = 4


def unroll_and_jam_sums(
    body: list[L.Stmt],
    dtypes: dict[str, str],
    escaping: set[str],
    may_alias: MayAlias,
    new_name: Callable[[str], str],
) -> None:
    """Rewrites `body` in place.  `dtypes` are those of the arrays among the parameters; `visible`
    are the buffers that the caller sees even if the call fails."""
    _block(body, _Jammer(body, dtypes, escaping, may_alias, new_name))


def _block(block: list[L.Stmt], jammer: _Jammer) -> None:
    out: list[L.Stmt] = []
    for stmt in block:
        found = jammer.rows(stmt) if isinstance(stmt, L.Loop) else None
        if found is not None:
            assert isinstance(stmt, L.Loop)
            out += jammer.written(stmt, *found)
            continue
        for inner in L.blocks_of(stmt):
            _block(inner, jammer)
        out.append(stmt)
    block[:] = out


class _Jammer(Overview):
    def __init__(
        self,
        body: list[L.Stmt],
        dtypes: dict[str, str],
        escaping: set[str],
        may_alias: MayAlias,
        new_name: Callable[[str], str],
    ) -> None:
        super().__init__(body, dtypes, may_alias)
        self.escaping, self.new_name = escaping, new_name
        self.read = Counter(name for s in L.walk(body) for name in uses(s))

    def rows(self, loop: L.Loop) -> tuple[list[L.Stmt], L.Loop, L.Expr, list[L.Store]] | None:
        """What each round of a loop computes and checks first, the loop inside, what that adds to
        its elements, if all rounds add to the same ones, and what is stored elsewhere after it."""
        stmts = [s for s in loop.body if not isinstance(s, L.Comment)]
        last = [s for s in stmts if isinstance(s, L.Store)]
        before = stmts[: len(stmts) - len(last)]
        if not before or not isinstance(inner := before.pop(), L.Loop):
            return None
        first = [s for s in before if isinstance(s, L.Let) or L.is_check(s)]
        if len(first) < len(before):
            return None
        if loop.parallel or not (L.is_lit(loop.step, 1) or L.is_lit(loop.step, -1)):
            return None
        if isinstance(count := trips(loop), L.Lit) and count.value < 2 * ROUNDS:
            return None
        lets = [s for s in first if isinstance(s, L.Let)]
        checks = [s for s in first if isinstance(s, L.If)]
        put = self._only_put(inner)
        if put is None:
            return None
        added = put.expr if put.add else added_to(put, put.expr)
        if added is None or added.dtype != self.dtypes.get(put.buffer):
            return None
        if not self._are_own(loop, lets):
            return None
        changes = {loop.var, *(s.name for s in lets)}
        bounds = [self._settled(e, lets) for e in (inner.start, inner.stop)]
        if names_in([*bounds, *put.index]) & changes or not L.is_lit(inner.step, 1):
            return None
        along = [e for e in put.index if inner.var in names_in([e])]
        if len(along) != 1 or L.offset(along[0], inner.var) is None:
            return None
        if not is_cheap(added) or loop.var not in _used(lets, [added]):
            return None
        seen = (put.buffer, *(s.buffer for s in last))
        if checks and any(self.may_alias(b, v) for b in seen for v in self.escaping):
            return None  # it would be seen that a check comes before what was added until then
        around = [*bounds, loop.start, loop.stop]
        around += [e for s in (*first, *last) for e in _exprs(s)]
        if inner.var in names_in(around):
            return None  # as the round before has left it
        exprs = [added, *put.index, *around]
        loads = [p.buffer for e in exprs for p in L.walk_expr(e) if isinstance(p, L.Load)]
        written = [put.buffer, *(s.buffer for s in last)]
        if any(self.may_alias(load, buffer) for load in loads for buffer in written):
            return None
        if any(self.may_alias(put.buffer, s.buffer) for s in last):
            return None
        if loop.var in self.after[id(loop)]:
            return None
        used = _used(lets, [added, *(e for s in (*checks, *last) for e in _exprs(s))])
        needed: list[L.Stmt] = [s for s in first if isinstance(s, L.If) or s.name in used]
        return needed, L.Loop(inner.var, bounds[0], bounds[1], L.ONE, [put]), added, last

    def _only_put(self, inner: L.Loop) -> L.Store | None:
        """What a loop stores, if that is all; numbers that it names first stand in their places."""
        *lets, put = [s for s in inner.body if not isinstance(s, L.Comment)] or [None]
        if not isinstance(put, L.Store):
            return None
        inside = Counter(name for s in inner.body for e in L.exprs_of(s) for name in _names(e))
        known: dict[L.Expr, L.Expr] = {}
        for s in lets:
            if not isinstance(s, L.Let) or not inside[s.name] == 1 == self.read[s.name]:
                return None
            known[L.Name(s.name, s.expr.dtype)] = L.map_expr(s.expr, known.get)
        index = tuple(L.map_expr(e, known.get) for e in put.index)
        return L.Store(put.buffer, index, L.map_expr(put.expr, known.get), put.add)

    def _are_own(self, loop: L.Loop, lets: list[L.Let]) -> bool:
        """Whether the numbers are set once and read in the loop only, after that."""
        own = [s.name for s in lets]
        inside = Counter(name for s in L.walk(loop.body) for name in uses(s))
        bound = Counter(name for s in L.walk(loop.body) for name in defs(s))
        seen: set[str] = set()
        for s in lets:
            if names_in([s.expr]) & ({*own} - seen):
                return False
            seen.add(s.name)
        once = all(bound[name] == 1 and inside[name] == self.read[name] for name in own)
        return once and not bound[loop.var]

    def _settled(self, e: L.Expr, lets: list[L.Let]) -> L.Expr:
        """By what was known before the loop."""
        known = {s.name: s.expr for s in lets}

        def spelt(part: L.Expr) -> L.Expr | None:
            if isinstance(part, L.Name) and part.name in known:
                return self._settled(known[part.name], lets)
            return None

        return L.map_expr(e, spelt)

    def written(
        self, loop: L.Loop, first: list[L.Stmt], inner: L.Loop, added: L.Expr, last: list[L.Store]
    ) -> list[L.Stmt]:
        (put,) = inner.body
        assert isinstance(put, L.Store) and isinstance(loop.step, L.Lit)
        step = loop.step.value
        cut, rest = whole_rounds(loop, ROUNDS, self.new_name)
        body: list[L.Stmt] = [s for s in loop.body if isinstance(s, L.Comment)]
        after: list[L.Stmt] = []
        total: L.Expr = L.Load(put.buffer, put.index, put.expr.dtype)
        for n in range(ROUNDS):
            lets = [s.name for s in first if isinstance(s, L.Let)]
            names = {name: name if n == 0 else self.new_name(name) for name in lets}
            here: dict[L.Expr, L.Expr] = {
                L.Name(loop.var): L.add(L.Name(loop.var), L.lit(n * step))
            }
            body += renamed(first, names, here)
            after += renamed([*last], names, here)
            total = plus(total, L.map_expr(added, _renaming(names, here)))
        body.append(
            L.Loop(
                inner.var, inner.start, inner.stop, L.ONE, [L.Store(put.buffer, put.index, total)]
            )
        )
        body += after
        names = {s.name: self.new_name(s.name) for s in loop.body if isinstance(s, L.Let)}
        left = L.Loop(loop.var, rest, loop.stop, loop.step, renamed(loop.body, names, {}))
        return [cut, L.Loop(loop.var, loop.start, rest, L.lit(ROUNDS * step), body), left]


def whole_rounds(loop: L.Loop, rounds: int, new_name: Callable[[str], str]) -> tuple[L.Let, L.Name]:
    """Up to where a loop that counts by one can take so many rounds at once, as a number."""
    count = trips(loop)
    many = L.sub(count, L.Bin("%", count, L.lit(rounds), "int64"))
    far = L.add(loop.start, many) if L.is_lit(loop.step, 1) else L.sub(loop.start, many)
    if not isinstance(count, L.Size):  # it may be less than none
        far = L.select(L.compare(">", count, L.ZERO), far, loop.start)
    rest = L.Name(new_name("rest"))
    return L.Let(rest.name, far), rest


def plus(total: L.Expr, e: L.Expr) -> L.Expr:
    if isinstance(e, L.Un) and e.op == "-":
        return L.Bin("-", total, e.x, total.dtype)
    return L.Bin("+", total, e, total.dtype)


def _names(e: L.Expr) -> list[str]:
    """As often as they stand there."""
    return [p.name for p in L.walk_expr(e) if isinstance(p, L.Name)]


def _exprs(stmt: L.Stmt) -> list[L.Expr]:
    """What a number or a check is computed from."""
    return [e for s in L.walk([stmt]) for e in L.exprs_of(s)]


def _used(lets: list[L.Let], exprs: list[L.Expr]) -> set[str]:
    """The names that expressions depend on, also by way of the numbers."""
    names = names_in(exprs)
    for s in reversed(lets):
        if s.name in names:
            names |= names_in([s.expr])
    return names


def is_cheap(e: L.Expr) -> bool:
    """Sums and products: of what takes long, writing it down four times would gain nothing."""
    for part in L.walk_expr(e):
        if isinstance(part, L.Bin):
            if part.op not in ("+", "-", "*"):
                return False
        elif isinstance(part, L.Un):
            if part.op != "-":
                return False
        elif not isinstance(part, (L.Lit, L.Name, L.Load, L.Size)):
            return False
    return True


def renamed(
    body: list[L.Stmt], names: dict[str, str], places: dict[L.Expr, L.Expr]
) -> list[L.Stmt]:
    """A copy, with other names for numbers, and other expressions in the place of some."""
    out = copy.deepcopy(body)
    L.map_stmts(out, _renaming(names, places))
    for s in L.walk(out):
        if isinstance(s, L.Let):
            s.name = names.get(s.name, s.name)
    return out


def _renaming(
    names: dict[str, str], places: dict[L.Expr, L.Expr]
) -> Callable[[L.Expr], L.Expr | None]:
    def new(e: L.Expr) -> L.Expr | None:
        if isinstance(e, L.Name) and e.name in names:
            return L.Name(names[e.name], e.dtype)
        return places.get(e)

    return new
