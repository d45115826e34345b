"""Drops checks that an earlier one has settled, on loop-level IR.

A sweep asks again what the forward part has asked; each check that stays parts loops that could
be one.  What a loop asks in each of its rounds is settled in those of a later loop over the same
range, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from . import loop_ir as L

# Stands for the variable of a loop.
ROUND = L.Name("·")
# A definition that is longer than this is not written out.
LONG = 24

Shares = Callable[[str, str], bool]


def drop_settled(body: list[L.Stmt], shares: Shares) -> list[L.Stmt]:
    """`shares(a, b)`: two buffer variables may share memory."""
    return _Dropper(shares).block(body, _Settled(), None)


@dataclass
class _Settled:
    """`never` are conditions that do not hold.  `ranges` are conditions with the range (start,
    stop, step) of loops in whose rounds they do not."""

    never: set[L.Expr] = field(default_factory=set)
    ranges: set[tuple[L.Expr, L.Expr, L.Expr, L.Expr]] = field(default_factory=set)

    def copy(self) -> _Settled:
        return _Settled(set(self.never), set(self.ranges))


@dataclass(frozen=True)
class _Change:
    """The variables that may have another value, and the buffers that may."""

    names: frozenset[str]
    buffers: frozenset[str]


class _Dropper:
    def __init__(self, shares: Shares) -> None:
        self.shares = shares

    def block(
        self, body: list[L.Stmt], settled: _Settled, lets: dict[str, L.Expr] | None
    ) -> list[L.Stmt]:
        """What is settled in the block is added.  `lets` are what integers stand for in the body
        of a loop, by which conditions are compared: in another loop they have other names."""
        out: list[L.Stmt] = []
        for stmt in body:
            if isinstance(stmt, L.Branch):
                if _only_fails(stmt):
                    cond = _spelt(stmt.cond, lets or {})
                    if cond in settled.never:
                        continue
                    settled.never.add(cond)
                    settled.never.update(_alternatives(cond))
                else:
                    for part in (stmt.then, stmt.orelse):
                        known = None if lets is None else dict(lets)
                        part[:] = self.block(part, settled.copy(), known)
            elif isinstance(stmt, L.Forever):
                inside = settled.copy()
                self._drop(_change(stmt), inside, {})
                stmt.body = self.block(stmt.body, inside, {})
            elif isinstance(stmt, L.Loop):
                self._loop(stmt, settled)
            if not isinstance(stmt, L.Remark) and (settled.never or settled.ranges or lets):
                self._drop(_change(stmt), settled, lets or {})
            if lets is not None and isinstance(stmt, L.Let):
                _note(stmt, lets)
            out.append(stmt)
        return out

    def _loop(self, loop: L.Loop, settled: _Settled) -> None:
        """What an iteration changes may be otherwise when the next begins."""
        change = _change(loop)
        inside = settled.copy()
        self._drop(change, inside, {})
        here = _range(loop)
        before = {
            _of_round(cond, loop.var) for *range_, cond in inside.ranges if (*range_,) == here
        }
        inside.never |= before
        loop.body = self.block(loop.body, inside, {})
        if any(isinstance(s, (L.Break, L.Return)) for s in L.walk(loop.body)):
            return
        # A condition without the variable would be one of loops that make no round.
        var = L.Name(loop.var)
        for cond in inside.never - before:
            if var in L.walk_expr(cond):
                settled.ranges.add((*here, L.map_expr(cond, lambda e: ROUND if e == var else None)))

    def _drop(self, change: _Change, settled: _Settled, lets: dict[str, L.Expr]) -> None:
        """What may have changed is open again."""
        settled.never = {cond for cond in settled.never if not self._changed(cond, change)}
        settled.ranges = {
            whole for whole in settled.ranges if not any(self._changed(e, change) for e in whole)
        }
        for name in list(lets):
            if name in change.names or self._changed(lets[name], change):
                del lets[name]

    def _changed(self, e: L.Expr, change: _Change) -> bool:
        for part in L.walk_expr(e):
            name = part.name if isinstance(part, L.Name) else getattr(part, "buffer", None)
            if name in change.names:
                return True
            if isinstance(part, L.Load) and any(
                part.buffer == b or self.shares(part.buffer, b) for b in change.buffers
            ):
                return True
        return False


def _range(loop: L.Loop) -> tuple[L.Expr, L.Expr, L.Expr]:
    """Which rounds a loop makes, in whatever order."""
    if loop.step == L.lit(-1):
        return L.add(loop.stop, L.ONE), L.add(loop.start, L.ONE), L.ONE
    return loop.start, loop.stop, loop.step


def _of_round(cond: L.Expr, var: str) -> L.Expr:
    return L.map_expr(cond, lambda e: L.Name(var) if e == ROUND else None)


def _spelt(e: L.Expr, lets: dict[str, L.Expr]) -> L.Expr:
    return L.map_expr(e, lambda part: lets.get(part.name) if isinstance(part, L.Name) else None)


def _note(stmt: L.Let, lets: dict[str, L.Expr]) -> None:
    expr = _spelt(stmt.expr, lets)
    parts = list(L.walk_expr(expr))
    itself = any(isinstance(p, L.Name) and p.name == stmt.name for p in parts)
    if expr.dtype in ("int64", "bool") and len(parts) <= LONG and not itself:
        lets[stmt.name] = expr


def _change(stmt: L.Stmt) -> _Change:
    names, buffers = set[str](), set[str]()
    for s in L.walk([stmt]):
        if isinstance(s, (L.Let, L.Alloc, L.Alias, L.Bind)):
            names.add(s.name)
        elif isinstance(s, L.Loop):
            names.add(s.var)
        elif isinstance(s, L.Put):
            buffers.add(s.buffer)
        elif isinstance(s, (L.Do, L.BindCall, L.Invoke)):
            buffers |= {a.buffer for a in s.args if isinstance(a, L.Whole)}
            if not isinstance(s, L.Do):
                names |= {*s.names}
    return _Change(frozenset(names), frozenset(buffers))


def _only_fails(stmt: L.Branch) -> bool:
    return not stmt.orelse and bool(stmt.then) and isinstance(stmt.then[-1], L.Fail)


def _alternatives(cond: L.Expr) -> list[L.Expr]:
    """None of several holds if not one of them does."""
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [cond.left, cond.right, *_alternatives(cond.left), *_alternatives(cond.right)]
    return []
