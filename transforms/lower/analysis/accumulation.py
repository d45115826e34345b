"""Recognition of accumulating stores: x[i] = x[i] + e."""

from __future__ import annotations

from ..loop_ir import nodes as L


def accumulated_increment(put: L.Store, e: L.Expr) -> L.Expr | None:
    """The increment d, if storing `e` with `put` is x[i] = x[i] + d in floating point, or None.

    The increment of x[i] = x[i] - d is -d.
    """
    old = L.Load(put.buffer, put.index, e.dtype)
    if not isinstance(e, L.Bin) or e.op not in ("+", "-") or e.dtype not in ("float32", "float64"):
        return None
    if e.left == old:
        return e.right if e.op == "+" else L.Un("-", e.right, e.dtype)
    return e.left if e.op == "+" and e.right == old else None
