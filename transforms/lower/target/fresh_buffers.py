"""Buffers that share memory with no other one, by the order of statements.

    for k in range(steps):
        new = np.empty((n,), np.float64)        new memory: `new` is not `old` here
        for i in range(n):
            new[i] = f(old[i])
        old = new                               from here on it is

`with_bindings` unites names over a whole routine.  A buffer that is allocated before a loop in the
same block, and that no name is bound to since, is a memory of its own.
"""

from __future__ import annotations

from ..analysis.alias import MayAlias
from ..analysis.liveness import defs
from ..loop_ir import nodes as L
from ..loop_ir.operations import shared_buffers


def fresh_after(stmt: L.Stmt, fresh: frozenset[str]) -> frozenset[str]:
    """The buffers with memory of their own after a statement, from those before it."""
    if isinstance(stmt, L.Alloc):
        return fresh | {stmt.name}
    return fresh - _bound([stmt])


def fresh_in(body: list[L.Stmt], fresh: frozenset[str]) -> frozenset[str]:
    """Those of the buffers with memory of their own before a loop that have it in each iteration,
    at the begin of its body."""
    return fresh - _bound(body)


def _bound(stmts: list[L.Stmt]) -> set[str]:
    """The names that statements bind to the memory of others, and these."""
    return {
        name
        for s in L.walk(stmts)
        if not isinstance(s, (L.Let, L.Alloc, L.Loop)) and (defs(s) or shared_buffers(s))
        for name in (*defs(s), *shared_buffers(s))
    }


def with_fresh(may_alias: MayAlias, fresh: frozenset[str]) -> MayAlias:
    """`may_alias` where the buffers `fresh` have memory of their own."""

    def query(a: str, b: str) -> bool:
        return a == b or (a not in fresh and b not in fresh and may_alias(a, b))

    return query
