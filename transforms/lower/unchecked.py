"""A loop whose checks can be told before it is written twice, once without them, on loop-level IR.

    for j in range(n):                          if n > x.shape[0]:
        if c & 1 << j != 0:                         for j in range(n):
            if j >= x.shape[0]:                         …
                raise IndexError(…)     →       else:
            s = s + x[j]                            for j in range(n):
                                                        if c & 1 << j != 0:
                                                            s = s + x[j]

What only some rounds check cannot fail before the loop, nor can what all of them check where the
caller would see that it came too soon (`checks_ahead.py`).  But whether any round might fail is
known: then all goes as it did.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable

from . import loop_ir as L
from .checks_ahead import in_last_round
from .live import binds, names_in
from .numbers import spelt_out

# A loop with more statements than this is not written twice.
LARGE = 40
_PLAIN = (L.Let, L.Put, L.Branch, L.Fail, L.Remark)
_SAFE = (L.Name, L.Lit, L.Size, L.Bin, L.Un, L.Select)


def leave_unchecked(body: list[L.Stmt], params: Iterable[str]) -> None:
    """Rewrites `body` in place.  Names in `params` have values from the beginning."""
    if any(isinstance(s, L.Fail) for s in L.walk(body)):
        _block(body, dict.fromkeys(params))


def _block(body: list[L.Stmt], bound: dict[str, None]) -> list[str]:
    """`bound` are the names that have a value for certain; gives those that the block adds."""
    before = len(bound)
    for place, stmt in enumerate(body):
        blocks = [_block(block, bound) for block in L.blocks_of(stmt)]
        if isinstance(stmt, L.Loop):
            body[place] = _twice(stmt, bound)
        elif isinstance(stmt, L.Branch):
            bound.update(dict.fromkeys(n for n in blocks[0] if n in blocks[1]))
        else:
            bound.update(dict.fromkeys(binds(stmt)))
    added = [*bound][before:]
    for name in added:
        del bound[name]
    return added


def _twice(loop: L.Loop, bound: dict[str, None]) -> L.Stmt:
    inside = list(L.walk(loop.body))
    if loop.parallel or len(inside) > LARGE or not any(map(L.is_check, inside)):
        return loop
    if L.span(loop) is None or not all(isinstance(s, _PLAIN) for s in inside):
        return loop
    fails = _Checks(loop).found
    if fails is None or not all(_is_at_hand(e, bound) for e in fails):
        return loop
    cond: L.Expr = L.lit(False, "bool")
    for e in dict.fromkeys(fails):
        cond = L.either(cond, e)
    other = copy.deepcopy(loop)
    _drop_checks(other.body)
    return L.Branch(cond, [loop], [other])


def _is_at_hand(e: L.Expr, bound: dict[str, None]) -> bool:
    """Whether an expression can be computed ahead without harm."""
    parts = L.walk_expr(e)
    harmless = all(isinstance(p, _SAFE) and getattr(p, "op", "") not in ("//", "%") for p in parts)
    return harmless and all(name in bound for name in names_in([e]))


class _Checks:
    """`found` are conditions in one of which some check of a loop fails, if any does; None if that
    cannot be told."""

    def __init__(self, loop: L.Loop) -> None:
        self.loop = loop
        self.bound = Counter(name for s in L.walk(loop.body) for name in binds(s))
        self.found: list[L.Expr] | None = None if self.bound[loop.var] else []
        self._block(loop.body, {})

    def _block(self, body: list[L.Stmt], integers: dict[str, L.Expr]) -> None:
        """`integers` are what numbers of this round are made from that do not change in it."""
        for stmt in body:
            if L.is_check(stmt):
                self._check(spelt_out(stmt.cond, integers))
            elif isinstance(stmt, L.Branch):
                for block in L.blocks_of(stmt):
                    self._block(block, dict(integers))
            elif isinstance(stmt, L.Let) and stmt.expr.dtype == "int64":
                whole = spelt_out(stmt.expr, integers)
                if self.bound[stmt.name] == 1 and self._is_fixed(whole):
                    integers[stmt.name] = whole

    def _is_fixed(self, e: L.Expr) -> bool:
        """Has one value in all rounds but for the loop's variable."""
        return not any(self.bound[name] for name in names_in([e]))

    def _check(self, cond: L.Expr) -> None:
        span = L.span(self.loop)
        assert span is not None
        for part in _alternatives(cond):
            last = in_last_round(self.loop.var, span[1], part) if self._is_fixed(part) else None
            if last is None:
                self.found = None
            elif self.found is not None:
                self.found.append(last)


def _alternatives(cond: L.Expr) -> list[L.Expr]:
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [*_alternatives(cond.left), *_alternatives(cond.right)]
    return [cond]


def _drop_checks(body: list[L.Stmt]) -> None:
    body[:] = [s for s in body if not L.is_check(s)]
    for stmt in body:
        for block in L.blocks_of(stmt):
            _drop_checks(block)
