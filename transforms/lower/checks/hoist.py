"""What every round of a loop checks is checked once, before it, on loop-level IR.

    for i in range(n):                          if n > x.shape[0]:
        if i >= x.shape[0]:             →           raise IndexError(…)
            raise IndexError(…)                 for i in range(n):
        s = s + x[i]                                s = s + x[i]

Several rounds of a loop without checks are computed at once, and it can join others.  An error
comes sooner, which nobody sees: a loop that writes what the caller sees, prints, or may end early
keeps its checks, and so does one with checks of another kind, which might come first.
"""

from __future__ import annotations

from collections import Counter

from ..analysis.alias import Shares
from ..analysis.bounds import apart
from ..analysis.liveness import binds, names_in
from ..analysis.single_assignment import spelt_out
from ..loop_ir import nodes as L

# What a loop may hold beside its checks.
_QUIET = (L.Let, L.Put, L.Loop, L.Branch, L.Remark, L.Alloc, L.Alias, L.Fail)


def check_ahead(body: list[L.Stmt], visible: set[str], shares: Shares) -> list[L.Stmt]:
    """`visible` are the buffers whose contents the caller sees even if the call fails."""
    out: list[L.Stmt] = []
    for stmt in body:
        for block in L.blocks_of(stmt):
            block[:] = check_ahead(block, visible, shares)
        if isinstance(stmt, L.Loop):
            out += _taken_out(stmt, visible, shares)
        out.append(stmt)
    return out


def _taken_out(loop: L.Loop, visible: set[str], shares: Shares) -> list[L.Stmt]:
    """The checks for before a loop, which loses its own."""
    checks = [s for s in loop.body if L.is_check(s)]
    inside = list(L.walk(loop.body))
    fails = [s for s in inside if isinstance(s, L.Fail)]
    if not checks or len(fails) != len(checks) or L.span(loop) is None:
        return []
    if len({s.exception for s in fails}) > 1 or any(s.values for s in fails):
        return []
    if not all(map(_is_quiet, inside)):
        return []
    written = {s.buffer for s in inside if isinstance(s, L.Put)}
    written |= {
        a.buffer
        for s in inside
        if isinstance(s, L.Do)
        for a in s.args[-1:]
        if isinstance(a, L.Whole)
    }
    if any(shares(w, v) for w in written for v in visible):
        return []
    bound = Counter(name for s in inside for name in binds(s))
    if bound[loop.var]:
        return []
    integers: dict[str, L.Expr] = {}
    ahead: list[L.Stmt] = []
    for s in loop.body:
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and bound[s.name] == 1:
            integers[s.name] = spelt_out(s.expr, integers)
        elif L.is_check(s):
            cond = _of_all_rounds(loop, spelt_out(s.cond, integers))
            if cond is None or _changes(cond, bound, written, shares):
                return []
            ahead.append(L.Branch(cond, s.then))
    if any(_changes(e, bound, written, shares) for e in (loop.start, loop.stop)):
        return []
    loop.body = [s for s in loop.body if not L.is_check(s)]
    return ahead


def _of_all_rounds(loop: L.Loop, cond: L.Expr) -> L.Expr | None:
    """Whether a condition holds in some round: it does in all, or, the larger the loop's variable
    is, the sooner."""
    span = L.span(loop)
    assert span is not None
    least, end = span
    some = L.compare(">", end, least)
    last = in_last_round(loop.var, end, cond)
    if last is None:
        return None
    # A loop without rounds does not go beyond an array.
    implied = False
    if isinstance(cond, L.Bin) and isinstance(cond.right, L.Size) and L.is_lit(least, 0):
        c = L.offset(cond.left, loop.var)
        implied = c is not None and c <= 0
    return last if implied else L.both(some, last)


def in_last_round(var: str, end: L.Expr, cond: L.Expr) -> L.Expr | None:
    """A condition where the loop's variable is largest, if it holds there or in no round."""
    if var not in names_in([cond]):
        return cond
    if not isinstance(cond, L.Bin):
        return None
    if cond.op == "and":
        left, right = (in_last_round(var, end, e) for e in (cond.left, cond.right))
        return None if left is None or right is None else L.both(left, right)
    if cond.op not in (">=", ">") or var in names_in([cond.right]):
        return None
    c = L.offset(cond.left, var)
    if c is None:
        return None
    # The end of a range may be any integer: to add to it could overflow.
    last, more = apart(end)
    more += c if cond.op == ">=" else c - 1
    if more > 0:
        return L.compare(">", last, L.sub(cond.right, L.lit(more)))
    return L.compare(">", L.add(last, L.lit(more)), cond.right)


def _changes(e: L.Expr, bound: Counter[str], written: set[str], shares: Shares) -> bool:
    """Whether an expression may be another in each round."""
    loads = [p.buffer for p in L.walk_expr(e) if isinstance(p, L.Load)]
    return any(bound[n] for n in names_in([e])) or any(shares(b, w) for b in loads for w in written)


def _is_quiet(stmt: L.Stmt) -> bool:
    return isinstance(stmt, _QUIET) or (isinstance(stmt, L.Do) and stmt.function in L.PRODUCTS)
