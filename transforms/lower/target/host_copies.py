"""Buffers of integers that the host keeps a copy of.

    begins = np.empty((n,), np.int64)       begins_host = np.empty((n,), np.int64)
    for i in range(n):                  →   for i in range(n):
        begins[i] = i * m                       begins_host[i] = i * m

The lengths of saved rows and the positions in a list are computed from sizes, stored, and read
again as the bounds of loops and the sizes of buffers.  If all stores to a buffer can be executed by
the host, it executes them, too, and need not wait for the device to read an element.
"""

from __future__ import annotations

from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L
from ..loop_ir.operations import shared_buffers
from .symbols import Symbols


def candidates(
    body: list[L.Stmt], params: list[L.Param], symbols: Symbols
) -> dict[str, frozenset[str]]:
    """The buffers of int64 that the routine allocates, each with all names of its memory.

    Memory that the routine allocates has the names that the routine binds to it, and no others.
    """
    groups: dict[str, set[str]] = {}
    for s in L.walk(body):
        others = shared_buffers(s)
        for name in (*defs(s), *others) if others else ():
            group = {*defs(s), *others}.union(*(groups.get(n, set()) for n in (*defs(s), *others)))
            groups.update(dict.fromkeys(group, group))
            groups.setdefault(name, group)
    given = {p.name for p in params}
    found: dict[str, frozenset[str]] = {}
    for name, (dtype, _) in symbols.buffers.items():
        group = groups.get(name, {name})
        if dtype == "int64" and not group & given and group <= symbols.buffers.keys():
            found[name] = frozenset(group)
    return found


def stores_of(stmt: L.Stmt, copies: set[str]) -> list[L.Stmt] | None:
    """The part of a statement that stores to the buffers `copies`, with the loops and conditions
    around; None if it depends on anything else that the statement assigns."""
    stmts = list(L.walk([stmt]))
    if not any(isinstance(s, L.Store) and s.buffer in copies for s in stmts):
        return []
    if any(isinstance(s, (L.While, L.Break, L.Fail)) for s in stmts):
        return None
    part = _part(stmt, copies)
    counters = {s.var for s in L.walk(part) if isinstance(s, L.Loop)}
    read = {n for s in L.walk(part) for n in names_in(L.exprs_of(s))}
    assigned = {n for s in stmts for n in defs(s)}
    return None if read & (assigned - counters) else part


def _part(stmt: L.Stmt, copies: set[str]) -> list[L.Stmt]:
    if isinstance(stmt, L.Store):
        return [stmt] if stmt.buffer in copies else []
    blocks = [[q for s in block for q in _part(s, copies)] for block in L.blocks_of(stmt)]
    if not any(blocks):
        return []
    if isinstance(stmt, L.Loop):
        return [L.Loop(stmt.var, stmt.start, stmt.stop, stmt.step, blocks[0])]
    assert isinstance(stmt, L.If), stmt
    then, orelse = blocks
    return [L.If(stmt.cond, then, orelse)]
