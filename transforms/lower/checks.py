"""Drops checks that an earlier one has settled, on loop-level IR.

A sweep asks again what the forward part has asked; each check that stays parts loops that could
be one.  What a loop asks in each of its rounds is settled in those of a later loop over the same
range, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..records import field, record
from . import loop_ir as L
from .live import binds, names_in
from .numbers import spelt_out

# Stands for the variable of a loop.
ROUND = L.Name("·")
# A definition that is longer than this is not written out.
LONG = 24

Shares = Callable[[str, str], bool]


def drop_settled(
    body: list[L.Stmt], shares: Shares, integers: dict[str, L.Expr] | None = None
) -> list[L.Stmt]:
    """`shares(a, b)`: two buffer variables may share memory; `integers` are what those that never
    change are made from."""
    return _Dropper(shares, integers or {}).block(body, _Settled(), None)


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


@record
class _Settled:
    """`never` are conditions that do not hold.  `ranges` are conditions with the range (start,
    stop, step) of loops in whose rounds they do not."""

    never: dict[L.Expr, _Use] = field(default_factory=dict)
    ranges: dict[tuple[L.Expr, L.Expr, L.Expr, L.Expr], _Use] = field(default_factory=dict)

    def copy(self) -> _Settled:
        return _Settled(dict(self.never), dict(self.ranges))


Lets = dict[str, tuple[L.Expr, _Use]]


class _Dropper:
    def __init__(self, shares: Shares, integers: dict[str, L.Expr]) -> None:
        self.shares = shares
        self.integers = integers

    def block(self, body: list[L.Stmt], settled: _Settled, lets: Lets | None) -> list[L.Stmt]:
        """What is settled in the block is added.  `lets` are what integers stand for in the body
        of a loop, by which conditions are compared: in another loop they have other names."""
        out: list[L.Stmt] = []
        for stmt in body:
            if isinstance(stmt, L.Branch):
                if _only_fails(stmt):
                    cond = _spelt(stmt.cond, lets or {})
                    if cond in settled.never:
                        continue
                    settled.never |= {c: _Use.of([c]) for c in (cond, *_alternatives(cond))}
                else:
                    for part in (stmt.then, stmt.orelse):
                        known = None if lets is None else dict(lets)
                        part[:] = self.block(part, settled.copy(), known)
            elif isinstance(stmt, L.Forever):
                inside = settled.copy()
                self._forget(stmt, inside, {})
                stmt.body = self.block(stmt.body, inside, {})
            elif isinstance(stmt, L.Loop):
                self._loop(stmt, settled)
            self._forget(stmt, settled, lets or {})
            if lets is not None and isinstance(stmt, L.Let):
                _note(stmt, lets)
            out.append(stmt)
        return out

    def _loop(self, loop: L.Loop, settled: _Settled) -> None:
        """What an iteration changes may be otherwise when the next begins."""
        inside = settled.copy()
        self._forget(loop, inside, {})
        here, var = self._range(loop), L.Name(loop.var)
        for *range_, cond in inside.ranges:
            if (*range_,) == here:
                cond = L.map_expr(cond, lambda e: var if e == ROUND else None)
                inside.never[cond] = _Use.of([cond])
        loop.body = self.block(loop.body, inside, {})
        if any(isinstance(s, (L.Break, L.Return)) for s in L.walk(loop.body)):
            return
        for cond in inside.never:
            # One without the variable may never have been asked: the loop may make no round.
            if var in L.walk_expr(cond):
                cond = L.map_expr(cond, lambda e: ROUND if e == var else None)
                settled.ranges[(*here, cond)] = _Use.of((*here, cond))

    def _range(self, loop: L.Loop) -> tuple[L.Expr, L.Expr, L.Expr]:
        """Which rounds a loop makes, in whatever order."""
        start, stop, step = (
            spelt_out(e, self.integers) for e in (loop.start, loop.stop, loop.step)
        )
        spelt = L.Loop(loop.var, start, stop, step)
        span = L.span(spelt)
        return (*span, L.ONE) if span is not None else (start, stop, step)

    def _forget(self, stmt: L.Stmt, settled: _Settled, lets: Lets) -> None:
        """What a statement may have changed is open again."""
        if isinstance(stmt, L.Remark) or not (settled.never or settled.ranges or lets):
            return
        names, buffers = _changed(stmt)
        known: dict[Any, _Use]
        for known in (settled.never, settled.ranges):
            for key, use in list(known.items()):
                if self._touches(use, names, buffers):
                    del known[key]
        for name, (_, use) in list(lets.items()):
            if name in names or self._touches(use, names, buffers):
                del lets[name]

    def _touches(self, use: _Use, names: set[str], buffers: set[str]) -> bool:
        return not use.names.isdisjoint(names) or any(
            a == b or self.shares(a, b) for a in use.buffers for b in buffers
        )


def _spelt(e: L.Expr, lets: Lets) -> L.Expr:
    def new(part: L.Expr) -> L.Expr | None:
        return lets[part.name][0] if isinstance(part, L.Name) and part.name in lets else None

    return L.map_expr(e, new) if lets else e


def _note(stmt: L.Let, lets: Lets) -> None:
    if stmt.expr.dtype not in ("int64", "bool"):
        return
    expr = _spelt(stmt.expr, lets)
    use = _Use.of([expr])
    if stmt.name not in use.names and sum(1 for _ in L.walk_expr(expr)) <= LONG:
        lets[stmt.name] = expr, use


def _changed(stmt: L.Stmt) -> tuple[set[str], set[str]]:
    """The variables that may have another value after it, and the buffers that may."""
    names, buffers = set[str](), set[str]()
    for s in L.walk([stmt]):
        names.update(binds(s))
        if isinstance(s, L.Put):
            buffers.add(s.buffer)
        elif isinstance(s, (L.Do, L.BindCall, L.Invoke)):
            buffers |= {a.buffer for a in s.args if isinstance(a, L.Whole)}
    return names, buffers


def _only_fails(stmt: L.Branch) -> bool:
    return not stmt.orelse and bool(stmt.then) and isinstance(stmt.then[-1], L.Fail)


def _alternatives(cond: L.Expr) -> list[L.Expr]:
    """None of several holds if not one of them does."""
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [cond.left, cond.right, *_alternatives(cond.left), *_alternatives(cond.right)]
    return []
