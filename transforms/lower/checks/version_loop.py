"""A loop whose checks can be told before it is written twice, once without them, on loop-level IR.

    for j in range(n):                          if n > x.shape[0]:
        if c & 1 << j != 0:                         for j in range(n):
            if j >= x.shape[0]:                         …
                raise IndexError(…)     →       else:
            s = s + x[j]                            for j in range(n):
                                                        if c & 1 << j != 0:
                                                            s = s + x[j]

What only some rounds check cannot fail before the loop, nor can what all of them check where the
caller would see that it came too soon (`hoist.py`).  But whether any round might fail is
known: then all goes as it did.  Likewise whether any round might shift a number too far, which each
would have to ask (`lower/ops/bit_shift.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...ir.record import replace
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L
from ..ops.bit_shift import asked
from .hoist import in_last_round

# A loop with more statements than this is not written twice.
LARGE = 40
_PLAIN = (L.Let, L.Store, L.If, L.Fail, L.Comment)
_SAFE = (L.Name, L.Lit, L.Size, L.Bin, L.Un, L.Select)


def version_checked_loops(body: list[L.Stmt], params: Iterable[str]) -> None:
    """Rewrites `body` in place.  Names in `params` have values from the beginning."""
    if any(isinstance(s, L.Fail) or _asks(s) for s in L.walk(body)):
        _block(body, dict.fromkeys(params))


def _asks(stmt: L.Stmt) -> bool:
    """Whether it asks if a shift goes too far."""
    return any(asked(part) is not None for part in L.parts_read(stmt))


def _block(body: list[L.Stmt], bound: dict[str, None]) -> list[str]:
    """`bound` are the names that have a value for certain; gives those that the block adds."""
    before = len(bound)
    for place, stmt in enumerate(body):
        blocks = [_block(block, bound) for block in L.blocks_of(stmt)]
        if isinstance(stmt, L.Loop):
            body[place] = _twice(stmt, bound)
        elif isinstance(stmt, L.If):
            bound.update(dict.fromkeys(n for n in blocks[0] if n in blocks[1]))
        else:
            bound.update(dict.fromkeys(defs(stmt)))
    added = [*bound][before:]
    for name in added:
        del bound[name]
    return added


def _twice(loop: L.Loop, bound: dict[str, None]) -> L.Stmt:
    inside = list(L.walk(loop.body))
    if loop.parallel or len(inside) > LARGE or not any(L.is_check(s) or _asks(s) for s in inside):
        return loop
    if L.span(loop) is None or not all(isinstance(s, _PLAIN) for s in inside):
        return loop
    other = replace(loop, body=_copied(loop.body))
    without = _Without(other, bound)
    if not without.conds:
        return loop
    cond: L.Expr = L.lit(False, "bool")
    for e in without.conds:
        cond = L.either(cond, e)
    if isinstance(cond, L.Lit):
        return loop if cond.value else other
    return L.If(cond, [loop], [other])


def _copied(body: list[L.Stmt]) -> list[L.Stmt]:
    """Other statements, of the same expressions."""
    out: list[L.Stmt] = []
    for s in body:
        out.append(
            L.If(s.cond, *map(_copied, L.blocks_of(s))) if isinstance(s, L.If) else replace(s)
        )
    return out


def _is_at_hand(e: L.Expr, bound: dict[str, None]) -> bool:
    """Whether an expression can be computed ahead without harm."""
    parts = L.walk_expr(e)
    harmless = all(isinstance(p, _SAFE) and getattr(p, "op", "") not in ("//", "%") for p in parts)
    return harmless and all(name in bound for name in names_in([e]))


class _Without:
    """Takes from a loop what cannot be where none of the conditions `conds` holds: its checks, if
    that can be told of all, and shifts that go too far."""

    def __init__(self, loop: L.Loop, given: dict[str, None]) -> None:
        self.loop, self.given = loop, given
        self.bound = Counter(name for s in L.walk(loop.body) for name in defs(s))
        self.conds: dict[L.Expr, None] = {}
        if self.bound[loop.var]:
            return
        fails: list[list[L.Expr] | None] = []
        self._block(loop.body, {}, fails)
        if fails and None not in fails:
            self.conds = dict.fromkeys(e for found in fails for e in found or ()) | self.conds
            _drop_checks(loop.body)

    def _block(
        self,
        body: list[L.Stmt],
        integers: dict[str, L.Expr],
        fails: list[list[L.Expr] | None],
    ) -> None:
        """`integers` are what numbers of this round are made from that do not change in it."""

        def plain(e: L.Expr) -> L.Expr | None:
            shift = asked(e)
            far = self._ahead(resolve(shift[0], integers), changing=True) if shift else None
            if shift is None or far is None:
                return None
            self.conds.update(dict.fromkeys(far))
            return L.map_expr(shift[1], plain)

        for stmt in body:
            if L.is_check(stmt):
                fails.append(self._ahead(resolve(stmt.cond, integers)))
                continue
            whole = None
            if isinstance(stmt, L.Let) and stmt.expr.dtype == "int64":
                whole = resolve(stmt.expr, integers)
            L.map_stmt(stmt, plain)
            for block in L.blocks_of(stmt):
                self._block(block, dict(integers), fails)
            if isinstance(stmt, L.Let) and whole is not None:
                if self.bound[stmt.name] == 1 and self._is_fixed(whole):
                    integers[stmt.name] = whole

    def _is_fixed(self, e: L.Expr) -> bool:
        """Has one value in all rounds but for the loop's variable."""
        return not any(self.bound[name] for name in names_in([e]))

    def _ahead(self, cond: L.Expr, changing: bool = False) -> list[L.Expr] | None:
        """Conditions in one of which this one holds in some round, if it does in any; None if that
        cannot be told, or if it is the same in all rounds though it should be `changing`."""
        found: list[L.Expr] = []
        if changing and self.loop.var not in names_in([cond]):
            return None
        for part in _alternatives(cond):
            some = self._in_some_round(part) if self._is_fixed(part) else None
            if some is None or not _is_at_hand(some, self.given):
                return None
            found.append(some)
        return found

    def _in_some_round(self, cond: L.Expr) -> L.Expr | None:
        """Where the loop's variable is largest or smallest, if it holds there or in no round."""
        span, var = L.span(self.loop), self.loop.var
        assert span is not None
        if isinstance(cond, L.Bin) and cond.op == "<" and var not in names_in([cond.right]):
            c = L.offset(cond.left, var)
            if c is not None and (c >= 0 or isinstance(span[0], L.Lit)):
                return L.compare("<", L.add(span[0], L.lit(c)), cond.right)
        return in_last_round(var, span[1], cond)


def _alternatives(cond: L.Expr) -> list[L.Expr]:
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [*_alternatives(cond.left), *_alternatives(cond.right)]
    return [cond]


def _drop_checks(body: list[L.Stmt]) -> None:
    body[:] = [s for s in body if not L.is_check(s)]
    for stmt in body:
        for block in L.blocks_of(stmt):
            _drop_checks(block)
