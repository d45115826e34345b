"""Checks of all elements as loops whose iterations fail, on loop-level IR.

    wrong = False                                   for i in range(n):
    for i in range(n):                      →           if y[i] < 0:
        wrong = wrong or y[i] < 0                           raise ValueError(…)
    if wrong:
        raise ValueError(…)

The iterations of the loop are then independent, and nothing goes from one to the next.
"""

from __future__ import annotations

from collections import Counter

from ..analysis.liveness import defs, names_in, uses
from ..loop_ir import nodes as L


def fail_in_loops(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place.  Errors with values stay where they are."""
    mentions = Counter[str]()
    for s in L.walk(body):
        mentions.update([*uses(s), *defs(s)])
    _block(body, mentions)


def _block(body: list[L.Stmt], mentions: Counter[str]) -> None:
    for s in body:
        for inner in L.blocks_of(s):
            _block(inner, mentions)
    for check in [s for s in body if _is_check(s)]:
        assert isinstance(check, L.If)
        if isinstance(check.cond, L.Name) and mentions[check.cond.name] == 4:
            # its start, its use and its definition in the loop, and its use in the check
            _rewrite(body, check, check.cond.name)


def _is_check(s: L.Stmt) -> bool:
    if not isinstance(s, L.If) or s.orelse:
        return False
    then = [q for q in s.then if not isinstance(q, L.Comment)]
    return bool(then) and all(isinstance(q, L.Fail) for q in then)


def _rewrite(body: list[L.Stmt], check: L.If, name: str) -> None:
    """Move a check into the loop that computes its condition `name`, which nothing else uses."""
    start = next((s for s in body if isinstance(s, L.Let) and s.name == name), None)
    at = L.position_of(body, check)
    stmts = [s for s in body[:at] if not isinstance(s, L.Comment)]
    loop = stmts[-1] if stmts else None
    if start is None or start.expr != L.Lit(False, "bool") or not isinstance(loop, L.Loop):
        return
    if L.has_break(loop.body) or names_in(e for s in check.then for e in L.exprs_of(s)):
        return
    if any(isinstance(s, (L.Fail, L.Store, L.While)) for s in L.walk(loop.body)):
        return
    if not _replace(loop.body, name, check.then):
        return
    body[:] = [s for s in body if s is not start and s is not check]


def _replace(body: list[L.Stmt], name: str, then: list[L.Stmt]) -> bool:
    """Replace `name = name or e` by a check of e."""
    for k, s in enumerate(body):
        if isinstance(s, L.Let) and s.name == name:
            e = s.expr
            if not isinstance(e, L.Bin) or e.op != "or" or e.left != L.Name(name, "bool"):
                return False
            if name in names_in([e.right]):
                return False
            body[k] = L.If(e.right, list(then))
            return True
        if isinstance(s, L.Loop) and _replace(s.body, name, then):
            return True
    return False
