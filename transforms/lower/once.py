"""Makes a buffer once that each round of a loop would make anew, on loop-level IR.

A round that asks for memory and gives it back takes longer for that than for the arithmetic of a
hundred elements.  What the buffer holds does not outlast the round, so the next may have the same
memory, if its size is the same in all rounds and nothing else refers to it.
"""

from __future__ import annotations

from collections import Counter

from . import loop_ir as L
from .independent import is_small
from .live import binds, names_in

_TOTAL = ("+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "and", "or")


def make_once(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    stmts = list(L.walk(body))
    times = Counter(name for s in stmts for name in binds(s))
    movable = {name for name, n in times.items() if n == 1} - _referred_to(stmts)
    lets = {s.name: s.expr for s in stmts if isinstance(s, L.Let) and times[s.name] == 1}
    _block(body, movable, lets)


def _referred_to(stmts: list[L.Stmt]) -> set[str]:
    """The buffers that something else may still refer to in the next round."""
    names: set[str] = set()
    for s in stmts:
        if isinstance(s, L.Alias):
            names |= {s.name, s.buffer}
        elif isinstance(s, L.Bind):
            names |= {s.name, s.other}
        elif isinstance(s, (L.BindCall, L.Invoke, L.Return)):
            names |= {e.buffer for e in L.exprs_of(s) if isinstance(e, L.Whole)}
    return names


def _block(body: list[L.Stmt], movable: set[str], lets: dict[str, L.Expr]) -> None:
    out: list[L.Stmt] = []
    for stmt in body:
        for inner in L.blocks_of(stmt):
            _block(inner, movable, lets)
        if isinstance(stmt, L.Forever) or (isinstance(stmt, L.Loop) and not stmt.parallel):
            out += _taken_out(stmt, movable, lets)
        out.append(stmt)
    body[:] = out


def _taken_out(
    loop: L.Loop | L.Forever, movable: set[str], lets: dict[str, L.Expr]
) -> list[L.Stmt]:
    """The allocations, and the numbers they need, that may stand before a loop."""
    changing = {name for s in L.walk([loop]) for name in binds(s)}
    taken: list[L.Stmt] = []
    numbers: dict[str, L.Let] = {}  # that would be the same in each round
    for stmt in list(loop.body):
        names = names_in(L.exprs_of(stmt)) & changing
        if isinstance(stmt, L.Let) and stmt.name in movable and stmt.expr.dtype == "int64":
            if names <= set(numbers) and _always_defined(stmt.expr):
                numbers[stmt.name] = stmt
        elif isinstance(stmt, L.Alloc) and stmt.name in movable and not is_small(stmt):
            # A loop that does not run must not fail for a size that is negative.
            if names <= set(numbers) and all(_is_size(n, lets) for n in stmt.sizes):
                for let in _needed(stmt, numbers):
                    taken.append(let)
                    changing.discard(numbers.pop(let.name).name)
                taken.append(stmt)
                changing.discard(stmt.name)
    gone = {id(s) for s in taken}
    loop.body[:] = [s for s in loop.body if id(s) not in gone]
    return taken


def _needed(stmt: L.Stmt, numbers: dict[str, L.Let]) -> list[L.Let]:
    """The numbers a statement is made from, in order."""
    wanted = names_in(L.exprs_of(stmt))
    out: list[L.Let] = []
    for name in reversed(numbers):
        if name in wanted:
            wanted |= names_in([numbers[name].expr])
            out.insert(0, numbers[name])
    return out


def _always_defined(e: L.Expr) -> bool:
    """Cannot fail, and does not depend on what a buffer holds."""
    return all(
        isinstance(p, (L.Lit, L.Name, L.Size, L.Select))
        or (isinstance(p, L.Bin) and p.op in _TOTAL)
        or (isinstance(p, L.Un) and p.op in ("-", "not"))
        for p in L.walk_expr(e)
    )


def _is_size(e: L.Expr, lets: dict[str, L.Expr]) -> bool:
    """Certainly not negative."""
    if isinstance(e, L.Lit):
        return e.value >= 0
    if isinstance(e, L.Name):
        return e.name in lets and _is_size(lets[e.name], lets)
    if isinstance(e, L.Bin) and e.op in ("+", "*"):
        return _is_size(e.left, lets) and _is_size(e.right, lets)
    if isinstance(e, L.Select):
        clipped = e.cond == L.Bin(">=", e.x, L.ZERO, "bool") or e.cond == L.Bin(
            ">", e.x, L.ZERO, "bool"
        )
        return (clipped or _is_size(e.x, lets)) and _is_size(e.y, lets)
    return isinstance(e, L.Size)
