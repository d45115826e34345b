"""Stores that accumulate: x[i] = x[i] + e."""

from __future__ import annotations

from ..loop_ir import nodes as L


def added_to(put: L.Store, e: L.Expr) -> L.Expr | None:
    """What is added to an element that is set to `e`."""
    old = L.Load(put.buffer, put.index, e.dtype)
    if not isinstance(e, L.Bin) or e.op not in ("+", "-") or e.dtype not in ("float32", "float64"):
        return None
    if e.left == old:
        return e.right if e.op == "+" else L.Un("-", e.right, e.dtype)
    return e.left if e.op == "+" and e.right == old else None
