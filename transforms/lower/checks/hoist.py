"""Hoist checks out of loops: one check before the loop replaces one per iteration.

The pass works on loop-level IR.

    for i in range(n):                          if n > x.shape[0]:
        if i >= x.shape[0]:             →           raise IndexError(…)
            raise IndexError(…)                 for i in range(n):
        s = s + x[i]                                s = s + x[i]

A loop without checks can be vectorised and can be fused with other loops.  The error is raised
earlier than in the program.  This is not observable: a loop keeps its checks if it stores to an
escaping buffer, prints, or may exit early.  A loop that can fail in another way as well also keeps
its checks, because the other error might come first.
"""

from __future__ import annotations

from collections import Counter

from ..analysis.alias import MayAlias
from ..analysis.bounds import split_constant
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L
from ..loop_ir.operations import OPS, written_buffers

# The statements that a loop with hoisted checks may contain.
_ALLOWED = (L.Let, L.Store, L.Loop, L.If, L.Comment, L.Alloc, L.View, L.Fail)


def hoist_checks(body: list[L.Stmt], escaping: set[str], may_alias: MayAlias) -> list[L.Stmt]:
    """Return `body` with checks hoisted out of its loops.

    `escaping` are the buffers whose contents the caller sees even if the call fails.
    """
    out: list[L.Stmt] = []
    for stmt in body:
        for block in L.blocks_of(stmt):
            block[:] = hoist_checks(block, escaping, may_alias)
        if isinstance(stmt, L.Loop):
            out += _hoisted(stmt, escaping, may_alias)
        out.append(stmt)
    return out


def _hoisted(loop: L.Loop, escaping: set[str], may_alias: MayAlias) -> list[L.Stmt]:
    """Remove the checks of a loop; return those that replace them before the loop."""
    checks = [s for s in loop.body if L.is_check(s)]
    inside = list(L.walk(loop.body))
    fails = [s for s in inside if isinstance(s, L.Fail)]
    if not checks or len(fails) != len(checks) or L.index_range(loop) is None:
        return []
    if len({s.exception for s in fails}) > 1 or any(s.values for s in fails):
        return []
    if not all(map(_is_allowed, inside)):
        return []
    written = {buffer for s in inside for buffer in written_buffers(s)}
    if any(may_alias(w, v) for w in written for v in escaping):
        return []
    bound = Counter(name for s in inside for name in defs(s))
    if bound[loop.var]:
        return []
    integers: dict[str, L.Expr] = {}
    hoisted: list[L.Stmt] = []
    for s in loop.body:
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and bound[s.name] == 1:
            integers[s.name] = resolve(s.expr, integers)
        elif L.is_check(s):
            cond = _in_any_iteration(loop, resolve(s.cond, integers))
            if cond is None or _may_vary(cond, bound, written, may_alias):
                return []
            hoisted.append(L.If(cond, s.then))
    if any(_may_vary(e, bound, written, may_alias) for e in (loop.start, loop.stop)):
        return []
    loop.body = [s for s in loop.body if not L.is_check(s)]
    return hoisted


def _in_any_iteration(loop: L.Loop, cond: L.Expr) -> L.Expr | None:
    """Return the condition, evaluated before the loop, that `cond` holds in some iteration.

    `cond` must be loop-invariant or monotonic: true for large values of the loop's variable.
    Otherwise return None.
    """
    span = L.index_range(loop)
    assert span is not None
    least, end = span
    is_nonempty = L.compare(">", end, least)
    last = at_last_iteration(loop.var, end, cond)
    if last is None:
        return None
    # In an empty range `end + c <= 0 <= size`: the test for an empty range is redundant.
    implied = False
    if isinstance(cond, L.Bin) and isinstance(cond.right, L.Size) and L.is_lit(least, 0):
        c = L.constant_offset(cond.left, loop.var)
        implied = c is not None and c <= 0
    return last if implied else L.logical_and(is_nonempty, last)


def at_last_iteration(var: str, end: L.Expr, cond: L.Expr) -> L.Expr | None:
    """Return `cond` for the largest value of `var`, `end - 1`.

    Return None unless `cond` holds there or in no iteration.
    """
    if var not in names_in([cond]):
        return cond
    if not isinstance(cond, L.Bin):
        return None
    if cond.op == "and":
        left, right = (at_last_iteration(var, end, e) for e in (cond.left, cond.right))
        return None if left is None or right is None else L.logical_and(left, right)
    if cond.op not in (">=", ">") or var in names_in([cond.right]):
        return None
    c = L.constant_offset(cond.left, var)
    if c is None:
        return None
    # `end` may be any int64 and adding to it may overflow: a positive offset is subtracted from
    # the other operand.
    last, more = split_constant(end)
    more += c if cond.op == ">=" else c - 1
    if more > 0:
        return L.compare(">", last, L.sub(cond.right, L.lit(more)))
    return L.compare(">", L.add(last, L.lit(more)), cond.right)


def _may_vary(e: L.Expr, bound: Counter[str], written: set[str], may_alias: MayAlias) -> bool:
    """True if the value of an expression may differ between iterations."""
    loads = [p.buffer for p in L.walk_expr(e) if isinstance(p, L.Load)]
    return any(bound[n] for n in names_in([e])) or any(
        may_alias(b, w) for b in loads for w in written
    )


def _is_allowed(stmt: L.Stmt) -> bool:
    return isinstance(stmt, _ALLOWED) or (isinstance(stmt, L.Call) and OPS[stmt.function].is_silent)
