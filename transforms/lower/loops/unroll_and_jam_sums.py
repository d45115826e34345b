"""Unroll-and-jam of sums of scaled rows, on loop-level IR.

    for k in range(n):                      rest = n - n % 4
        for i in range(m):                  for k in range(0, rest, 4):
            x[i] += a[k] * y[k, i]      →       for i in range(m):
                                                    x[i] = x[i] + a[k] * y[k, i] + … \\
                                                        + a[k + 3] * y[k + 3, i]
                                            for k in range(rest, n):
                                                for i in range(m):
                                                    x[i] += a[k] * y[k, i]

A matrix product that is written as loops loads and stores each row of the result once for every row
of a factor.  Unrolled, it does so once for every four rows.  Sums keep their order.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable

from ..analysis.accumulation import accumulated_increment
from ..analysis.alias import MayAlias
from ..analysis.analyses import FunctionAnalyses
from ..analysis.cost_model import trip_count
from ..analysis.liveness import defs, names_in, uses
from ..loop_ir import nodes as L

# The unroll factor of the outer loop.
UNROLL_FACTOR = 4


def unroll_and_jam_sums(
    body: list[L.Stmt],
    dtypes: dict[str, str],
    escaping: set[str],
    may_alias: MayAlias,
    new_name: Callable[[str], str],
) -> None:
    """Rewrite `body` in place.

    `dtypes` are those of the arrays among the parameters.  `escaping` are the buffers whose
    contents the caller sees even if the call fails.
    """
    _Jammer(body, dtypes, escaping, may_alias, new_name).block(body)


class Unroller(FunctionAnalyses):
    """Replaces loops by unrolled ones, outermost first."""

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

    def block(self, block: list[L.Stmt]) -> None:
        out: list[L.Stmt] = []
        for stmt in block:
            new = self.unrolled(stmt) if isinstance(stmt, L.Loop) else None
            if new is None:
                for inner in L.blocks_of(stmt):
                    self.block(inner)
            out += new or [stmt]
        block[:] = out

    def unrolled(self, loop: L.Loop) -> list[L.Stmt] | None:
        """Return the statements that replace a loop, or None if it is not unrolled."""
        raise NotImplementedError


class _Jammer(Unroller):
    def __init__(
        self,
        body: list[L.Stmt],
        dtypes: dict[str, str],
        escaping: set[str],
        may_alias: MayAlias,
        new_name: Callable[[str], str],
    ) -> None:
        super().__init__(body, dtypes, escaping, may_alias, new_name)
        self.read = Counter(name for s in L.walk(body) for name in uses(s))

    def unrolled(self, loop: L.Loop) -> list[L.Stmt] | None:
        found = self.rows(loop)
        return None if found is None else self.written(loop, *found)

    def rows(self, loop: L.Loop) -> tuple[list[L.Stmt], L.Loop, L.Expr, list[L.Store]] | None:
        """Return the parts of a loop whose iterations all add to the same elements, or None.

        The parts are the scalars and checks at the start of its body, the inner loop, the term that
        the inner loop adds to an element, and the stores to other buffers after it.
        """
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
        if isinstance(count := trip_count(loop), L.Lit) and count.value < 2 * UNROLL_FACTOR:
            return None
        lets = [s for s in first if isinstance(s, L.Let)]
        checks = [s for s in first if isinstance(s, L.If)]
        store = self._only_store(inner)
        if store is None:
            return None
        added = store.expr if store.add else accumulated_increment(store, store.expr)
        if added is None or added.dtype != self.dtypes.get(store.buffer):
            return None
        if not self._are_private(loop, lets):
            return None
        changes = {loop.var, *(s.name for s in lets)}
        bounds = [self._resolved(e, lets) for e in (inner.start, inner.stop)]
        if names_in([*bounds, *store.index]) & changes or not L.is_lit(inner.step, 1):
            return None
        along = [e for e in store.index if inner.var in names_in([e])]
        if len(along) != 1 or L.constant_offset(along[0], inner.var) is None:
            return None
        if not is_sum_of_products(added) or loop.var not in _dependences(lets, [added]):
            return None
        seen = (store.buffer, *(s.buffer for s in last))
        if checks and any(self.may_alias(b, v) for b in seen for v in self.escaping):
            return None  # an error would be raised before escaping stores of earlier iterations
        around = [*bounds, loop.start, loop.stop]
        around += [e for s in (*first, *last) for e in _exprs(s)]
        if inner.var in names_in(around):
            return None  # the value is that of the previous iteration
        exprs = [added, *store.index, *around]
        loads = [p.buffer for e in exprs for p in L.walk_expr(e) if isinstance(p, L.Load)]
        written = [store.buffer, *(s.buffer for s in last)]
        if any(self.may_alias(load, buffer) for load in loads for buffer in written):
            return None
        if any(self.may_alias(store.buffer, s.buffer) for s in last):
            return None
        if loop.var in self.live_after[id(loop)]:
            return None
        used = _dependences(lets, [added, *(e for s in (*checks, *last) for e in _exprs(s))])
        needed: list[L.Stmt] = [s for s in first if isinstance(s, L.If) or s.name in used]
        return needed, L.Loop(inner.var, bounds[0], bounds[1], L.ONE, [store]), added, last

    def _only_store(self, inner: L.Loop) -> L.Store | None:
        """Return the only store of a loop, with the scalars defined before it substituted."""
        *lets, store = [s for s in inner.body if not isinstance(s, L.Comment)] or [None]
        if not isinstance(store, L.Store):
            return None
        inside = Counter(name for s in inner.body for e in L.exprs_of(s) for name in _names(e))
        known: dict[L.Expr, L.Expr] = {}
        for s in lets:
            if not isinstance(s, L.Let) or not inside[s.name] == 1 == self.read[s.name]:
                return None
            known[L.Name(s.name, s.expr.dtype)] = L.map_expr(s.expr, known.get)
        index = tuple(L.map_expr(e, known.get) for e in store.index)
        return L.Store(store.buffer, index, L.map_expr(store.expr, known.get), store.add)

    def _are_private(self, loop: L.Loop, lets: list[L.Let]) -> bool:
        """True if the scalars are assigned once and are read only in the loop, after that."""
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

    def _resolved(self, e: L.Expr, lets: list[L.Let]) -> L.Expr:
        """Return `e` with the definitions of the loop's scalars substituted."""
        known = {s.name: s.expr for s in lets}

        def resolved(part: L.Expr) -> L.Expr | None:
            if isinstance(part, L.Name) and part.name in known:
                return self._resolved(known[part.name], lets)
            return None

        return L.map_expr(e, resolved)

    def written(
        self, loop: L.Loop, first: list[L.Stmt], inner: L.Loop, added: L.Expr, last: list[L.Store]
    ) -> list[L.Stmt]:
        """Return the unrolled loop and the loop over the remaining iterations."""
        (store,) = inner.body
        assert isinstance(store, L.Store) and isinstance(loop.step, L.Lit)
        step = loop.step.value
        cut, rest = unrolled_stop(loop, UNROLL_FACTOR, self.new_name)
        body: list[L.Stmt] = [s for s in loop.body if isinstance(s, L.Comment)]
        after: list[L.Stmt] = []
        total: L.Expr = L.Load(store.buffer, store.index, store.expr.dtype)
        for n in range(UNROLL_FACTOR):
            lets = [s.name for s in first if isinstance(s, L.Let)]
            names = {name: name if n == 0 else self.new_name(name) for name in lets}
            here: dict[L.Expr, L.Expr] = {
                L.Name(loop.var): L.add(L.Name(loop.var), L.lit(n * step))
            }
            body += copy_renamed(first, names, here)
            after += copy_renamed([*last], names, here)
            total = add_term(total, L.map_expr(added, _renaming(names, here)))
        body.append(
            L.Loop(
                inner.var,
                inner.start,
                inner.stop,
                L.ONE,
                [L.Store(store.buffer, store.index, total)],
            )
        )
        body += after
        names = {s.name: self.new_name(s.name) for s in loop.body if isinstance(s, L.Let)}
        left = L.Loop(loop.var, rest, loop.stop, loop.step, copy_renamed(loop.body, names, {}))
        return [cut, L.Loop(loop.var, loop.start, rest, L.lit(UNROLL_FACTOR * step), body), left]


def unrolled_stop(
    loop: L.Loop, rounds: int, new_name: Callable[[str], str]
) -> tuple[L.Let, L.Name]:
    """Return the stop of the unrolled part of a loop of unit step, as an assignment and its name.

    `rounds` is the unroll factor.
    """
    count = trip_count(loop)
    unrolled_count = L.sub(count, L.Bin("%", count, L.lit(rounds), "int64"))
    stop = (
        L.add(loop.start, unrolled_count)
        if L.is_lit(loop.step, 1)
        else L.sub(loop.start, unrolled_count)
    )
    if not isinstance(count, L.Size):  # it may be negative
        stop = L.select(L.compare(">", count, L.ZERO), stop, loop.start)
    rest = L.Name(new_name("rest"))
    return L.Let(rest.name, stop), rest


def add_term(total: L.Expr, e: L.Expr) -> L.Expr:
    """Return `total + e`, or `total - x` if `e` is `-x`."""
    if isinstance(e, L.Un) and e.op == "-":
        return L.Bin("-", total, e.x, total.dtype)
    return L.Bin("+", total, e, total.dtype)


def _names(e: L.Expr) -> list[str]:
    """Return the names in an expression, one for each occurrence."""
    return [p.name for p in L.walk_expr(e) if isinstance(p, L.Name)]


def _exprs(stmt: L.Stmt) -> list[L.Expr]:
    """Return the expressions of an assignment, a store or a check."""
    return [e for s in L.walk([stmt]) for e in L.exprs_of(s)]


def _dependences(lets: list[L.Let], exprs: list[L.Expr]) -> set[str]:
    """Return the names that expressions depend on, directly or through the scalars `lets`."""
    names = names_in(exprs)
    for s in reversed(lets):
        if s.name in names:
            names |= names_in([s.expr])
    return names


def is_sum_of_products(e: L.Expr) -> bool:
    """True for sums and products.  Unrolling gains nothing for more expensive expressions."""
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


def copy_renamed(
    body: list[L.Stmt], names: dict[str, str], places: dict[L.Expr, L.Expr]
) -> list[L.Stmt]:
    """Return a copy of a body with scalars renamed by `names` and expressions replaced by
    `places`."""
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
