"""Canonicalisation of accumulating stores, on loop-level IR.

    t = x[i, j] + e
    x[i, j] = t         →       x[i, j] += e

Programs contain both forms.  Other passes match only stores with `add`.
"""

from __future__ import annotations

from collections import Counter

from ..analysis.accumulation import accumulated_increment
from ..analysis.analyses import buffer_dtypes
from ..analysis.liveness import defs, uses
from ..loop_ir import nodes as L


def canonicalize_accumulate(body: list[L.Stmt], dtypes: dict[str, str]) -> None:
    """Rewrite `body` in place.  `dtypes` are those of the array parameters."""
    stmts = list(L.walk(body))
    read = Counter(name for s in stmts for name in uses(s))
    bound = Counter(name for s in stmts for name in defs(s))
    once = {name for name, times in read.items() if times == 1 == bound[name]}
    _block(body, buffer_dtypes(body, dtypes), once)


def _block(block: list[L.Stmt], dtypes: dict[str, str], once: set[str]) -> None:
    out: list[L.Stmt] = []
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _block(inner, dtypes, once)
        if isinstance(stmt, L.Store) and not stmt.add:
            let = out[-1] if out and isinstance(out[-1], L.Let) else None
            if let is not None and not (let.name in once and stmt.expr == _name(let)):
                let = None
            added = accumulated_increment(stmt, let.expr if let else stmt.expr)
            if added is not None and added.dtype == dtypes.get(stmt.buffer):
                if let is not None:
                    out.pop()
                stmt = L.Store(stmt.buffer, stmt.index, added, add=True)
        out.append(stmt)
    block[:] = out


def _name(let: L.Let) -> L.Expr:
    return L.Name(let.name, let.expr.dtype)
