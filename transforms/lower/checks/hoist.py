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

from ..analysis.alias import MayAlias
from ..analysis.bounds import apart
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L

# What a loop may hold beside its checks.
_QUIET = (L.Let, L.Store, L.Loop, L.If, L.Comment, L.Alloc, L.View, L.Fail)


def hoist_checks(body: list[L.Stmt], escaping: set[str], may_alias: MayAlias) -> list[L.Stmt]:
    """`visible` are the buffers whose contents the caller sees even if the call fails."""
    out: list[L.Stmt] = []
    for stmt in body:
        for block in L.blocks_of(stmt):
            block[:] = hoist_checks(block, escaping, may_alias)
        if isinstance(stmt, L.Loop):
            out += _taken_out(stmt, escaping, may_alias)
        out.append(stmt)
    return out


def _taken_out(loop: L.Loop, escaping: set[str], may_alias: MayAlias) -> list[L.Stmt]:
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
    written = {s.buffer for s in inside if isinstance(s, L.Store)}
    written |= {
        a.buffer
        for s in inside
        if isinstance(s, L.Call)
        for a in s.args[-1:]
        if isinstance(a, L.Part)
    }
    if any(may_alias(w, v) for w in written for v in escaping):
        return []
    bound = Counter(name for s in inside for name in defs(s))
    if bound[loop.var]:
        return []
    integers: dict[str, L.Expr] = {}
    ahead: list[L.Stmt] = []
    for s in loop.body:
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and bound[s.name] == 1:
            integers[s.name] = resolve(s.expr, integers)
        elif L.is_check(s):
            cond = _of_all_rounds(loop, resolve(s.cond, integers))
            if cond is None or _changes(cond, bound, written, may_alias):
                return []
            ahead.append(L.If(cond, s.then))
    if any(_changes(e, bound, written, may_alias) for e in (loop.start, loop.stop)):
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


def _changes(e: L.Expr, bound: Counter[str], written: set[str], may_alias: MayAlias) -> bool:
    """Whether an expression may be another in each round."""
    loads = [p.buffer for p in L.walk_expr(e) if isinstance(p, L.Load)]
    return any(bound[n] for n in names_in([e])) or any(
        may_alias(b, w) for b in loads for w in written
    )


def _is_quiet(stmt: L.Stmt) -> bool:
    return isinstance(stmt, _QUIET) or (isinstance(stmt, L.Call) and stmt.function in L.PRODUCTS)
